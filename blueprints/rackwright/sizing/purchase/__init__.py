"""What to buy for a goal: servers, switches, cables, racks, power and cooling."""
