"""Several serving workloads: each on its own pool, chosen together under one budget, one quota and one accelerator limit."""

from datetime import date
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.catalog.query import quota_amount, quota_code
from rackwright.catalog.read import Catalog
from rackwright.cost.bill import total_interval
from rackwright.report.terminal.several import workload_text
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.rejection import Limit, Reason
from rackwright.sizing.selection.combinations import Option, best_combinations
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.wording.notes import note_text
from rackwright.wording.plan_text import with_text
from rackwright.wording.rejections import remedy
from rackwright.workflow.infeasible import no_fit
from rackwright.workflow.pipeline import Pipeline

from tests import plans

TODAY = date(2026, 11, 21)
AWS = "{cloud: aws, account: '123456789012', regions: [us-east-1], capacity: {ordered: [on-demand]}}"
CHAT = (
    "{name: chat, kind: serve, model: {base: llama-3.1-8b}, requests_per_second: 12, input_tokens: {mean: 700, p95: 2000}, "
    "output_tokens: {mean: 220, p95: 600}, max_context: 8192, ttft: {target: 800 ms, percentile: 95}, "
    "tpot: {target: 60 ms, percentile: 95}, min_replicas: 2, max_replicas: 4}"
)
EMBED = (
    "{name: embed, kind: serve, model: {base: bert-large}, requests_per_second: 40, sequence_length: 256, "
    "latency: {target: 300 ms, percentile: 95}, max_replicas: 4}"
)
G_QUOTA = "L-DB2E81BA"
"""vCPU of running on-demand G and VT machines."""


def pipeline(*workloads: str, place: str = AWS, goals: str = "{}", more: str = "") -> Pipeline:
    head = f"api_version: rackwright/v1\nname: test\nworkloads: [{', '.join(workloads)}]\ngoals: {goals}\n"
    return Pipeline.of_spec(read(f"{head}infra: {{any_of: [{place}]}}\n{more}"), TODAY)


@pytest.fixture(scope="module")
def both() -> Pipeline:
    return pipeline(CHAT, EMBED)


def quota_of(plan: SizingPlan, code: str) -> float:
    """vCPU of a quota that the chosen combination needs at its maximum size."""
    catalog, used = Catalog.default(), 0.0
    assert plan.chosen
    for fit in plan.chosen.each_workload:
        machine = catalog.machine(fit.candidate.machine)
        if quota_code(machine, fit.candidate.capacity) == code:
            used += quota_amount(machine)[0] * fit.candidate.max_nodes
    return used


def test_without_a_shared_limit_each_workload_has_the_machines_that_it_has_alone(both):
    assert both.plan.chosen
    alone = [pipeline(workload).plan.chosen for workload in (CHAT, EMBED)]
    assert [fit.candidate.machine for fit in both.plan.chosen.each_workload] == [fit.candidate.machine for fit in alone]
    assert both.plan.chosen.stack_usd == pytest.approx(sum(fit.cost_usd.p50 for fit in alone))
    assert [fit.workload for fit in both.plan.chosen.each_workload] == ["chat", "embed"]
    assert not [note for note in both.plan.notes if note.kind is NoteKind.OTHER_MACHINES_ALONE]


def test_a_quota_is_of_all_workloads_and_changes_the_best_combination(both):
    """With the quota of the chat alone the embedding model gets other machines, which it would not have alone."""
    need = quota_of(both.plan, G_QUOTA)
    chat = quota_of(pipeline(CHAT).plan, G_QUOTA)
    assert 0 < chat < need
    place = AWS.replace("capacity", f"quotas: {{us-east-1: {{{G_QUOTA}: {need - 1}}}}}, capacity")
    tight = pipeline(CHAT, EMBED, place=place).plan
    assert tight.chosen
    assert quota_of(tight, G_QUOTA) < need
    assert tight.chosen.stack_usd > both.plan.chosen.stack_usd
    for workload in (CHAT, EMBED):  # each alone keeps its machines: the limit is of the sum
        assert pipeline(workload, place=place).plan.chosen.candidate == pipeline(workload).plan.chosen.candidate
    (note,) = [note for note in tight.notes if note.kind is NoteKind.OTHER_MACHINES_ALONE]
    assert note.values["limits"] == (Limit.QUOTA,)
    assert note_text(note).endswith("exceed the quota together")
    assert SizingPlan.from_json(tight.to_json()) == tight


def test_choices_in_different_regions_are_no_exceeded_limit(both):
    """The chat exceeds the quota of one region alone, the embedding model that of the other."""
    need = quota_of(pipeline(CHAT).plan, G_QUOTA)
    place = AWS.replace("[us-east-1]", "[us-east-1, us-west-2]")
    place = place.replace("capacity", f"quotas: {{us-east-1: {{{G_QUOTA}: {need - 1}}}, us-west-2: {{{G_QUOTA}: {need}}}}}, capacity")
    tight = pipeline(CHAT, EMBED, place=place).plan
    assert tight.chosen
    assert len({plan.chosen.candidate.region for plan in (pipeline(w, place=place).plan for w in (CHAT, EMBED))}) == 2
    notes = [note for note in tight.notes if note.kind in (NoteKind.OTHER_PLACES_ALONE, NoteKind.OTHER_MACHINES_ALONE)]
    assert {note.kind for note in notes} == {NoteKind.OTHER_PLACES_ALONE}
    assert all(note_text(note).endswith("the choices of each workload alone share no zone") for note in notes)


def test_accelerators_are_counted_together(both):
    used = sum(fit.candidate.accelerators for fit in both.plan.chosen.each_workload)
    assert pipeline(CHAT, EMBED, more=f"limits: {{accelerators: {used}}}").plan.fits
    plan = pipeline(CHAT, EMBED, more=f"limits: {{accelerators: {used - 1}}}").plan
    assert all(sum(each.candidate.accelerators for each in fit.each_workload) < used for fit in plan.fits)


def test_more_accelerators_at_the_maximum_than_the_limit_are_a_warning(both):
    """A quota holds at the maximum number of replicas; the limit of accelerators held at the planned one, and no more was printed."""
    fits = both.plan.chosen.each_workload
    used = sum(fit.candidate.accelerators for fit in fits)
    most = sum(fit.candidate.max_nodes * fit.candidate.accelerators_per_node for fit in fits)
    assert used < most == 8
    tight = pipeline(CHAT, EMBED, more=f"limits: {{accelerators: {used}}}").plan
    assert f"may scale to 8 accelerators, limit {used}" in " ".join(with_text(tight).warnings)
    enough = pipeline(CHAT, EMBED, more=f"limits: {{accelerators: {most}}}").plan
    assert "may scale to" not in " ".join(with_text(enough).warnings)
    (alone,) = (note for note in pipeline(CHAT, more="limits: {accelerators: 2}").plan.chosen.notes if "limit" in note.values)
    assert alone.values == {"most": 4, "limit": 2}


def test_the_replicas_of_a_plan_are_those_of_its_autoscalers(both):
    """The planned number of replicas was printed as the minimum of the autoscaler."""
    scalers = [m.body["spec"] for m in both.preview().stack.manifests if m.body["kind"] == "ScaledObject"]
    ranges = [(spec["minReplicaCount"], spec["maxReplicaCount"]) for spec in scalers]
    assert ranges == [(2, 4), (1, 4)]
    for fit, (low, high) in zip(both.plan.chosen.each_workload, ranges, strict=True):
        assert f"at p95, {low} to {high}, " in workload_text(both.spec, fit)
    one = pipeline(CHAT.replace("min_replicas: 2, ", ""), EMBED)
    assert ", 2 replicas at p95, 1 to 4, " in workload_text(one.spec, one.plan.chosen)


def test_the_budget_is_of_the_whole_bill_of_both(both):
    bill = both.preview().bill
    assert pipeline(CHAT, EMBED, goals=f"{{max_cost: {bill.total_usd + 1:.2f} USD}}").plan.fits
    over = pipeline(CHAT, EMBED, goals=f"{{max_cost: {bill.total_usd - 1:.2f} USD}}").plan
    assert not over.fits
    miss = over.rejected[0]
    assert (miss.rejections[0].limit, miss.rejections[0].reason) == (Limit.BUDGET, Reason.BUDGET_OF_BILL)
    assert miss.rejections[0].need == pytest.approx(bill.total_usd)
    assert len(miss.further) == 1


def test_a_budget_that_holds_one_of_two_names_what_each_costs(both):
    chat, embed = (fit.cost_usd.p50 for fit in both.plan.chosen.each_workload)
    plan = pipeline(CHAT, EMBED, goals=f"{{max_cost: {chat + embed - 1:.2f} USD}}").plan
    assert not plan.fits
    alone = {"chat": pipeline(CHAT).preview().bill.total_usd, "embed": pipeline(EMBED).preview().bill.total_usd}
    kinds = {NoteKind.BILL_ALONE_FITS, NoteKind.BILL_ALONE_EXCEEDS}
    notes = {note.values["workload"]: note for note in plan.notes if note.kind in kinds}
    assert {name: note.values["bill_usd"] for name, note in notes.items()} == pytest.approx(alone)
    assert {name: note.kind is NoteKind.BILL_ALONE_FITS for name, note in notes.items()} == {
        name: usd <= chat + embed - 1 for name, usd in alone.items()
    }
    text = no_fit(plan, both.path).reason
    assert "g7e.2xlarge" in text
    assert "g4dn.xlarge" in text
    assert "budget: needs" in text


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("objective", ["cost", "time"])
def test_the_remedy_of_a_budget_is_the_whole_bill_of_the_cheapest_combination(both, share, objective):
    """The remedy was the cost of the machines, which the next plan refused for its whole bill."""
    bill = both.preview().bill.total_usd
    plan = pipeline(CHAT, EMBED, goals=f"{{max_cost: {share * bill:.2f} USD, optimize_for: {objective}}}").plan
    assert not plan.fits
    (over,) = plan.rejected[0].rejections
    assert (over.reason, over.need) == (Reason.BUDGET_OF_BILL, pytest.approx(bill))
    assert pipeline(CHAT, EMBED, goals="{" + remedy(over) + f", optimize_for: {objective}}}").plan.fits


def test_a_workload_that_fits_nowhere_is_named():
    large = EMBED.replace("300 ms", "1 ms")
    plan = pipeline(CHAT, large).plan
    assert not plan.fits
    assert [note.values for note in plan.notes if note.kind is NoteKind.FITS_NOWHERE] == [{"workload": "embed"}]
    assert plan.rejected
    assert {r.limit for miss in plan.rejected[:3] for r in miss.rejections} & {Limit.LATENCY}


def test_all_workloads_are_in_one_region():
    places = AWS.replace("[us-east-1]", "[us-east-1, us-west-2, eu-west-1]")
    for fit in pipeline(CHAT, EMBED, place=places).plan.fits:
        assert len({each.candidate.region for each in fit.each_workload}) == 1
        assert set.intersection(*({*each.candidate.zones} for each in fit.each_workload))


def test_the_bill_has_the_machines_of_every_workload(both):
    preview = both.preview()
    chosen = both.plan.chosen
    machines = sum(line.total_usd for line in preview.bill.lines if line.pool in ("gpu", "gpu-embed"))
    assert machines == pytest.approx(chosen.stack_usd)
    assert {line.what for line in preview.bill.lines} >= {"g7e.2xlarge, on-demand, chat", "g4dn.xlarge, on-demand, embed"}
    assert total_interval(preview.stack, chosen, both.spec, both.catalog).p50 == pytest.approx(preview.bill.total_usd)
    assert next(line.quantity for line in preview.bill.lines if line.what == "internal load balancers") == 2


def test_a_plan_of_one_workload_has_no_further_keys():
    for text in (pipeline(CHAT).plan.to_json(), size(plans.eks_fleet_case()[0], today=TODAY).to_json()):
        assert '"further"' not in text
        assert '"workload"' not in text


def test_a_plan_of_several_survives_json(both):
    assert SizingPlan.from_json(both.plan.to_json()) == both.plan


AMOUNTS = st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 4), st.integers(0, 4))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(AMOUNTS, min_size=1, max_size=6), min_size=1, max_size=3), st.integers(0, 9), st.integers(0, 9))
def test_the_search_finds_the_combinations_of_a_complete_enumeration(rows, first, second):
    fit = plans.eks_fleet_case()[2]
    options = [[Option(fit, (float(a), float(b)), {"x": c, "y": d}) for a, b, c, d in each] for each in rows]
    limits = {"x": first, "y": second}

    def rank(combination):
        return tuple(sum(terms) for terms in zip(*(option.rank for option in combination), strict=True))

    def keeps(combination):
        return all(sum(option.uses[name] for option in combination) <= have for name, have in limits.items())

    every = sorted(rank(c) for c in product(*options) if keeps(c))
    assert [rank(c) for c in best_combinations(options, limits, 4)] == every[:4]


@pytest.mark.parametrize("objective", ["time", "balanced"])
def test_equal_combinations_are_near_ties(objective):
    """Single workloads took the cheaper of equal candidates; combinations were ordered by the objective to the last digit."""
    found = pipeline(CHAT, EMBED, goals=f"{{optimize_for: {objective}}}").plan
    best = found.near_tie or found.chosen
    if found.near_tie:
        assert found.chosen.stack_usd <= found.near_tie.stack_usd
        assert "less than the uncertainty" in with_text(found).scaling
    assert best in found.fits
    cheaper = [fit for fit in found.fits if _times(fit) <= _times(best) * 1.0001 and fit.stack_usd < found.chosen.stack_usd]
    assert not [fit for fit in cheaper if not fit.not_buildable and not fit.overruled]


def _times(fit) -> float:
    return sum(each.time_s for each in fit.each_workload)
