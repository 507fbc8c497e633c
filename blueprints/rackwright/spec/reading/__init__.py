"""From YAML text to a tree with lines, and from the tree to pydantic models."""
