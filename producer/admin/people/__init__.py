"""Who is who on the tracker."""
