"""Models of what the stack runs beside the workloads: monitoring, and the gateway of a fleet."""
