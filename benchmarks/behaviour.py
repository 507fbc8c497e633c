"""Record what rackwright answers today, and compare it with what another commit answers.

    python benchmarks/behaviour.py record OUT.json [--specs CHECKOUT]
    python benchmarks/behaviour.py compare OLD.json NEW.json

A record holds, for every spec of a checkout, the exit status and the JSON of `plan`, `compile` and `graph`; for every combination of the
AWS matrix, the outcome and a digest of its StackPlan; and the resource graph of the matrix's pairwise cover and of every hand-written plan.
`make behaviour BASE=<commit>` records both commits with the specs of BASE and compares them.
"""

import argparse
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("plan", "compile", "graph")
TODAY = "2026-11-21"
TEXT_KEYS = {"warnings", "notes", "reason", "fix", "note", "why", "warning", "assumptions", "summary", "source"}
"""Keys of JSON whose strings are sentences; `compare` reports changes below them apart from changes of data."""
SHOWN = 40
"""Differences printed one by one."""


def specs(checkout: Path) -> list[Path]:
    found = [*checkout.glob("stacks/*.yaml"), *checkout.glob("tests/cases/**/spec.yaml"), *checkout.glob("tests/states/*/stacks/*.yaml")]
    return sorted(path for path in found if not path.name.startswith("Pulumi."))


def answer(command: str, spec: Path) -> dict[str, Any]:
    """Exit status and output of one command, as JSON where it is JSON."""
    from rackwright.cli import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run([command, str(spec), "--json", "--today", TODAY])
    try:
        return {"status": status, "answer": json.loads(out.getvalue())}
    except ValueError:
        return {"status": status, "answer": out.getvalue() + err.getvalue()}


def of_spec(checkout: Path, spec: Path) -> list[tuple[str, Any]]:
    name = str(spec.relative_to(checkout))
    os.chdir(checkout)
    return [(f"{command} {name}", answer(command, Path(name))) for command in COMMANDS]


def of_machine(name: str) -> list[tuple[str, Any]]:
    from tests.matrix import matrix

    machine = next(machine for machine in matrix.machines() if machine.name == name)
    return [
        (
            f"matrix {cell.machine} {cell.shape} {cell.mode} {cell.region}",
            hashlib.sha256(cell.plan.to_json().encode()).hexdigest()[:16] if cell.plan else cell.outcome,
        )
        for cell in matrix.cells(machine)
    ]


def of_plan(name: str) -> list[tuple[str, Any]]:
    from rackwright_pulumi import declare, record

    plan = _plans()[name]()
    return [(name, record(lambda: declare(plan) and None, stack="matrix").as_json())]


def _plans() -> dict[str, Any]:
    from tests import plans
    from tests.matrix import cover

    by_hand = {f"graph by hand {name}": make for table in (plans.ALL, plans.NODES, plans.FLEETS) for name, make in table.items()}
    matrix = {f"graph of the matrix {c.machine} {c.shape} {c.mode} {c.region}": partial(_same, c.plan) for c in cover.pairwise()}
    return by_hand | matrix


def _same(value: Any) -> Any:
    return value


def _run(task: tuple[str, ...]) -> list[tuple[str, Any]]:
    kind, *arguments = task
    return {"spec": lambda root, spec: of_spec(Path(root), Path(spec)), "machine": of_machine, "plan": of_plan}[kind](*arguments)


def record(target: Path, checkout: Path) -> None:
    from tests.matrix import matrix

    tasks: list[tuple[str, ...]] = [("spec", str(checkout), str(spec)) for spec in specs(checkout)]
    tasks += [("machine", machine.name) for machine in matrix.machines()]
    tasks += [("plan", name) for name in _plans()]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        found = dict(pair for pairs in pool.imap_unordered(_run, tasks) for pair in pairs)
    target.write_text(json.dumps(found, sort_keys=True))
    print(f"{target}: {len(found)} answers")


def compare(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Prints what differs, data before wording, and returns 1 when data differ."""
    data, wording = [], Counter()
    for key in sorted(old.keys() | new.keys()):
        for path, text, was, now in differences(old.get(key), new.get(key)):
            if text:
                wording[key] += 1
            else:
                data.append(f"{key}: {path}: {_short(was)} -> {_short(now)}")
    for line in data[:SHOWN]:
        print(line)
    if len(data) > SHOWN:
        print(f"and {len(data) - SHOWN} more")
    print(f"{len(old)} answers compared; data: {len(data)} differences; wording: {wording.total()} in {len(wording)} answers")
    return 1 if data else 0


def differences(old: Any, new: Any, path: str = "", text: bool = False) -> Iterator[tuple[str, bool, Any, Any]]:
    """(path, whether it is wording, old, new) of every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{path}.{key}", text or key in TEXT_KEYS)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from differences(was, now, f"{path}[{number}]", text)
    elif old != new:
        yield path, text and all(isinstance(value, str | list | None) for value in (old, new)), old, new


def _short(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) < 160 else f"{shown[:157]}..."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("target", type=Path)
    recording.add_argument("--specs", type=Path, default=ROOT)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.target.resolve(), given.specs.resolve())
        return 0
    return compare(json.loads(given.old.read_text()), json.loads(given.new.read_text()))


if __name__ == "__main__":
    sys.exit(main())
