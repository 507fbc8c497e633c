"""Memory and time of training steps and whole runs."""
