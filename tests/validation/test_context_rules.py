"""Rules over the context of a plan: bill, quotas, configuration and clock. Without context they find no problem."""

from datetime import UTC, datetime

from rackwright.catalog import Catalog
from rackwright.cost import bill
from rackwright.diagnostics.problem import Level, Stage
from rackwright.spec.spec import ConfigRef
from rackwright.validation.stack import StackContext, check, stack_problems

from tests import plans

SPEC, SIZING, FIT = plans.training_case()
STACK = plans.compiled((SPEC, SIZING, FIT))
CATALOG = Catalog.default()


def found(*acknowledged: str, **known) -> list[tuple[str, Level, Stage, bool]]:
    problems = stack_problems(StackContext(STACK, CATALOG, **known), acknowledged)
    return [(problem.code, problem.level, problem.stage, problem.blocks_update) for problem in problems]


def test_a_plan_alone_violates_none():
    assert found() == [] == check(STACK)


def test_a_quota_that_is_too_small_stops_an_update():
    assert found(quotas={"L-417A185B": 1}) == [("V-115", Level.ERROR, Stage.BUILD, True)]


def test_a_bill_over_the_goal_can_be_acknowledged():
    tight = SPEC.model_copy(update={"goals": SPEC.goals.model_copy(update={"max_cost": 200.0})})
    known = {"bill": bill(STACK, FIT, tight, CATALOG), "fit": FIT, "spec": tight}
    assert [code for code, *_ in found(**known)] == ["V-111"]
    assert found("V-111", **known) == []


def test_a_secret_stops_an_update_where_the_configuration_lacks_it():
    spec = SPEC.model_copy(update={"secrets": {"hf-token": ConfigRef(config="hfToken")}})
    assert found(spec=spec) == [("D-secret", Level.WARNING, Stage.BUILD, False)]
    assert found(spec=spec, is_configured=lambda _: False) == [("D-secret", Level.ERROR, Stage.BUILD, True)]
    assert found(spec=spec, is_configured=lambda key: key == "hfToken") == []


def test_a_stack_without_a_box_has_no_block_to_wait_for():
    assert found(now=datetime(2026, 11, 21, tzinfo=UTC)) == []
