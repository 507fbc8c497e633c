"""Cost and revenue of serving."""
