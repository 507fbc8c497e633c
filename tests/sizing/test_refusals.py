"""Constraints that reject a candidate at any cost: memory, host, format, fabric, region, organisation, blueprint, pins."""

from dataclasses import replace

import pytest
from rackwright.catalog import Catalog
from rackwright.sizing.rejection import Limit, Reason
from rackwright.wording.plan_text import fit_warnings
from rackwright.wording.rejections import remedy

from tests.sizing.helpers import AWS, GCP, finetune, labels, lora, plan, rejection, serve


def test_memory_is_compared_with_the_pessimistic_estimate():
    assert lora().fits
    for f in lora().fits:
        assert f.memory.fill <= f.memory.max_fill
        assert f.memory.margin_bytes > 0


def test_a_host_too_small_to_load_is_refused():
    catalog = Catalog.default()
    machines = tuple(replace(m, memory_bytes=8 * 2**30) if m.name == "g6e.xlarge" else m for m in catalog.machines)
    p = plan(finetune(), AWS, catalog=replace(catalog, machines=machines))
    missed = rejection(p, "1 x g6e.xlarge us-east-1 on-demand", Limit.HOST_MEMORY)
    assert (missed.need, missed.have) == (10, 8)


def test_unpublished_speed_is_never_guessed():
    catalog = Catalog.default()
    accelerators = tuple(replace(a, fp16_flops=None) if a.name == "NVIDIA T4g" else a for a in catalog.accelerators)
    p = plan(finetune(), AWS, catalog=replace(catalog, accelerators=accelerators))
    missed = rejection(p, "1 x g5g.xlarge us-east-1 on-demand", Limit.DATA)
    assert (missed.subject, missed.detail) == ("NVIDIA T4g", "FLOP/s")


def test_an_a10g_is_sized():
    """From its datasheet: 70 TFLOP/s of bf16 without sparsity, and 600 GB/s."""
    assert any(fit.candidate.machine == "g5.12xlarge" for fit in lora().fits)


def test_number_formats_need_the_accelerator():
    p = plan(finetune(adapter="none", more="precision: fp8"), AWS)
    assert all(f.candidate.accelerator.split()[1] not in ("A100", "V100", "T4") for f in p.fits)
    assert rejection(p, "1 x p4d.24xlarge us-east-1 on-demand", Limit.PRECISION)
    explicit = plan(finetune(more="precision: bf16"), AWS)
    missed = rejection(explicit, "1 x g4dn.xlarge us-east-1 on-demand", Limit.PRECISION)
    assert remedy(missed) == "precision: fp16, or a newer accelerator"


@pytest.mark.parametrize("machine", ["dl1.24xlarge", "dl2q.24xlarge", "g4ad.16xlarge"])
def test_accelerators_without_a_blueprint_are_rejected(machine):
    p = plan(finetune(), AWS)
    found = [x for r in p.rejected if r.candidate.machine == machine for x in r.rejections]
    assert any(x.reason is Reason.ACCELERATOR_FAMILY for x in found)


def test_machines_without_a_fabric_are_used_singly():
    assert rejection(lora(), "2 x g6.xlarge us-east-1 on-demand", Limit.FABRIC).need is None


def test_a_region_without_the_type_names_one_that_has_it():
    missed = rejection(plan(finetune(), AWS.replace("us-east-1", "eu-west-2")), "1 x p5en.48xlarge eu-west-2 on-demand", Limit.REGION)
    assert missed.remedies[0].startswith("eu-")


@pytest.mark.parametrize("workload", [finetune(), serve()])
def test_a_region_without_offerings_has_reasons(workload):
    p = plan(workload, AWS.replace("us-east-1", "ca-west-1"))
    assert not p.fits
    assert any(x.limit is Limit.REGION for r in p.rejected for x in r.rejections)


def test_the_organisation_sets_limits():
    p = plan(finetune(), AWS.replace("[us-east-1]", "[us-east-1, eu-north-1]"), more="limits: {regions: [eu-*]}")
    assert {f.candidate.region for f in p.fits} == {"eu-north-1"}
    outside = [r for r in p.rejected if r.candidate.region == "us-east-1"]
    assert all(any(x.limit is Limit.ORGANISATION for x in r.rejections) for r in outside)
    over = plan(finetune(), AWS, more="limits: {accelerators: 8}")
    assert all(f.candidate.accelerators <= 8 for f in over.fits)
    assert remedy(rejection(over, "2 x p5.48xlarge us-east-1 on-demand", Limit.ORGANISATION)) == "limits.accelerators: 16"


def test_a_box_is_one_machine():
    p = plan(finetune(), AWS, more="blueprint: {kind: box}")
    assert p.fits
    assert all(f.candidate.nodes == 1 for f in p.fits)


def test_a_pod_is_a_slice():
    p = plan(finetune(adapter="none"), GCP, more="blueprint: {kind: tpu-pod}")
    assert p.fits
    assert all(f.candidate.topology for f in p.fits)
    assert all(f.candidate.nodes * f.candidate.accelerators_per_node >= 4 for f in p.fits)


def test_a_pin_wins_over_goals_but_not_over_memory():
    place = AWS.replace("regions", "pin: {instance: p5.48xlarge, nodes: 2}, regions")
    p = plan(finetune(), place, goals="{max_cost: 5 USD}")
    assert labels(p) == ["2 x p5.48xlarge us-east-1 on-demand"]
    assert "The pinned machines miss a goal: budget" in fit_warnings(p.chosen)[0]
    small = plan(finetune(base="llama-3.1-70b", adapter="none"), place.replace("nodes: 2", "nodes: 1"))
    assert not small.fits
    assert rejection(small, "1 x p5.48xlarge us-east-1 on-demand", Limit.DEVICE_MEMORY).distance > 1.5


def test_a_pin_that_breaks_a_goal_ranks_after_a_free_place_that_keeps_it():
    pinned = AWS.replace("regions", "pin: {instance: p5.48xlarge, nodes: 2}, regions")
    p = plan(finetune(), pinned, AWS.replace("us-east-1", "us-west-2"), goals="{max_cost: 20 USD}", ordered=True)
    assert p.chosen.candidate.region == "us-west-2"
    assert p.fits[-1].candidate.pinned


def test_pinned_parallelism_is_used():
    p = plan(finetune(adapter="none", more="parallelism: {tensor: 4, zero: 1, recompute: full}"), AWS)
    assert {(f.candidate.parallelism.tensor, f.candidate.parallelism.recompute) for f in p.fits} == {(4, "full")}


def test_qlora_needs_less_memory_than_lora_and_lora_less_than_all_weights():
    needs = [plan(finetune("llama-3.1-70b", a), AWS, more="blueprint: {kind: box}").fits for a in ("qlora", "lora", "none")]
    machines = [{f.candidate.machine for f in fits} for fits in needs]
    assert machines[0] > machines[1] > machines[2]
