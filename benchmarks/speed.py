"""Measurements of docs/bench.md: medians of warm processes, with targets and ratios to the start of Python with pydantic.

python benchmarks/speed.py [--write]      --write renews docs/bench.md
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import aws
from rackwright.files import write_text

ROOT = Path(__file__).resolve().parents[1]
RUNS = 5
CLI = [sys.executable, "-m", "rackwright.cli.main"]


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float
    target_s: float | None


def timed(command: list[str], runs: int = RUNS) -> float:
    """Median wall seconds of a command, after one run that warms the caches. Raises CalledProcessError when it fails."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "blueprints"), str(ROOT / "components")])}

    def once() -> float:
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)
        return time.perf_counter() - start

    once()
    return statistics.median(once() for _ in range(runs))


def rows() -> Iterator[Row]:
    yield Row("start of Python with pydantic (ratio 1)", timed([sys.executable, "-c", "import pydantic"]), None)
    yield Row("import rackwright", timed([sys.executable, "-c", "import rackwright"]), None)
    for stack in sorted((ROOT / "stacks").glob("*.yaml")):
        if not stack.name.startswith("Pulumi."):
            yield Row(f"rackwright plan {stack.name}", timed([*CLI, "plan", str(stack)]), 1.5)
    yield Row("rackwright graph llama-70b-sft.yaml (EKS)", timed([*CLI, "graph", "stacks/llama-70b-sft.yaml", "--json"]), 4.0)
    yield from (Row(*row) for row in aws.rows())
    yield from engine_rows()


def engine_rows() -> Iterator[Row]:
    """Create, update and delete the EKS stack on the simulated cloud; no rows if pulumi is not on PATH."""
    sys.path[:0] = [str(ROOT), str(ROOT / "blueprints"), str(ROOT / "components")]
    from rackwright_pulumi.simulator import SimulatedCloud
    from rackwright_pulumi.simulator.engine import installed

    from sim.demo import stack_engine

    if not installed():
        print("pulumi is not on PATH: the engine's rows are left out", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        engine = stack_engine("llama-70b-sft", SimulatedCloud(Path(folder) / "cloud.sqlite"), Path(folder) / "work")
        engine.prepare()
        yield Row("pulumi up, EKS stack, simulated cloud", _clock(engine.up), 20.0)
        yield Row("pulumi up without changes", _clock(lambda: engine.up(expect_no_changes=True)), None)
        engine.run("config", "set", "--stack", engine.stack, "rackwright:teardown", "true")
        engine.up()
        yield Row("pulumi destroy", _clock(engine.destroy), None)


def _clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def table(measured: list[Row]) -> str:
    unit = measured[0].seconds
    lines = ["| Measurement | Seconds | Target, s | Ratio |", "|---|---:|---:|---:|"]
    for row in measured:
        target = f"{row.target_s:.1f}" if row.target_s else ""
        lines.append(f"| {row.name} | {row.seconds:.2f} | {target} | {row.seconds / unit:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew docs/bench.md")
    write = parser.parse_args().write
    measured = list(rows())
    shown = table(measured)
    print(shown)
    if write:
        machine = f"Python {platform.python_version()} on {os.cpu_count()} cores"
        head = f"Measured by `make bench` on {date.today():%Y-%m-%d} with {machine}; medians of {RUNS} warm runs.\n"
        write_text(ROOT / "docs" / "bench.md", f"# Speed\n\n{head}\n{shown}\n")
    missed = [row.name for row in measured if row.target_s and row.seconds > row.target_s]
    for name in missed:
        print(f"target missed: {name}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
