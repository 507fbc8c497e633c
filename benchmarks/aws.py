"""The graph of the largest AWS stack: seconds of a fresh process, and beside the same resources written by hand. Rows of docs/bench.md.

python benchmarks/aws.py            prints the rows
"""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from statistics import median
from types import ModuleType

from rackwright.stackplan import StackPlan

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "blueprints"), str(ROOT / "components"), str(ROOT / "benchmarks")]

RUNS = 7
TARGET_S, TARGET_RATIO = 4.0, 1.3
SPEC = ROOT / "benchmarks" / "largest-aws.yaml"
"""EKS, three accelerator pools, FSx for Lustre and the operators of training."""
FIRST = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
from rackwright.compile.wants import StackPlan
from rackwright_pulumi.build import declare
from rackwright_pulumi.testing.record import record
plan = StackPlan.from_json(Path({plan!r}).read_text(encoding="utf-8"))
print(len(record(lambda: declare(plan) and None).nodes))
"""


def largest() -> StackPlan:
    """The compiled plan of largest-aws.yaml, on the first machines that meet it."""
    from rackwright import compile_plan, load, size

    today = date(2026, 11, 21)
    spec = load(SPEC)
    plan = size(spec, today=today)
    return compile_plan(spec, plan, plan.fits[0], today=today)


def fresh(plan: Path) -> float:
    """Median wall seconds of a process that imports, reads the plan and declares it."""
    code = FIRST.format(paths=sys.path[:3], plan=str(plan))
    command, environment = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": ""}
    seconds = [_clock(lambda: subprocess.run(command, check=True, capture_output=True, env=environment)) for _ in range(4)]
    return median(seconds[1:])


def beside(plan: StackPlan) -> tuple[float, float, int]:
    """(processor seconds of ours, of the flat program, resources): medians of runs in turn in one process, everything imported."""
    from flat import flat_program
    from rackwright_pulumi.program.build import declare
    from rackwright_pulumi.testing.record import record

    graph = record(lambda: declare(plan) and None, stack=plan.name)
    flat = _module(flat_program(graph))
    made = record(flat.declare, stack=plan.name)
    wanted = sorted((node.type, node.name) for node in graph.nodes.values() if node.custom)
    if sorted((node.type, node.name) for node in made.nodes.values()) != wanted:
        raise SystemExit("the flat program does not make the same resources")
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_clock(lambda: record(lambda: declare(plan) and None, stack=plan.name), time.process_time))
        theirs.append(_clock(lambda: record(flat.declare, stack=plan.name), time.process_time))
    return median(ours), median(theirs), len(wanted)


def _module(text: str) -> ModuleType:
    module = ModuleType("flat_stack")
    exec(compile(text, "flat_stack.py", "exec"), module.__dict__)
    return module


def _clock(work: Callable[[], object], now: Callable[[], float] = time.perf_counter) -> float:
    gc.collect()
    start = now()
    work()
    return now() - start


def rows() -> Iterator[tuple[str, float, float | None]]:
    """Name, seconds, target in seconds."""
    plan = largest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_text(plan.to_json(), encoding="utf-8")
        ours, theirs, count = beside(plan)
        name = f"EKS, {sum(pool.role == 'accelerator' for pool in plan.pools)} accelerator pools, FSx, operators ({count} resources)"
        yield f"graph of the largest AWS stack in a fresh process: {name}", fresh(path), TARGET_S
        yield "the same graph after all imports, CPU time", ours, TARGET_RATIO * theirs
        yield f"the same resources as flat SDK calls, CPU time (the target of the row above is {TARGET_RATIO} times this)", theirs, None


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for row in rows():
        print(*row)
