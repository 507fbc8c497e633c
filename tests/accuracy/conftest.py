"""The benchmarks are a program and no package: their folder is added to the path, as when they run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
