"""The table of codes has every ID of a problem outside the rules, and no other."""

import ast
from pathlib import Path

from rackwright.diagnostics.codes import CODES
from rackwright.spec.reading.schema_errors import CODES as READER_CODES
from rackwright.validation.spec import RULES as SPEC_RULES
from rackwright.validation.stack import RULES as STACK_RULES

ROOT = Path(__file__).parents[2]
DYNAMIC = {"schema_errors.py", "tree.py", "expired_blocks.py", "rule.py"}
"""Files that pass an id on: those of the reader, and of rules."""


def made(path: Path) -> set[str | None]:
    """IDs of every `Problem("...")` in a file; None for one that is not a constant."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call) and node.args)
    ids = (call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Problem")
    return {str(first.value) if isinstance(first, ast.Constant) else None for first in ids}


def test_codes_are_those_of_the_sources():
    files = [path for folder in ("blueprints", "components") for path in (ROOT / folder).rglob("*.py") if "template" not in path.parts]
    found = {path: made(path) for path in files}
    assert {path.name for path, ids in found.items() if None in ids} == DYNAMIC
    ids = {code for codes in found.values() for code in codes if code}
    assert ids - {*SPEC_RULES.rules, *STACK_RULES.rules, *READER_CODES} == set(CODES)
    assert list(CODES) == sorted(CODES)
