"""Wall-clock time of a whole training run: steps x step time / goodput + evaluations + start-up.

`run_seconds` accepts any step time. `step_seconds` is a compact step model without a layout, for runs that publish only hardware, count,
batch and tokens (audited submissions, model cards); valid from 4 to 8,192 accelerators. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Chip, Num, TrainingCase
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.result import PredictionInterval

ELEMENT_BYTES = 2.0
"""Bytes per activation or weight sent: bf16."""
GRADIENT_BYTES = 4.0
"""Bytes per trained parameter and step with ZeRO-1: bf16 gradient reduced, bf16 weight gathered."""
ATTENTION_EFFICIENCY = 0.5
"""Attention FLOP/s over the bf16 peak, forward and backward: FlashAttention-3 prints 0.55 to 0.75 forward (arXiv 2407.08608)."""
TENSOR_EXPOSED_SHARE = 0.5
"""Exposed share of tensor-parallel traffic: 0 to 50 % overlaps with compute."""
LATEST_YEAR = 2025.9
"""Year of the newest measured software; later software is assumed to be as fast."""
BASE_YEAR = 2025.0
FAILURE_HOURS = 51_000.0
"""Accelerator-hours between unexpected interruptions: 419 in 54 days of 16,384 H100 (arXiv 2407.21783, table 5)."""
RESTART_S = 600.0
"""Seconds to detect a failure, reschedule and read the checkpoint. Assumption of rackwright, 2026-11; the same report has over 90 %
effective training time."""
CHECKPOINT_PAUSE_S = 10.0
"""Seconds that a step waits for an asynchronous sharded checkpoint. Assumption of rackwright, 2026-11."""
STARTUP_S = 300.0
"""Seconds for image, imports, communicators, weights and first compilation. Assumption of rackwright, 2026-11; benchmarks exclude it."""
EVALUATION_SHARE, EVALUATION_SEQUENCES = 1 / 8, 5760.0
"""Sequences per evaluation: 5,760 per 46,080 trained (MLPerf Training, Llama 3.1 405B), fewer when evaluations are more frequent."""


@dataclass(frozen=True)
class RunCase:
    """A training run. tokens: total trained; evaluations: number, each over evaluation_sequences; year: of the software, with its fraction;
    audited: 1 when the clock excludes start-up and interrupted runs, as in MLPerf."""

    step: TrainingCase
    tokens: Num
    evaluations: Num = 0.0
    evaluation_sequences: Num = 0.0
    year: Num = LATEST_YEAR
    audited: Num = 0.0

    @property
    def chip(self) -> Chip:
        return self.step.chip


@dataclass(frozen=True)
class RunCoefficients:
    matmul_efficiency: float = fitted(0.65, 0.3, 1.2, "of the measured matrix peak, what products in a whole model reach", spread=0.3)
    activation_passes: float = fitted(100.0, 0.0, 400.0, "reads and writes of a hidden vector per layer and token", spread=0.6)
    step_fixed_s: float = fitted(0.04, 0.0, 0.5, "of a step, whatever its size: launches, optimizer, synchronisation", "s", spread=0.8)
    narrow_share: float = fitted(0.9, 0.5, 1.0, "of matrix FLOPs that run in the narrow format; the rest runs in bf16", spread=0.1)
    narrow_gain_per_year: float = fitted(0.08, 0.0, 0.4, "by which software of fp8 and fp4 gets faster each year", "1/year", spread=1.0)


def step_seconds(run: RunCase, k: RunCoefficients) -> Num:
    """Return the seconds of one optimizer step."""
    case = run.step
    is_narrow = np.greater(case.chip.peak_flops, case.chip.base_peak_flops)  # kernels of 16 bit are assumed mature
    software = np.where(is_narrow, np.exp(-k.narrow_gain_per_year * (np.minimum(run.year, LATEST_YEAR) - BASE_YEAR)), 1.0)
    bubble = (case.pipeline - 1) / case.virtual
    return _micro_batch_seconds(case, software, k) * (case.micro_batches + bubble) + _gradient_seconds(case) + k.step_fixed_s


def run_seconds(run: RunCase, step_s: Num) -> Num:
    """Return the wall-clock seconds of a run whose optimizer step takes step_s seconds."""
    steps = run.tokens / run.step.step_tokens
    trained = steps * step_s / goodput(run.step.accelerators, run.audited)
    return trained + evaluation_seconds(run, step_s) + STARTUP_S * (1 - run.audited)


def evaluation_seconds(run: RunCase, step_s: Num) -> Num:
    """Return the seconds of all evaluations: forward passes in whole batches of one micro-batch per replica."""
    case = run.step
    batches = np.ceil(run.evaluation_sequences / (case.replicas * case.micro_batch))
    return run.evaluations * batches * step_s / case.micro_batches * 2 / case.passes


def goodput(accelerators: Num, audited: Num = 0.0) -> Num:
    """Return the share of wall-clock time spent on training, with the optimal checkpoint interval (Young 1974: sqrt(2 pause x time to
    failure))."""
    failure_s = FAILURE_HOURS * 3600 / accelerators
    lost = np.sqrt(2 * CHECKPOINT_PAUSE_S / failure_s) + RESTART_S / failure_s
    return 1 / (1 + lost * (1 - audited))


def time_to_train_min(run: RunCase, k: RunCoefficients) -> Num:
    return run_seconds(run, step_seconds(run, k)) / 60


def run_time_fields(case: TrainingCase, tokens: float, step_s: PredictionInterval, evaluations: int | None = None) -> dict[str, Any]:
    """Return the fields of result.Estimate for a run of `tokens`. step_s: interval of the step time; evaluations: None means 0."""
    times = evaluations or 0
    between = tokens / case.sequence / max(times, 1)
    run = RunCase(case, tokens, float(times), min(EVALUATION_SHARE * between, EVALUATION_SEQUENCES))
    low, mid, high = (float(run_seconds(run, s)) for s in (step_s.p10, step_s.p50, step_s.p90))
    return {
        "time_to_train_s": PredictionInterval(low, mid, high, step_s.n),
        "startup_s": STARTUP_S,
        "evaluation_s": float(evaluation_seconds(run, step_s.p50)),
    }


def _micro_batch_seconds(case: TrainingCase, software: Num, k: RunCoefficients) -> Num:
    """Return the seconds of forward and backward pass of one micro-batch on one stage.

    software: slowdown of older software in narrow formats. Tensor parallelism gathers and scatters hidden vectors four times per layer.
    """
    n, chip = case.network, case.chip
    split = case.tensor * case.pipeline * case.context
    again = 1 + case.full_recompute_share * 2 / case.passes
    sustained = k.matmul_efficiency * chip.sustained_share
    per_flop = (k.narrow_share / chip.peak_flops + (1 - k.narrow_share) / chip.base_peak_flops) / sustained
    products = case.passes * n.matmul * per_flop * software
    attention = attention_flops(n, case.sequence) / (ATTENTION_EFFICIENCY * chip.base_peak_flops)
    activations = k.activation_passes * ELEMENT_BYTES * n.hidden * n.layers / chip.bandwidth_bytes_per_s
    sent = 8 * ((case.tensor - 1) / case.tensor) * case.local_tokens * n.hidden * ELEMENT_BYTES * n.layers / case.pipeline
    exposed = TENSOR_EXPOSED_SHARE * sent / case.links.scale_up_bytes_per_s
    return case.tokens / split * again * (products + attention + activations) + exposed


def _gradient_seconds(case: TrainingCase) -> Num:
    """Return the seconds of the gradient reduction: within the scale-up domain, then over the network."""
    model = case.tensor * case.pipeline
    inside = np.maximum(case.links.domain / model, 1.0)
    outward = np.where(case.accelerators > case.links.domain, 1 / case.links.scale_out_bytes_per_s / inside, 0.0)
    volume = GRADIENT_BYTES * case.trainable / model * (case.replicas > 1)
    return volume * (1 / case.links.scale_up_bytes_per_s + outward)


def residual_classes(run: RunCase) -> tuple[str, ...]:
    """Return the residual classes. Audited runs are no evidence for model cards and blogs, which are prior only."""
    return ("adapters" if run.step.adapter else "pretraining", "all") if run.audited else ("published",)


MODELS = (
    FittedModel(
        "finish", metric="time_to_train_min", csv=("time_to_train",), kind=RunCoefficients,
        predict=time_to_train_min, classes=residual_classes, applies=lambda case: isinstance(case, RunCase), prior_spread_scale=0.5,
    ),
)  # fmt: skip
