"""The StackPlan of each blueprint equals its recorded file. Renew: python -m tests.compile.renew"""

import json

import pytest
from rackwright.stackplan import StackPlan

from tests import plans
from tests.compile.renew import FOLDER, shown


@pytest.mark.parametrize("name", plans.ALL)
def test_plan_is_the_recorded_one(name):
    assert shown(plans.ALL[name]()) == json.loads((FOLDER / f"{name}.json").read_text())


@pytest.mark.parametrize("name", plans.ALL)
def test_plan_survives_json(name):
    plan = plans.ALL[name]()
    assert StackPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("name", plans.ALL)
def test_compilation_is_deterministic(name):
    assert plans.ALL[name]().to_json() == plans.ALL[name]().to_json()
