"""Trainium and Inferentia: sized only if pinned, from published peaks, and otherwise rejected with a reason."""

import pytest
from rackwright.sizing.rejection import Limit
from rackwright.wording.plan_text import fit_warnings
from rackwright.wording.rejections import explanation, remedy

from tests.sizing.helpers import AWS, finetune, labels, lora, plan, rejection, serve


def pinned(machine: str, region: str = "us-east-1", mode: str = "on-demand") -> str:
    place = AWS.replace("us-east-1", region).replace("on-demand", mode)
    return f"{place[:-1]}, pin: {{instance: {machine}}}}}"


@pytest.mark.parametrize("machine", ["trn1.2xlarge", "trn1.32xlarge", "trn2.48xlarge", "inf2.48xlarge"])
def test_neuron_instances_must_be_pinned(machine):
    missed = next(r for r in lora().rejected if r.candidate.machine == machine)
    said = next(x for x in missed.rejections if x.limit is Limit.BLUEPRINT)
    assert "models must be compiled for them" in explanation(said)
    assert remedy(said) == f"pin: {{instance: {machine}}}"


def test_a_pinned_neuron_instance_has_prior_only_evidence():
    fit = plan(finetune(), pinned("trn1.32xlarge")).fits[0]
    assert fit.candidate.label == "1 x trn1.32xlarge us-east-1 on-demand"
    assert fit.evidence == "prior only"
    assert fit.duration_s.p90 > 1.9 * fit.duration_s.p50
    assert any("Neuron SDK" in words for words in fit_warnings(fit))
    assert fit.usd_per_hour == 21.5


def test_a_capacity_block_names_a_neuron_instance():
    times = "start: 2026-11-20T11:30:00Z, end: 2026-11-27T11:30:00Z"
    entry = f"{{capacity_block: {{id: cr-0123456789abcdef0, instance: trn2.48xlarge, count: 2, zone: us-east-2a, {times}}}}}"
    place = AWS.replace("us-east-1", "us-east-2").replace("on-demand", entry)
    assert labels(plan(finetune(), place)) == ["2 x trn2.48xlarge us-east-2 capacity-block cr-0123456789abcdef0"]


def test_several_machines_work_on_one_job_over_efa():
    assert "4 x trn1.32xlarge us-east-1 on-demand" in labels(plan(finetune(adapter="none"), pinned("trn1.32xlarge")))


def test_inferentia_serves_and_does_not_train():
    served = plan(serve(rate=1), pinned("inf2.xlarge"))
    assert labels(served) == ["1 x inf2.xlarge us-east-1 on-demand"]
    assert served.fits[0].candidate.precision == "bf16"
    missed = rejection(plan(finetune(), pinned("inf2.xlarge")), "1 x inf2.xlarge us-east-1 on-demand", Limit.BLUEPRINT)
    assert explanation(missed) == "no documented trainer runs on AWS Inferentia2"


def test_unsupported_neuron_methods_have_a_reason():
    qlora = rejection(plan(finetune(adapter="qlora"), pinned("trn1.32xlarge")), "1 x trn1.32xlarge us-east-1 on-demand", Limit.DATA)
    assert explanation(qlora) == "no documented trainer of qlora runs on AWS Trainium1"
    drawn = plan(serve("flux.1-dev", rate=1), pinned("inf2.24xlarge")).rejected
    said = [explanation(x) for r in drawn if r.candidate.machine == "inf2.24xlarge" for x in r.rejections]
    assert "no documented engine serves this model on AWS Inferentia2" in said


def test_neuron_remedies_name_only_supported_adapters():
    small = rejection(plan(finetune(), pinned("trn1.2xlarge")), "1 x trn1.2xlarge us-east-1 on-demand", Limit.DEVICE_MEMORY)
    assert small.distance < 1.1
    assert "qlora" not in remedy(small)


def test_inferentia1_is_refused_for_its_engine():
    said = rejection(plan(serve(), pinned("inf1.6xlarge")), "1 x inf1.6xlarge us-east-1 on-demand", Limit.BLUEPRINT)
    assert explanation(said) == "no documented engine serves this model on AWS Inferentia1"


def test_fp8_of_a_checkpoint_is_not_supported():
    """cFP8 and MXFP8 need a conversion: fp8 weights are rejected instead of sized at a peak that they do not reach."""
    missed = plan(serve(rate=1, more="quantization: fp8"), pinned("inf2.48xlarge")).rejected
    assert any(x.limit is Limit.PRECISION for r in missed for x in r.rejections)


def test_a_replica_is_one_device_or_a_whole_machine():
    """A pod cannot get other numbers of devices: eight of sixteen would be enough for this model."""
    large = plan(serve("llama-3.1-70b", rate=1), pinned("trn1.32xlarge")).fits[0].candidate
    assert (large.parallelism.accelerators, large.replicas, large.nodes) == (16, 1, 1)
    small = plan(serve(rate=1), pinned("inf2.48xlarge")).fits[0].candidate
    assert small.parallelism.accelerators == 1
