"""Recorded previews of the engine, and `rackwright diff` in the same form: operation to resources."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rackwright_pulumi.testing.diff import compare

from tests.graphs import recorded
from tests.testing.edits import EDITS, STACKS

PREVIEWS = Path(__file__).parents[1] / "cases" / "previews"
SAME_OPERATION = {"create-replacement": "replace", "delete-replaced": "replace"}
UNCHANGED = ("same", "read", "refresh")
Steps = dict[str, list[str]]


def graph(plan, stack: str = "dev") -> dict:
    return recorded(plan, stack=stack).as_json()


def compared(stack: str, edit: str, old: dict | None = None) -> Steps:
    """What `rackwright diff` reports of an edit. old: the deployed stack; default: the stack as declared."""
    changes = compare(old or graph(STACKS[stack]()), graph(EDITS[stack][edit](STACKS[stack]())))
    return _steps((change.operation, change.urn) for change in changes)


def previewed(preview: dict) -> Steps:
    """Steps of `pulumi preview --json`."""
    return _steps((SAME_OPERATION.get(step["op"], step["op"]), step["urn"]) for step in preview["steps"] if step["op"] not in UNCHANGED)


def path(stack: str, edit: str) -> Path:
    return PREVIEWS / f"{stack}-{edit}.json"


def write(stack: str, edit: str, steps: Steps) -> None:
    PREVIEWS.mkdir(parents=True, exist_ok=True)
    path(stack, edit).write_text(json.dumps(steps, indent=1) + "\n", encoding="utf-8")


def _steps(pairs: Iterable[tuple[str, str]]) -> Steps:
    found: dict[str, set[str]] = defaultdict(set)
    for operation, urn in pairs:
        kind, _, name = urn.split("::", 2)[2].partition("::")
        found[operation].add(f"{kind.rpartition('$')[2]} {name}")
    return {operation: sorted(found[operation]) for operation in sorted(found)}
