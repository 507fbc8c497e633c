"""Shards of FP8 checkpoints with a scale per block of 128 x 128 weights."""

from dataclasses import replace

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.estimate import estimate
from rackwright.estimator.model.block_scales import uneven_shard
from rackwright.estimator.model.from_architecture import architecture_of, model_dimensions

DEEPSEEK = {"kind": "serving", "model": "deepseek-v3", "weight_numbers": "fp8", "input_tokens": 1000, "output_tokens": 200,
            "engine": {"name": "vllm"}}  # fmt: skip


def served(tensor: int, **fields):
    hardware = {"accelerator": "H200", "count": 32, "per_node": 8}
    return estimate({**DEEPSEEK, "hardware": hardware, "layout": {"tensor": tensor}, "concurrency": 16.0, **fields})


def test_a_shard_that_splits_a_block_is_refused():
    """18,432 columns over 32 ways are 576 each, 4.5 blocks: vLLM and SGLang end with an error."""
    with pytest.raises(UserError) as caught:
        served(32)
    (problem,) = caught.value.problems
    assert (problem.code, str(problem.at)) == ("E-split", "layout.tensor")
    assert "tensor 32 splits 18,432 columns into 576" in problem.reason
    assert problem.fix == "one of 1, 2, 4, 8, 16"


def test_whole_blocks_and_other_formats_are_accepted():
    assert served(16).output_tokens_per_s
    assert served(32, weight_numbers="bf16").output_tokens_per_s


@pytest.mark.parametrize(("tensor", "expert", "shard"), [(2, 1, 0.0), (8, 1, 96.0), (8, 8, 0.0)])
def test_experts_that_are_spread_are_not_split(tensor, expert, shard):
    n = replace(model_dimensions(architecture_of("qwen3-30b-a3b")), ffn=6144)
    assert uneven_shard(n, tensor, expert)[1] == shard
