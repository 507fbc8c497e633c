"""Shards of FP8 checkpoints with one scale per block of 128 x 128 weights (DeepSeek-V3, arXiv 2412.19437, section 3.3)."""

from rackwright.estimator.model.dimensions import ModelDimensions

BLOCK = 128
"""Rows and columns of a block: `weight_block_size` of the checkpoints. vLLM and SGLang refuse shards of other widths
(vllm/model_executor/layers/quantization/fp8.py, validate_fp8_block_shape)."""


def uneven_shard(n: ModelDimensions, tensor: int, expert: int = 1) -> tuple[float, float]:
    """Return the width of a feed-forward network, and of its shard that is not a multiple of BLOCK; zeros where all shards are.

    expert: ways that experts are spread over, which leaves max(tensor / expert, 1) ways to split each of them.
    """
    dense = n.ffn if n.layers > n.moe_layers else 0
    for width, ways in ((dense, tensor), (n.shared_ffn, tensor), (n.expert_ffn, max(tensor // expert, 1))):
        if width and width % BLOCK == 0 and (width / ways) % BLOCK:
            return float(width), width / ways
    return 0.0, 0.0
