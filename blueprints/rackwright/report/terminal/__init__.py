"""Text output for terminals."""
