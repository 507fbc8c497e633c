"""The report file: HTML and Markdown."""
