"""The pages and the API: doors to what people do."""
