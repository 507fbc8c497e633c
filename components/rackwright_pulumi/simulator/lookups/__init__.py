"""Results of provider functions (invokes)."""
