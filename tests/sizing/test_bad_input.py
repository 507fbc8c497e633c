"""Invalid and unsizable specs are refused with path and reason before the search; without a fitting machine, each rejection has its
reason."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.rejection import Limit
from rackwright.spec import read
from rackwright.wording.plan_text import with_text
from rackwright.wording.rejections import explanation

from tests.sizing.helpers import AWS, finetune, plan, serve

MADE_UP = "{layers: 32, hidden: 4096, heads: 32, ffn: 11008, vocab: 32000}"


def text(workload: str, place: str = AWS) -> str:
    return f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ninfra: {{any_of: [{place}]}}\n"


def made_up(fields: str) -> str:
    return finetune().replace("base: llama-3.1-8b", f"architecture: {fields}")


@pytest.mark.parametrize(
    ("workload", "path", "reason"),
    [
        (finetune(more="parallelism: {tensor: 3}"), "parallelism.tensor", "32 attention heads"),
        (finetune(more="parallelism: {pipeline: 33}"), "parallelism.pipeline", "exceeds the 32 layers"),
        (finetune(more="parallelism: {expert: 2}"), "parallelism.expert", "no experts"),
        (finetune().replace("global_batch_size: 64", "global_batch_size: 0"), "global_batch_size", "0"),
        (finetune(more="parallelism: {micro_batch: 0}"), "parallelism.micro_batch", "0"),
        (finetune(more="parallelism: {micro_batch: 48}"), "parallelism.micro_batch", "64"),
        (finetune(adapter="none", more="precision: int8"), "precision", "bf16"),
        (finetune(adapter="lora", more="precision: fp4"), "precision", "bf16"),
        (serve(more="max_context: 200000"), "max_context", "131,072"),
        (serve(rate=float("nan")), "requests_per_second", "nan"),
        (made_up(MADE_UP.replace("32000", "1.0e+30")), "model.architecture.vocab", "whole number"),
        (made_up(MADE_UP.replace("heads: 32", "heads: .nan")), "model.architecture.heads", "whole number"),
        (made_up("{kind: other, parameter_count: 1.0e+30}"), "model.architecture.parameter_count", "whole number"),
    ],
)
def test_invalid_values_are_refused_at_their_path(workload, path, reason):
    with pytest.raises(UserError) as fault:
        read(text(workload))
    found = [(str(p.at), f"{p}") for p in fault.value.problems]
    assert any(at.endswith(path) and reason in said for at, said in found), found


def test_a_sequence_longer_than_the_model_supports_gives_a_warning():
    long = finetune().replace("sequence_length: 4096", "sequence_length: 262144")
    assert any("131,072 positions that the model supports" in w for w in with_text(plan(long, AWS)).warnings)


def test_four_bits_on_an_a100_are_refused_with_their_reason():
    place = AWS.replace("regions", "pin: {instance: p4d.24xlarge}, regions")
    p = plan(serve(more="precision: fp4"), place)
    assert not p.fits
    said = [r for x in p.rejected if x.candidate.machine == "p4d.24xlarge" for r in x.rejections if r.limit is Limit.PRECISION]
    assert said
    assert all(explanation(r) == "NVIDIA A100 40GB SXM4 does not compute in fp4; its nearest format is int8" for r in said)


def test_pinned_parallelism_without_a_valid_count_is_rejected_with_its_reason():
    p = plan(finetune(adapter="none", more="parallelism: {tensor: 16}"), AWS)
    assert not p.fits
    words = {explanation(r) for x in p.rejected for r in x.rejections if r.limit is Limit.GEOMETRY}
    assert any(w.startswith("tensor parallelism 16 must divide 32 heads and stay within") for w in words)
