"""What adapters keep of a forward pass. Numbers in, numbers out."""

from collections.abc import Iterator, Sequence

from rackwright.estimator.model.layer_parameters import Block, Matrix

SAME_INPUT = {"k": "q", "v": "q", "kv_a": "q_a", "up": "gate"}
"""Matrices that read the vector another one reads."""
TARGET_GROUPS = {
    "qv": frozenset({"q", "v", "q_b", "kv_b"}),
    "attention": frozenset({"q", "k", "v", "o", "q_a", "q_b", "kv_a", "kv_b"}),
}


def target_matrices(targets: str) -> frozenset[str] | None:
    """Names of the matrices that `targets` means: a group, or names with commas between; None: every matrix."""
    if targets in TARGET_GROUPS:
        return TARGET_GROUPS[targets]
    names = frozenset(part.strip().removesuffix("_proj") for part in targets.split(","))
    return None if names & {"all-linear", "all", ""} else names


def adapter_inputs(layers: Sequence[Block], targets: str, scales: bool = False) -> float:
    """Numbers per token and layer, mean over the layers, that adapters at `targets` keep for their gradients: each distinct input of
    those matrices (the gradient of LoRA's first factor), or their outputs where the method only scales these (IA3, adapter v2)."""
    wanted = target_matrices(targets)
    kept = 0.0
    for matrices, share in _groups(layers):
        here = [m for m in matrices if wanted is None or m.name in wanted]
        inputs = {SAME_INPUT.get(m.name, m.name): m.d_in * m.copies for m in here}
        kept += share * sum(m.d_out * m.copies for m in here) if scales else share * sum(inputs.values())
    return kept / max(len(layers), 1)


def _groups(layers: Sequence[Block]) -> Iterator[tuple[Sequence[Matrix], float]]:
    for block in layers:
        yield block.attention, 1.0
        yield block.ffn, 1.0
        yield block.routed, block.active_share
