"""From printed cells to configurations and measured values."""
