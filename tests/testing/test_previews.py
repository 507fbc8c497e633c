"""`rackwright diff` reports every step that the engine reported for the same edit (`tests/engine/test_diff.py` records its previews)."""

import json

import pytest

from tests.testing import previews
from tests.testing.edits import EDITS

CASES = [(stack, edit) for stack, edits in EDITS.items() for edit in edits]


@pytest.mark.parametrize(("stack", "edit"), CASES)
def test_diff_equals_the_recorded_preview(stack, edit):
    assert previews.compared(stack, edit) == json.loads(previews.path(stack, edit).read_text(encoding="utf-8"))


def test_every_recorded_preview_has_an_edit():
    assert {path.name for path in previews.PREVIEWS.glob("*.json")} == {previews.path(*case).name for case in CASES}
