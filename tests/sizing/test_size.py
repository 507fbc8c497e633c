"""A plan is deterministic and ordered, and has reasons."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.plan import Rejected, SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.selection.near_ties import MAX_TIE
from rackwright.sizing.selection.ranking import nearest_misses
from rackwright.wording.rationale import rationale
from rackwright.wording.rejections import explanation, joined_remedies

from tests.sizing.helpers import AWS, BOTH, GCP, finetune, labels, lora, plan, serve


def test_json_keeps_everything():
    for p in (lora(), plan(serve(), GCP)):
        assert SizingPlan.from_json(p.to_json()) == p


def test_the_same_spec_gives_the_same_plan():
    assert plan(finetune(), AWS).to_json() == lora().to_json()


def test_labels_are_unique():
    for p in (lora(), plan(finetune(), GCP), plan(finetune(), BOTH)):
        every = [x.candidate.label for x in (*p.fits, *p.rejected)]
        assert len(every) == len(set(every))


def test_every_assumption_has_unit_and_source():
    assert all(x.source and x.value for x in lora().assumptions)
    assert any(x.name == "max_fill" and x.unit == "of accelerator memory" for x in lora().assumptions)


def test_every_rejection_has_a_reason():
    p = plan(finetune(), BOTH, GCP)
    assert all(r.rejections for r in p.rejected)
    assert all(explanation(x) or x.have is not None for r in p.rejected for x in r.rejections)
    assert all(list(r.rejections) == sorted(r.rejections, key=lambda x: -x.distance) for r in p.rejected)


def test_order_of_places_in_any_of_does_not_matter():
    one, other = (plan(finetune(), *places) for places in ((AWS, GCP), (GCP, AWS)))
    assert labels(one) == labels(other)
    assert {r.candidate.label for r in one.rejected} == {r.candidate.label for r in other.rejected}


def test_ordered_places_are_ranked_in_order():
    p = plan(finetune(), AWS, GCP, ordered=True)
    clouds = [f.candidate.cloud for f in p.fits]
    assert clouds == sorted(clouds)
    assert plan(finetune(), GCP, AWS, ordered=True).chosen.candidate.cloud == "gcp"


def test_ordered_capacity_is_ranked_in_order():
    assert plan(finetune(), BOTH).chosen.candidate.capacity == "on-demand"
    assert plan(finetune(), AWS.replace("[on-demand]", "[spot, on-demand]")).chosen.candidate.capacity == "spot"


def test_one_machine_ranks_before_several_unless_optimizing_for_time():
    nodes = [f.candidate.nodes for f in lora().fits]
    assert nodes == sorted(nodes, key=lambda n: n > 1)
    assert "one machine is enough" in rationale(lora())
    fast = plan(finetune(), AWS, goals="{optimize_for: time}")
    fastest = min(f.duration_s.p50 for f in fast.fits)
    assert fastest <= fast.chosen.duration_s.p50 <= fastest * (1 + MAX_TIE)
    assert fast.chosen.cost_usd.p50 == min(f.cost_usd.p50 for f in fast.fits if f.time_s <= fastest * (1 + MAX_TIE))
    assert "as fast within the uncertainty, so the cheaper one ranks first" in rationale(fast)


def test_cheapest_single_machine_first():
    single = [f for f in lora().fits if f.candidate.nodes == 1]
    assert lora().chosen == min(single, key=lambda f: f.cost_usd.p50)


def test_balanced_is_between():
    cost, balanced, time = (plan(finetune(), AWS, goals=f"{{optimize_for: {how}}}").chosen for how in ("cost", "balanced", "time"))
    assert time.duration_s.p50 <= balanced.duration_s.p50 <= cost.duration_s.p50


def test_a_plan_without_fits_has_three_nearest_misses():
    p = plan(finetune(base="llama-3.1-405b", adapter="none"), AWS, goals="{max_duration: 1h, max_cost: 10 USD}")
    assert p.fits == ()
    assert p.chosen is None
    assert rationale(p).startswith("No candidate meets every goal")
    distances = [r.distance for r in p.rejected if r.duration_s is not None]
    assert distances == sorted(distances)
    misses = nearest_misses(p)
    assert len({m.candidate.machine for m in misses}) == 3
    assert all(joined_remedies(m.rejections) for m in misses)


def test_rejections_keep_their_numbers():
    p = plan(finetune(), AWS, goals="{max_cost: 1 USD}")
    over = [r for r in p.rejected if any(x.limit is Limit.BUDGET for x in r.rejections)]
    assert over
    assert all(isinstance(r, Rejected) and r.cost_usd and r.duration_s for r in over)


def test_an_unknown_model_raises_a_user_error():
    with pytest.raises(UserError, match="no-such-model"):
        plan(finetune(base="no-such-model"), AWS)


def test_networks_without_tokens_are_sized_from_their_flops():
    images = "{name: unet, kind: finetune, model: {base: sdxl}, adapter: {type: lora}, data: {samples: 100000}}"
    p = plan(images, AWS)
    assert p.chosen.speed.samples_per_s
    assert p.chosen.speed.tokens_per_s is None
    assert p.chosen.evidence.startswith("measured"), "runs of images are part of the fit"
    assert p.chosen.duration_s.p90 / p.chosen.duration_s.p10 > 2


def test_checkpoints_set_the_file_system():
    p = plan(finetune(base="llama-3.1-70b", adapter="none"), AWS)
    assert p.facts.checkpoint_bytes == pytest.approx(980e9, rel=0.02)
    assert p.storage.throughput_bytes_per_s == pytest.approx(980e9 / (p.facts.checkpoint_interval_s / 2), rel=0.02)
    assert DEFAULT.checkpoint_min_interval_s <= p.facts.checkpoint_interval_s <= DEFAULT.checkpoint_max_interval_s
    assert p.storage.capacity_bytes > 4 * p.facts.checkpoint_bytes
