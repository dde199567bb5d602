"""Connection to the configured tracker."""
