"""What the simulated clouds refuse: quotas, capacity, reservations, conflicts."""
