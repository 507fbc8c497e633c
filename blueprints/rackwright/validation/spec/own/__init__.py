"""Rules on specs for own servers: nodes, storage, and what to buy."""
