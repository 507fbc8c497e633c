"""The whole matrix: a plan or a rule's refusal, no third outcome. docs/matrix.md is what came of it.

RACKWRIGHT_RENEW=matrix pytest tests/matrix writes the page.
"""

import os
from pathlib import Path

import pytest
from rackwright.diagnostics.codes import CODES
from rackwright.validation.spec import RULES as SPEC_RULES
from rackwright.validation.stack import RULES

from tests.matrix import matrix, page

pytestmark = pytest.mark.xdist_group("matrix")  # every outcome is computed once
PAGE = Path(__file__).parents[2] / "docs" / "matrix.md"
MACHINES = matrix.machines()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_combination_is_a_plan_or_a_refusal_with_an_id(machine):
    known = {rule.code for rule in RULES} | set(SPEC_RULES.rules) | set(CODES)
    for outcome in matrix.outcomes_of(machine):
        assert outcome.compiles or outcome.codes, outcome
        assert set(outcome.codes) <= known, outcome


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_no_plan_uses_a_capacity_mode_that_is_not_offered(machine):
    for outcome in matrix.outcomes_of(machine):
        assert matrix.is_sold(machine, outcome.mode) or not outcome.compiles, outcome


def test_every_offered_accelerator_machine_has_a_blueprint_or_a_reason():
    refused = {
        machine.name
        for machine in MACHINES
        if machine.accelerator_count and not any(outcome.compiles for outcome in matrix.outcomes_of(machine))
    }
    families = {name.partition(".")[0] for name in refused}
    assert families <= {"g4ad", "inf1", "dl1", "dl2q", "u-p6e-gb200x36", "u-p6e-gb200x72", "p6e-gb200"}


def test_the_page_equals_the_results():
    text = page.written()
    if os.environ.get("RACKWRIGHT_RENEW") == "matrix":
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "renew with RACKWRIGHT_RENEW=matrix pytest tests/matrix, and read the difference"
