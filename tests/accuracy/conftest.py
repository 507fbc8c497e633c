"""The bench is a program, not a package: its folder goes on the path as it does when it runs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
