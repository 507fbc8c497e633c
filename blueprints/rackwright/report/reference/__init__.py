"""Generated reference pages."""
