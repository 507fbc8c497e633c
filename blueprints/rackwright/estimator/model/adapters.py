"""Activations that adapters keep of a forward pass. Does not depend on the catalog or the spec."""

from collections.abc import Sequence

from rackwright.estimator.model.layer_parameters import Block, target_matrices

SAME_INPUT = {"k": "q", "v": "q", "kv_a": "q_a", "up": "gate"}
"""Matrix -> matrix that has the same input vector."""


def adapter_inputs(layers: Sequence[Block], targets: str, scales: bool = False) -> float:
    """Return the values per token and layer, mean over the layers, that adapters at `targets` keep for their gradients.

    LoRA keeps each distinct input of the target matrices, for the gradient of its first factor. scales: True for methods that scale the
    output of a matrix (IA3, adapter v2) and keep that output.
    """
    names = target_matrices(targets)
    values = 0.0
    for matrices, share in (g for b in layers for g in ((b.attention, 1.0), (b.ffn, 1.0), (b.routed, b.active_share))):
        targeted = [m for m in matrices if names is None or m.name in names]
        inputs = {SAME_INPUT.get(m.name, m.name): m.d_in * m.copies for m in targeted}
        values += share * sum(m.d_out * m.copies for m in targeted) if scales else share * sum(inputs.values())
    return values / max(len(layers), 1)
