"""Events, and the request bodies made from them, without any storage."""
