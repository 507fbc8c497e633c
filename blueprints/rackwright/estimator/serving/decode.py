"""Fitted models of online latency per replica: TPOT and TTFT. Formulas: iteration.py and first_token.py."""

from rackwright.estimator.calibration.coefficients import FittedModel, architecture_classes
from rackwright.estimator.case import Num
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.first_token import TtftCoefficients, first_token_seconds
from rackwright.estimator.serving.iteration import DecodeCoefficients, iteration_seconds, prefill_seconds, running_requests, token_seconds

__all__ = [
    "DecodeCoefficients", "TtftCoefficients", "decode_seconds", "first_token_seconds", "iteration_seconds", "prefill_seconds",
    "running_requests",
]  # fmt: skip


def decode_seconds(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Return the seconds per output token at the case's load."""
    return token_seconds(case, k, running_requests(case, k))


MODELS: tuple[FittedModel, ...] = (
    FittedModel(
        "decode", metric="tpot_ms", csv=("inference_throughput",), kind=DecodeCoefficients,
        predict=lambda case, k: decode_seconds(case, k) * 1e3,
        classes=architecture_classes, applies=lambda case: True, prior_spread_scale=0.5,
    ),
    # iterations and prompts use prior coefficients, so that both models can be fitted independently
    FittedModel(
        "ttft", metric="ttft_ms", csv=("inference_throughput",), kind=TtftCoefficients,
        predict=lambda case, k: first_token_seconds(case, DecodeCoefficients(), k) * 1e3,
        classes=architecture_classes, applies=lambda case: True, loss_scale=0.3, prior_spread_scale=0.5,
    ),
)  # fmt: skip
