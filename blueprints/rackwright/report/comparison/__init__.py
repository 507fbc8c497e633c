"""Two candidates side by side, and workloads side by side."""
