"""Facts about resource types: inputs, replacements, names, references."""
