"""Lower bound of the step time of a layout on a machine: kernels, tensor-parallel traffic and the pipeline bubble.

Work that depends on the layout is computed once per layout, by the estimator's kernels on two hypothetical machines, and divided by the
rates of each machine. Gradients, experts' traffic and updates are left out. Arrays in, arrays out.
"""

from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.case import Chip, Links, TrainingCase
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.training import communication, kernels
from rackwright.estimator.training.step import StepCoefficients
from rackwright.estimator.training.sustained_rates import sustained_rates

COMPUTE_ONLY = Chip("any", np.inf, np.inf, 1.0, 1.0)
"""1 FLOP/s with infinite bandwidth: seconds equal FLOPs of products and attention; launches are negligible."""
MEMORY_ONLY = Chip("any", np.inf, 1.0, 1e30, 1e30)
"""1 byte/s with infinite FLOP/s: seconds equal bytes."""
SLACK = 1 - 1e-5
"""Margin for the terms that are negligible, not zero."""


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Of layouts, in rows; of recompute, in the first axis of three. flops: products, bytes: of memory, sent: over the scale-up link,
    attention: FLOPs; of one micro-batch over all stages. *_rate: of targets, per second."""

    case: TrainingCase
    flops: np.ndarray
    attention: np.ndarray
    bytes: np.ndarray
    sent: np.ndarray
    head_flops: np.ndarray
    head_bytes: np.ndarray
    narrow_rate: np.ndarray
    matrix_rate: np.ndarray
    attention_rate: np.ndarray
    memory_rate: np.ndarray
    link_rate: np.ndarray
    launches_s: float

    def seconds(self, target: np.ndarray, row: np.ndarray, recompute: np.ndarray) -> np.ndarray:
        """Seconds of one step per trial."""
        w = self.case
        p, m, v = (np.asarray(x, dtype=float)[row] for x in (w.pipeline, w.micro_batches, w.virtual))
        layers = self.flops[recompute, row] / self.narrow_rate[target] + self.attention[recompute, row] / self.attention_rate[target]
        layers += self.bytes[recompute, row] / self.memory_rate[target] + self.sent[recompute, row] / self.link_rate[target]
        layers += self.launches_s
        head = self.head_flops[row] / self.matrix_rate[target] + self.head_bytes[row] / self.memory_rate[target]
        count = max(w.network.layers, 1)
        each = np.ceil(count / p)
        last = np.maximum(count - (p - 1) * each, 0)
        slowest = np.where(p > 1, np.maximum(layers * (each / count), layers * (last / count) + head), layers + head)
        return SLACK * (m * slowest + (layers + head - slowest) / v)


def lower_bound(case: TrainingCase, chip: Chip, wires: Links, c: Calibration) -> LowerBound:
    """case: layouts, on no chip; chip, wires: of the targets."""
    n, k, shape = case.network, c.of("step", StepCoefficients), np.shape(case.tensor)
    computing, moving = (replace(case, chip=one) for one in (COMPUTE_ONLY, MEMORY_ONLY))
    slow, thin, r = sustained_rates(computing, k), sustained_rates(moving, k), sustained_rates(replace(case, chip=chip), k)
    full = np.array([0.0, 0.0, 1.0])[:, None]
    work = [[kernels.micro_batch_time(replace(some, recompute=float(code)), k) for code in range(3)] for some in (computing, moving)]
    computed, moved = (np.array([np.broadcast_to(w.layers + w.recompute, shape) for w in some]) for some in work)
    tokens = case.tokens / case.context
    attention = tokens / case.tensor * attention_flops(n, case.sequence) * (1 + full / 3)
    sent = k.tensor_exposed * communication.tensor_bytes(case.tensor, tokens, n.hidden, 2 + full) * n.layers / communication.LINK_EFFICIENCY
    return LowerBound(
        case=case, flops=(computed - attention / slow.attention) * slow.narrow, attention=attention, bytes=moved * thin.memory, sent=sent,
        head_flops=np.broadcast_to(work[0][0].head * slow.matrix, shape), head_bytes=np.broadcast_to(work[1][0].head * thin.memory, shape),
        narrow_rate=r.narrow, matrix_rate=r.matrix, attention_rate=r.attention, memory_rate=r.memory,
        link_rate=np.maximum(wires.scale_up_bytes_per_s, wires.scale_out_bytes_per_s),
        launches_s=n.layers * k.layer_s + n.moe_layers * k.expert_layer_s,
    )  # fmt: skip
