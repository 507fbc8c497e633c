"""`rackwright diff` and the engine's preview of the same edit, step by step.

`RACKWRIGHT_RENEW=previews pytest -n 0 tests/engine/test_diff.py` records the engine's previews in tests/cases/previews.
"""

import os

import pytest
from rackwright_pulumi.graph_file import StackExport
from rackwright_pulumi.stack_export import graph_of_export
from rackwright_pulumi.testing.diff import compare

from tests.engine.aws_stacks import Stack
from tests.testing import previews
from tests.testing.edits import EDITS, STACKS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", STACKS)
def test_diff_equals_the_preview_of_every_edit(name, cloud, tmp_path):
    """Without protection: the program of a stack ends at the first protected resource that would be replaced."""
    stack = Stack(STACKS[name](), cloud, tmp_path)
    stack.engine.up()
    is_aws = stack.plan.place.cloud == "aws"  # a recording has no project number, which members of Google's service agents contain
    deployed = graph_of_export(StackExport.model_validate_json(stack.engine.run("stack", "export", "--stack", stack.name)))
    assert not is_aws or compare(deployed, previews.graph(stack.plan)) == []
    stack.engine.run("state", "unprotect", "--stack", stack.name, "--all", "--yes")
    different = {}
    for edit, apply in EDITS[name].items():
        stack.write(apply(STACKS[name]()))
        steps = previews.previewed(stack.engine.preview())
        if os.environ.get("RACKWRIGHT_RENEW") == "previews":
            previews.write(name, edit, steps)
        for old in (None, deployed) if is_aws else (None,):
            if steps != previews.compared(name, edit, old):
                different[edit] = (steps, previews.compared(name, edit, old))
    assert not different
