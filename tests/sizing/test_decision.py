"""The choice: capacity modes, faults, prices, pins and their sentences."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from rackwright.catalog import Catalog
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.search.outcome import at_p80
from rackwright.sizing.selection.rejection_summary import rejection_summary
from rackwright.wording.plan_text import fit_warnings
from rackwright.wording.rationale import rationale
from rackwright.wording.rejections import explanation, remedy

from tests.sizing.helpers import AWS, BOTH, GCP, block, finetune, plan, serve

FLEX = GCP.replace("[on-demand]", "[on-demand, flex-start]")
LONG = finetune("llama-3.1-70b", "none").replace("samples: 20000", "samples: 1000000")


def p80_h(fit: Fit) -> float:
    return at_p80(fit.duration_s.p50, fit.duration_s.p90 / fit.duration_s.p50) / 3600


@cache
def both() -> SizingPlan:
    return plan(finetune("llama-3.1-70b", "none"), BOTH)


def pairs(p: SizingPlan, one: str, other: str) -> list[tuple[Fit, Fit]]:
    """The same machines in two capacity modes."""
    by_label = {f.candidate.label: f for f in p.fits}
    return [(f, by_label[m]) for label, f in by_label.items() if label.endswith(one) and (m := label.replace(one, other)) in by_label]


# Capacity modes


def test_spot_is_slower_and_less_certain_than_the_same_machines_on_demand():
    found = pairs(both(), "on-demand", "spot")
    assert len(found) > 5
    for firm, spot in found:
        assert spot.duration_s.p50 > firm.duration_s.p50
        assert spot.duration_s.p90 / spot.duration_s.p10 > firm.duration_s.p90 / firm.duration_s.p10
        assert spot.goodput.share < firm.goodput.share
        assert spot.goodput.interruptions > firm.goodput.interruptions


def test_more_accelerators_are_interrupted_more_often_so_they_save_more_often():
    by_machine: dict[tuple[str, str], list[Fit]] = {}
    for f in both().fits:
        by_machine.setdefault((f.candidate.machine, f.candidate.capacity), []).append(f)
    compared = 0
    for fits in by_machine.values():
        for few, many in pairwise(sorted(fits, key=lambda f: f.candidate.nodes)):
            assert many.goodput.checkpoint_interval_s <= few.goodput.checkpoint_interval_s
            assert many.goodput.share <= few.goodput.share
            compared += many.goodput.checkpoint_interval_s < few.goodput.checkpoint_interval_s
    assert compared > 5


def test_the_plan_has_the_checkpoint_interval_of_its_evaluation():
    p = both()
    assert p.facts.checkpoint_interval_s == pytest.approx(p.chosen.goodput.checkpoint_interval_s)
    said = plan(finetune(more="checkpoint: {interval: 30m}"), AWS)
    assert said.facts.checkpoint_interval_s == said.chosen.goodput.checkpoint_interval_s == 1800


def test_requests_of_a_batch_fail_alone_and_save_nothing():
    lengths = "input_tokens: {mean: 800}, output_tokens: {mean: 200}"
    fits = plan(f"{{name: job, kind: batch, model: {{base: llama-3.1-8b}}, requests: 1e7, {lengths}}}", BOTH).fits
    spot = {f.candidate.nodes: f.goodput for f in fits if f.candidate.capacity == "spot" and f.candidate.machine == "p5.48xlarge"}
    assert len(spot) > 1
    assert {g.checkpoint_interval_s for g in spot.values()} == {0}
    assert len({g.share for g in spot.values()}) == 1


def test_the_last_half_hour_of_a_block_refuses_a_run_that_would_need_it():
    chosen = plan(LONG, block(200)).chosen
    assert plan(LONG, block(p80_h(chosen) + 0.51)).fits
    missed = plan(LONG, block(p80_h(chosen) + 0.49))
    assert not missed.fits
    short = next(x for x in missed.rejected[0].rejections if x.limit is Limit.RUN_LIMIT)
    assert short.need - short.have == pytest.approx(0.01, abs=0.005)
    assert "last 30 minutes" in explanation(short)


def test_flex_start_longer_than_seven_days_is_rejected_with_its_distance():
    p = plan(LONG.replace("samples: 1000000", "samples: 20000000"), FLEX)
    labels = {f.candidate.label for f in p.fits}
    short = [(r, x) for r in p.rejected for x in r.rejections if x.limit is Limit.RUN_LIMIT]
    assert short
    for miss, x in short:
        assert miss.candidate.capacity == "flex-start"
        assert (x.have, x.unit) == (168, "h")
        assert x.need > 168
        assert x.distance == x.need / 168
        assert remedy(x) == "more machines, or on-demand"
    assert any(m.candidate.label.replace("flex-start", "on-demand") in labels for m, _ in short), "on demand the same machines do"


def test_queue_time_of_flex_start_counts_for_the_deadline_and_not_for_the_budget():
    flex, firm = next(pairs_of for pairs_of in pairs(plan(finetune(), FLEX), "flex-start", "on-demand"))
    assert flex.duration_s == firm.duration_s
    assert (flex.wait_s.p50, firm.wait_s) == (DEFAULT.flex_wait_s, None)
    assert flex.cost_usd.p50 == pytest.approx(flex.usd_per_hour * flex.duration_s.p50 / 3600)
    limit = p80_h(firm) * 1.05
    tight = plan(finetune(), FLEX, goals=f"{{max_duration: {limit:.3f}h}}")
    assert firm.candidate.label in {f.candidate.label for f in tight.fits}
    missed = next(r for r in tight.rejected if r.candidate.label == flex.candidate.label)
    late = next(x for x in missed.rejections if x.limit is Limit.DEADLINE)
    assert "wait for machines" in explanation(late)
    assert late.need > limit + 2


def test_a_server_on_flex_start_gets_a_note_that_its_machines_stop():
    fits = plan(serve(), GCP.replace("on-demand", "flex-start")).fits
    assert fits
    assert all(any("stops its machines after 168 h" in w for w in fit_warnings(f)) for f in fits)


# Prices


def priced(factor: float, only: str = "") -> SizingPlan:
    catalog = Catalog.default()
    prices = tuple(
        replace(p, usd_per_hour=p.usd_per_hour * factor) if only in p.sku and p.usd_per_hour is not None else p for p in catalog.prices
    )
    return plan(finetune(), AWS, catalog=replace(catalog, prices=prices))


def test_cost_is_monotone_in_price():
    costs = [{f.candidate.label: f.cost_usd.p50 for f in priced(factor).fits if f.cost_usd} for factor in (0.5, 1.0, 2.0)]
    for cheap, dear in pairwise(costs):
        assert cheap.keys() == dear.keys()
        assert all(dear[label] == pytest.approx(2 * cheap[label]) for label in cheap)


def test_a_higher_price_never_raises_the_rank():
    machine = priced(1.0).chosen.candidate.machine

    def first(p: SizingPlan) -> int:
        return next(rank for rank, f in enumerate(p.fits, 1) if f.candidate.machine == machine)

    ranks = [first(priced(factor, machine)) for factor in (1.0, 1.5, 4.0, 20.0)]
    assert ranks == sorted(ranks)
    assert ranks[0] == 1 < ranks[-1]


# Pins


def test_a_more_expensive_pin_is_chosen_and_its_extra_cost_is_shown():
    free = plan(finetune(), AWS).chosen
    p = plan(finetune(), AWS.replace("regions", "pin: {instance: p5.48xlarge, nodes: 1}, regions"))
    assert p.chosen.candidate.label == "1 x p5.48xlarge us-east-1 on-demand"
    extra = p.chosen.cost_usd.p50 - free.cost_usd.p50
    assert extra > 0
    assert f"Without the pin the cheapest candidate that meets the goals is {free.candidate.nodes} x {free.candidate.machine}" in rationale(
        p
    )
    assert f"the pin costs {extra:,.{2 if extra < 100 else 0}f} USD more" in rationale(p)


def test_a_pin_of_the_cheapest_machine_changes_nothing():
    free = plan(serve(), AWS).chosen
    p = plan(serve(), AWS.replace("regions", f"pin: {{instance: {free.candidate.machine}}}, regions"))
    assert p.chosen.candidate.label == free.candidate.label
    assert rationale(p).endswith("No other machine type that meets the goals is cheaper, so the pin of the type changes nothing.")
    assert not {note.kind for note in p.notes} & {NoteKind.PIN_SAVES, NoteKind.PIN_COSTS}


def test_a_pin_that_breaks_a_goal_is_shown_with_the_distance():
    p = plan(finetune(), AWS.replace("regions", "pin: {instance: p5.48xlarge, nodes: 2}, regions"), goals="{max_cost: 5 USD}")
    assert [x.limit for x in p.chosen.overruled] == [Limit.BUDGET]
    assert "They break budget: " in rationale(p)
    assert "times the limit" in rationale(p)


# Why not


def many() -> SizingPlan:
    return plan(finetune("llama-3.1-70b", "none"), BOTH, GCP, goals="{max_duration: 24h, max_cost: 5000 USD}")


def test_every_candidate_is_counted_once_under_its_worst_constraint():
    p = many()
    found = rejection_summary(p.rejected)
    assert sum(c.count for c in found) == len(p.rejected)
    assert len(found) < len(p.rejected) / 20, "thousands share a cause"
    for cause in found:
        held = [r for r in p.rejected if r.rejections[0].limit is cause.limit and r.rejections[0].distance < cause.distance]
        assert not [r for r in held if cause.rejection.need is not None], "the nearest is the nearest"
        assert cause.rejection in cause.nearest.rejections
        assert cause.alone <= cause.count
        assert cause.distance >= 1


def test_rejection_groups_are_ordered_by_distance():
    distances = [c.distance for c in rejection_summary(many().rejected)]
    assert distances == sorted(distances)
    assert distances[0] < 2


def test_rejections_that_differ_in_digits_share_a_group():
    candidate = both().chosen.candidate
    regions = ("us-east-1", "us-east-2", "eu-west-1")
    found = rejection_summary(
        [Rejected(candidate, (Rejection(Limit.REGION, reason=Reason.REGION_NOT_OFFERED, subject=region),)) for region in regions]
    )
    assert [(c.count, c.rejection.subject) for c in found] == [(2, "us-east-1"), (1, "eu-west-1")]


def test_distance_is_the_ratio_of_need_and_have():
    numbers = [x for r in many().rejected for x in r.rejections if x.need is not None]
    assert numbers
    for x in numbers:
        assert x.have is not None
        assert x.unit
        assert x.distance == pytest.approx(max(x.need / x.have, x.have / x.need) if x.have else float("inf"))


# Vertical or horizontal


def miss(p: SizingPlan, label: str) -> Rejected:
    return next(r for r in p.rejected if r.candidate.label == label)


def test_the_rationale_of_one_machine_names_the_next_smaller_and_larger():
    p = plan(finetune(adapter="none"), AWS)
    chosen, said = p.chosen, rationale(p)
    assert chosen.candidate.nodes == 1
    assert said.startswith("Vertical: one machine is enough.")
    assert f"takes {chosen.duration_s.p50 / 3600:,.1f} h for" in said
    assert "The next smaller, " in said
    assert "More machines save time: 2 x " in said or "More machines would only add a network" in said
    assert said.count(".") < 30


def test_the_rationale_of_several_machines_names_one_fewer_and_more():
    p = plan(finetune("llama-3.1-405b", "none"), AWS)
    c, said = p.chosen.candidate, rationale(p)
    assert c.nodes > 1
    assert said.startswith("Horizontal: no single machine meets the goals.")
    one = miss(p, f"1 x {c.machine} us-east-1 on-demand").rejections[0]
    assert f"accelerator memory: {one.need:,.0f} GiB per accelerator needed" in said
    assert f"{one.distance:,.1f} times the limit" in said
    assert f"takes {p.chosen.duration_s.p50 / 3600:,.1f} h for" in said
    assert f"{2 * c.nodes} x {c.machine}" in said
    assert "less time for" in said


def test_different_numbers_are_shown_with_enough_digits():
    p, candidate = both(), both().chosen.candidate
    missed = Rejected(candidate, (Rejection(Limit.DEADLINE, 168.4, 168.0, "h", p50=120.0),))
    far = replace(p.chosen, candidate=replace(candidate, machine="other", nodes=1, accelerator_memory_bytes=1e15))
    said = rationale(replace(p, fits=(far,), rejected=(missed,)))
    assert "168.4 h at p80 (p50 120), 168.0 allowed, less than 1 % beyond the limit" in said


def test_the_rationale_names_a_missing_price_before_the_order_of_places():
    p = both()
    many = next(f for f in p.fits if f.candidate.nodes > 1)
    one = replace(many, candidate=replace(many.candidate, nodes=1), cost_usd=None)
    assert "meets the goals, because candidates without a published price rank last" in rationale(replace(p, fits=(many, one), rejected=()))


def test_the_rationale_of_a_server_has_width_and_number_of_replicas():
    p = plan(serve(rate=60, more="tpot: {target: 50 ms}"), GCP)
    assert rationale(p).startswith("Vertical first: one replica ")
    assert f"{p.chosen.candidate.replicas} replicas on" in rationale(p)
    assert "a month" in rationale(p)


def test_the_rationale_of_an_empty_plan_counts_failed_constraints():
    p = plan(finetune("llama-3.1-405b", "none"), AWS, goals="{max_duration: 1h, max_cost: 10 USD}")
    assert rationale(p).startswith("No candidate meets every goal: ")
    assert " fail on " in rationale(p)
