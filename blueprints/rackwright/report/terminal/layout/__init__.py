"""What every text output uses: the console, tables, and how much fits a screen."""
