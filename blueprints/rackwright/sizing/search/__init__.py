"""The best parallelism, batch and replica count for each machine."""
