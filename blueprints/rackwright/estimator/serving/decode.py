"""Fitted models of online latency per replica: TPOT and TTFT. Formulas: iteration.py and first_token.py."""

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel
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


def _tpot_ms(case: ServingCase, k: DecodeCoefficients) -> np.ndarray:
    return decode_seconds(case, k) * 1e3


def _ttft_ms(case: ServingCase, k: TtftCoefficients) -> np.ndarray:
    """Return TTFT in ms. Iterations and prompts use prior coefficients, so that both models can be fitted independently."""
    return first_token_seconds(case, DecodeCoefficients(), k) * 1e3


def residual_classes(case: ServingCase) -> tuple[str, ...]:
    return ("moe" if case.network.experts else "dense", "all")


MODELS: tuple[FittedModel, ...] = (
    FittedModel(
        "decode",
        "tpot_ms",
        ("inference_throughput",),
        DecodeCoefficients,
        _tpot_ms,
        residual_classes,
        lambda case: True,
        prior_spread_scale=0.5,
    ),
    FittedModel(
        "ttft",
        "ttft_ms",
        ("inference_throughput",),
        TtftCoefficients,
        _ttft_ms,
        residual_classes,
        lambda case: True,
        loss_scale=0.3,
        prior_spread_scale=0.5,
    ),
)
