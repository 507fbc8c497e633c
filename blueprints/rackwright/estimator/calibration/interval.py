"""Intervals: a prediction and the quantiles of measured / predicted of runs the fit had not seen. Numbers in, numbers out."""

from rackwright.estimator.calibration.coefficients import PRIOR_ONLY_FACTOR, Residuals
from rackwright.estimator.result import Band


def band(value: float, seen: Residuals) -> Band:
    """p50 is the prediction; p10 <= p50 <= p90 whatever the quantiles. Without runs the factor is at least PRIOR_ONLY_FACTOR."""
    low, high = min(seen.p10, 1.0), max(seen.p90, 1.0)
    if not seen.n:
        low, high = min(low, 1 / PRIOR_ONLY_FACTOR), max(high, PRIOR_ONLY_FACTOR)
    return Band(value * low, value, value * high, seen.n)


def inverse(b: Band, amount: float) -> Band:
    """amount / b: a time from a rate, a rate from a time."""
    return Band(amount / b.p90, amount / b.p50, amount / b.p10, b.n)


def scaled(b: Band, factor: float) -> Band:
    return Band(b.p10 * factor, b.p50 * factor, b.p90 * factor, b.n)


def plus(b: Band, constant: Band) -> Band:
    """Sum; their errors are taken to go together, which is the wider of the two readings."""
    return Band(b.p10 + constant.p10, b.p50 + constant.p50, b.p90 + constant.p90, min(b.n, constant.n))
