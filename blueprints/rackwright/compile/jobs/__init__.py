"""Jobs that run on a stack: a JobSet for the planned workload. They are not part of the stack."""
