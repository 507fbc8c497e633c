"""CPU machines: sized only if pinned, with a check of their RAM; their speed is a roofline, marked as such."""

import pytest
from rackwright.sizing.rejection import Limit
from rackwright.wording.plan_text import fit_warnings
from rackwright.wording.rejections import explanation, remedy

from tests.sizing.helpers import AWS, finetune, labels, lora, plan, rejection, serve

SMALL = "qwen2.5-1.5b"


def pinned(machine: str) -> str:
    return f"{AWS[:-1]}, pin: {{instance: {machine}}}}}"


def label(machine: str) -> str:
    return f"1 x {machine} us-east-1 on-demand"


@pytest.mark.parametrize("workload", [serve(SMALL, rate=0.2), finetune(SMALL), finetune(SMALL, "none")])
def test_a_pinned_cpu_machine_runs_a_small_model(workload):
    fit = plan(workload, pinned("m7i.4xlarge")).fits[0]
    assert fit.candidate.label == label("m7i.4xlarge")
    assert fit.usd_per_hour == 0.8064
    assert fit.evidence == "prior only"
    assert any("roofline" in words for words in fit_warnings(fit))
    assert 0 < fit.memory.fill < 0.8


def test_cpu_machines_are_considered_only_when_pinned():
    machines = {x.candidate.machine for p in (lora(), plan(serve(SMALL, rate=0.1))) for x in (*p.fits, *p.rejected)}
    assert not [m for m in machines if m.startswith(("m7", "c7", "r7", "t3"))]


def test_memory_of_a_cpu_machine_is_its_ram():
    small = rejection(plan(serve(rate=0.1), pinned("m7i.xlarge")), label("m7i.xlarge"), Limit.HOST_MEMORY)
    assert (round(small.have, 1), small.unit) == (12.8, "GiB")
    assert small.need > 15


def test_a_model_that_is_too_large_for_cpus_has_a_reason():
    fit = plan(serve(rate=0.1), pinned("r7i.4xlarge")).fits[0]
    assert any("billion active parameters" in words for words in fit_warnings(fit))


def test_traffic_above_one_cpu_machine_has_a_reason():
    fit = plan(serve(SMALL, rate=20), pinned("m7i.4xlarge")).fits[0]
    assert fit.candidate.nodes == 1
    assert any("throughput: needs 20.0 requests/s" in words for words in fit_warnings(fit))


def test_more_traffic_never_reduces_latency():
    quiet, busy = (plan(serve(SMALL, rate=r), pinned("m7i.4xlarge")).fits[0].speed.tpot_s for r in (0.1, 1.0))
    assert 0 < quiet < busy


def test_a_missed_latency_goal_is_a_rejection():
    fit = plan(serve(SMALL, rate=0.1, more="tpot: {target: 1 ms, percentile: 95}"), pinned("m7i.4xlarge")).fits[0]
    assert any(str(Limit.TPOT) in words for words in fit_warnings(fit))


def test_families_without_published_rates_are_rejected():
    said = rejection(plan(serve(SMALL, rate=0.1), pinned("t3.large")), label("t3.large"), Limit.DATA)
    assert explanation(said) == "the compute rate of a t3 vCPU is not published"
    assert "m7i" in remedy(said)
    qlora = rejection(plan(finetune(SMALL, "qlora"), pinned("m7i.4xlarge")), label("m7i.4xlarge"), Limit.DATA)
    assert explanation(qlora) == "no documented trainer runs qlora on CPUs"


def test_a_batch_has_a_duration():
    work = f"{{name: b, kind: batch, model: {{base: {SMALL}}}, requests: 10000, input_tokens: {{mean: 400}}, output_tokens: {{mean: 100}}}}"
    found = plan(work, pinned("c7i.8xlarge"))
    assert labels(found) == [label("c7i.8xlarge")]
    assert found.fits[0].duration_s.p50 > 0


def test_a_model_without_tokens_is_sized_on_cpus():
    fit = plan(serve("bert-base", rate=1), pinned("m7i.4xlarge")).fits[0]
    assert 0 < fit.speed.ttft_s < 1
