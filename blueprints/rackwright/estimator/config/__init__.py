"""A pinned configuration: its fields, constraints, defaults, and the numbers the formulas take."""
