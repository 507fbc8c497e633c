"""Fitted model of the output rate on other platforms: small cards, other vendors, engines without captured graphs (platforms.py)."""

from dataclasses import replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, calibration, platform_class
from rackwright.estimator.case import Num
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.iteration import DecodeCoefficients, prefill_seconds, share_before_first_token, token_seconds
from rackwright.estimator.serving.platforms import PlatformCoefficients
from rackwright.estimator.serving.throughput import OfflineCoefficients, max_running_requests, offline_tokens_per_s_per_accelerator


def served_tokens_per_s_per_accelerator(case: ServingCase, latency: DecodeCoefficients, offline: OfflineCoefficients) -> Num:
    """Return the output tokens per second of one accelerator under any load: offline, or a fixed number of requests in flight.

    Replicas with less than one request in flight on average are idle for the rest of the time.
    """
    batch = max_running_requests(case)
    before = 1 + share_before_first_token(case, batch) * (batch - 1)
    cycle = case.output * token_seconds(case, latency, batch) + before * prefill_seconds(case, latency)
    closed = np.minimum(case.concurrency, 1.0) * batch * case.output / cycle / case.accelerators
    return np.where(np.isinf(case.concurrency), offline_tokens_per_s_per_accelerator(case, offline), closed)


def _shipped_rate(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the rate with the shipped iteration model, which the coefficients of the platform correct."""
    shipped = calibration()
    latency, offline = shipped.of("decode", DecodeCoefficients), shipped.of("offline", OfflineCoefficients)
    return served_tokens_per_s_per_accelerator(case, replace(latency, platform=k), replace(offline, platform=k))


MODELS: tuple[FittedModel, ...] = (
    FittedModel(
        "platform", metric="output_tok_s_per_accel", csv=("inference_more",), kind=PlatformCoefficients, predict=_shipped_rate,
        classes=lambda case: (platform_class(str(case.chip.evidence_group)), "all"), applies=lambda case: True, loss_scale=0.2,
    ),
)  # fmt: skip
