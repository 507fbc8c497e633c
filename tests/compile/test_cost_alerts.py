"""Budget, idle alarm and reminders from the spec and the date."""

from datetime import date

import pytest
from rackwright.compile.compile import compile_plan
from rackwright.compile.cost_alerts import reminders

from tests import plans


def guard_of(case, today=plans.TODAY, **changes):
    spec, sizing, fit = case
    return compile_plan(spec.model_copy(update=changes), sizing, fit, today=today).guard


def with_goal(case, usd):
    return guard_of(case, goals=case[0].goals.model_copy(update={"max_cost": usd}))


def test_the_budget_is_the_cost_goal():
    assert with_goal(plans.training_case(), 5000.0).budget_usd_per_month == 5000


def test_a_training_goal_is_divided_by_the_months_of_the_run():
    spec, sizing, fit = plans.training_case()
    long = plans.replace(fit, duration_s=plans.Interval(2190 * 3600, 2190 * 3600, 2190 * 3600))
    assert with_goal((spec, sizing, long), 90_000.0).budget_usd_per_month == 30_000


def test_without_a_goal_there_is_no_budget():
    assert with_goal(plans.training_case(), None).budget_usd_per_month is None


def test_a_large_and_a_small_machine_are_idle_below_different_loads():
    """Half a core of agents is at most two percent of 192 vCPUs, and six percent of eight."""
    large, small = plans.training_case(), plans.training_case(machine="g5.2xlarge", fabric="none")
    assert (guard_of(large).idle_cpu_percent, guard_of(small).idle_cpu_percent) == (2.0, 6.25)


def test_a_box_stops_when_idle_without_an_alarm():
    assert guard_of(plans.box_case()).idle_minutes is None
    assert guard_of(plans.training_case()).idle_minutes == 60


def test_reminders_are_in_the_future():
    """AWS refuses a schedule in the past, so a past date is left out."""
    last = "2026-12-05"
    assert [days for days, _ in reminders(last, date(2026, 11, 20))] == [7, 1, 0]
    assert [days for days, _ in reminders(last, date(2026, 11, 28))] == [1, 0]
    assert reminders(last, date(2026, 12, 4)) == ((0, "2026-12-05T08:00:00"),)
    assert reminders(last, date(2026, 12, 5)) == reminders(last, date(2027, 1, 1)) == reminders("", date(2026, 1, 1)) == ()


@pytest.mark.parametrize("case", [plans.fleet_case, plans.tpu_case])
def test_google_cloud_has_no_cost_alerts(case):
    assert guard_of(case()) is None
