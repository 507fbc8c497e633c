"""Tensor parallelism of FP8 checkpoints with a scale per block of 128 x 128 weights."""

from dataclasses import replace

import pytest
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.search.serving.replicas import block_scaled_shard
from rackwright.wording.rejections import explanation, remedy

from tests.sizing.test_serving_agrees import job


@pytest.mark.parametrize(
    ("native", "precision", "tensor", "shard"),
    [("fp8", "auto", 8, 96.0), ("fp8", "fp8", 4, 192.0), ("fp8", "auto", 2, 0.0), ("bf16", "fp8", 8, 0.0), ("fp8", "bf16", 8, 0.0)],
)
def test_only_published_blocks_limit_the_ways(native, precision, tensor, shard):
    """qwen3-30b-a3b has experts of 768 columns. Weights that the engine quantizes itself have one scale per matrix."""
    assert block_scaled_shard(replace(job("qwen3-30b-a3b"), native=native, precision=precision), tensor)[1] == shard


def test_the_reason_names_the_shard_and_the_pin():
    found = Rejection(Limit.GEOMETRY, reason=Reason.REPLICA_BLOCKS, subject="8", detail="96", amount=768.0)
    assert explanation(found) == "tensor parallelism 8 makes 96 of 768 columns; 128 columns share an FP8 scale"
    assert remedy(found) == "remove parallelism.tensor"
