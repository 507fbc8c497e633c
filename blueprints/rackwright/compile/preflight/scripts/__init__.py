"""Programs that run in the containers of checks. They use Python 3.10 and its standard library only, and import nothing of rackwright."""
