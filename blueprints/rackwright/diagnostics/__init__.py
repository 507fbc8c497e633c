"""Problems, the exceptions that carry them, and how they are shown."""
