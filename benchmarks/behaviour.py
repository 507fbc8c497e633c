"""Record what rackwright answers today, and compare it with what another commit answers.

    python benchmarks/behaviour.py record OUT.json [--specs CHECKOUT] [--only TEXT]
    python benchmarks/behaviour.py compare OLD.json NEW.json

A record holds, for every spec of a checkout, the exit status and the JSON of `plan`, `compile` and `graph`; for every combination of the
AWS matrix, the outcome and a digest of its StackPlan; and the resource graph of the matrix's pairwise cover and of every hand-written plan.
`make behaviour BASE=<commit>` records both commits with the specs of BASE and compares them. --only, or ONLY=TEXT of the target, records
the specs, machines and plans whose name contains a text, such as `p5` or `cases/sizing`.
"""

import argparse
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("plan", "compile", "graph")
TODAY = "2026-11-21"
TEXT_KEYS = {
    *("warnings", "notes", "reason", "fix", "note", "why", "warning", "assumptions", "summary", "words", "remedy", "scaling", "binding"),
    *("overruled", "best", "against"),
}
"""Keys of JSON whose strings are sentences; `compare` counts changes below them apart from changes of data."""
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
            hashlib.sha256(cell.plan.to_json().encode()).hexdigest()[:16] if cell.plan else " ".join(cell.codes),
        )
        for cell in matrix.cells(machine)
    ]


def of_plan(name: str) -> list[tuple[str, Any]]:
    from rackwright_pulumi import declare, record

    plan = _plans()[name]()
    return [(name, record(lambda: declare(plan) and None, stack="matrix").as_json())]


def _plans() -> dict[str, Any]:
    from tests.graphs import PLANS
    from tests.matrix import cover

    by_hand = {f"graph by hand {name}": make for name, make in PLANS.items()}
    matrix = {f"graph of the matrix {c.machine} {c.shape} {c.mode} {c.region}": partial(_same, c.plan) for c in cover.pairwise()}
    return by_hand | matrix


def _same(value: Any) -> Any:
    return value


def _run(task: tuple[str, ...]) -> list[tuple[str, Any]]:
    kind, *arguments = task
    return {"spec": lambda root, spec: of_spec(Path(root), Path(spec)), "machine": of_machine, "plan": of_plan}[kind](*arguments)


def record(target: Path, checkout: Path, only: str = "") -> None:
    """Writes the answers of the specs, machines and plans whose name contains a text."""
    from tests.matrix import matrix

    tasks: list[tuple[str, ...]] = [("spec", str(checkout), str(spec)) for spec in specs(checkout) if only in str(spec)]
    tasks += [("machine", machine.name) for machine in matrix.machines() if only in machine.name]
    tasks += [("plan", name) for name in _plans() if only in name]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        found = dict(pair for pairs in pool.imap_unordered(_run, tasks) for pair in pairs)
    target.write_text(json.dumps(found, sort_keys=True))
    print(f"{target}: {len(found)} answers")


def compare(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Prints what differs, data first, and returns 1 when data differ."""
    kinds: dict[str, list[str]] = {"data": [], "order": [], "added": [], "wording": []}
    for key in sorted(old.keys() | new.keys()):
        for kind, path, was, now in differences(old.get(key), new.get(key)):
            kinds[kind].append(f"{key}: {path}: {_short(was)} -> {_short(now)}")
    for kind in ("data", "order"):
        for line in kinds[kind][:SHOWN]:
            print(f"{kind}: {line}")
        if len(kinds[kind]) > SHOWN:
            print(f"{kind}: and {len(kinds[kind]) - SHOWN} more")
    print(f"{len(old)} answers compared: " + ", ".join(f"{kind} {len(found)}" for kind, found in kinds.items()))
    return 1 if kinds["data"] or kinds["order"] else 0


def differences(old: Any, new: Any, path: str = "", text: bool = False) -> Iterator[tuple[str, str, Any, Any]]:
    """(kind, path, old, new) of every leaf that differs. Candidates of a list are matched by what they are; their order is a kind."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(new.keys() - old.keys()):
            yield "added", f"{path}.{key}", None, new[key]
        for key in sorted(old):
            yield from differences(old[key], new.get(key), f"{path}.{key}", text or key in TEXT_KEYS)
    elif isinstance(old, list) and isinstance(new, list) and old and all(isinstance(v, dict) and "candidate" in v for v in (*old, *new)):
        were, are = _by_candidate(old), _by_candidate(new)
        for name in sorted(are.keys() - were.keys()):
            yield "added", f"{path}[{name}]", None, name
        for name, was in were.items():
            yield from differences(was, are.get(name), f"{path}[{name}]", text)
        if (order := [name for name in are if name in were]) != (before := [name for name in were if name in are]):
            first = next(i for i, pair in enumerate(zip(before, order, strict=True)) if len(set(pair)) > 1)
            yield "order", f"{path}[{first}]", before[first], order[first]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from differences(was, now, f"{path}[{number}]", text)
    elif old != new:
        worded = text and all(isinstance(value, str | list | None) for value in (old, new))
        yield "wording" if worded else "data", path, old, new


def _by_candidate(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Entries by machine, place, capacity mode and count."""
    keys = ("machine", "topology", "slices", "nodes", "region", "capacity", "capacity_id", "place")
    names = [(e, e["candidate"]) for e in entries]
    return {" ".join(str(c.get(key, "")) for key in keys) if isinstance(c, dict) else str(c): entry for entry, c in names}


def _short(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) < 160 else f"{shown[:157]}..."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("target", type=Path)
    recording.add_argument("--specs", type=Path, default=ROOT)
    recording.add_argument("--only", metavar="TEXT", default="")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.target.resolve(), given.specs.resolve(), given.only)
        return 0
    return compare(json.loads(given.old.read_text()), json.loads(given.new.read_text()))


if __name__ == "__main__":
    sys.exit(main())
