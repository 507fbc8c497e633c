"""Memory, latency and throughput of inference."""
