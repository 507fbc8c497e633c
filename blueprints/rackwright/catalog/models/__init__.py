"""Model architectures: the catalog's models, and readers of Hugging Face configurations."""
