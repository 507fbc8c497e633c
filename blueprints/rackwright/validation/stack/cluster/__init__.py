"""Rules on operators, queues and model servers."""
