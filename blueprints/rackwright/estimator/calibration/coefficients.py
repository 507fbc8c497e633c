"""Fitted models, coefficients and residuals. Does not depend on the catalog or the spec.

A model declares its coefficients as a frozen dataclass of `fitted` fields, each with physical bounds and a prior. data/coefficients.json,
written by `benchmarks/fit.py`, has their values and, per model and class, the quantiles of out-of-fold residuals, which give intervals.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.case import CARDS, OTHER_VENDORS
from rackwright.estimator.result import PredictionInterval

FILE = Path(__file__).parents[1] / "data" / "coefficients.json"
MAX_COEFFICIENTS = 165
"""Maximum number of coefficients over all models: about 29 readings of published runs each. 13 of them act on one vendor or engine
class each (serving/platforms.py), 55 are those of whole samples (sample_rate.py)."""
PRIOR_ONLY_FACTOR = 2.0
"""Least p90 / p50 and p50 / p10 of a prediction without measured runs."""

K = TypeVar("K")


def fitted_fields(kind: Any) -> list[Any]:
    """Return the fields of a dataclass that are coefficients of its own model."""
    return [f for f in fields(kind) if "low" in f.metadata]


def fitted(prior: float, low: float, high: float, description: str, unit: str = "", spread: float = 0.5) -> Any:
    """Declare a coefficient.

    prior: start of the fit, towards which it is shrunk; low, high: physical bounds; spread: standard deviation of the prior over the
    prior, absolute when the prior is 0.
    """
    return field(default=prior, metadata={"low": low, "high": high, "description": description, "unit": unit, "spread": spread})


@dataclass(frozen=True)
class ResidualQuantiles:
    """Quantiles of measured / predicted over runs outside the fit. n: number of runs; 0: prior only."""

    n: int
    p10: float
    p50: float
    p90: float

    def interval(self, value: float) -> PredictionInterval:
        """Return the interval of a prediction. p50 is the prediction, also where the median residual is not 1.

        Prior-only intervals span at least PRIOR_ONLY_FACTOR either way.
        """
        low, high = min(self.p10, 1.0), max(self.p90, 1.0)
        if not self.n:
            low, high = min(low, 1 / PRIOR_ONLY_FACTOR), max(high, PRIOR_ONLY_FACTOR)
        return PredictionInterval(value * low, value, value * high, self.n)

    def widened(self, low: float, high: float) -> "ResidualQuantiles":
        """Return the quantiles with an independent error whose p10 and p90 are `low` and `high`: logarithms add as squares."""
        if low == high == 1.0:
            return self
        wider_low, wider_high = (math.hypot(math.log(q), math.log(e)) for q, e in ((min(self.p10, 1.0), low), (max(self.p90, 1.0), high)))
        return replace(self, p10=math.exp(-wider_low), p90=math.exp(wider_high))


@dataclass(frozen=True)
class FittedModel:
    """One measurable quantity and its prediction.

    metric: column of the accuracy benchmark; csv: files with measured runs; kind: dataclass of the coefficients; predict: case of arrays
    and coefficients -> array in the metric's unit; classes: one case -> its residual classes, specific first, ending with "all"; applies:
    whether the model covers a case.
    """

    name: str
    metric: str
    csv: tuple[str, ...]
    kind: Any
    predict: Callable[[Any, Any], np.ndarray]
    classes: Callable[[Any], tuple[str, ...]]
    applies: Callable[[Any], bool]
    loss_scale: float = 0.1
    """Log residual beyond which the loss is linear, not squared."""
    prior_spread_scale: float = 1.0
    """Factor on the prior spreads. Below 1 when tighter priors reduce the error for unseen families, engines or later years without
    increasing the error of grouped folds."""


def architecture_classes(case: Any) -> tuple[str, ...]:
    """Return the residual classes of a case: mixtures of experts have larger errors than dense models."""
    return ("moe" if case.network.experts else "dense", "all")


PRIOR_ONLY = ResidualQuantiles(0, 1 / PRIOR_ONLY_FACTOR, 1.0, PRIOR_ONLY_FACTOR)


def platform_class(evidence_group: str) -> str:
    """Return the residual class of the model "platform": other vendors, and NVIDIA GPUs with and without a scale-up link."""
    is_other = evidence_group.startswith(OTHER_VENDORS)
    return "other vendor" if is_other else "card" if evidence_group.endswith(CARDS) else LARGE_GPU


LARGE_GPU = "large GPU"
"""Class whose runs on other platforms say little of current engines on a server, so that its intervals are not taken from them."""


PLATFORM_MODELS = ("decode", "offline")
"""Models whose formulas have the coefficients of the model "platform", fitted to rates of other accelerators and engines."""


@dataclass(frozen=True)
class Calibration:
    """Contents of data/coefficients.json. models: model -> coefficient -> value; residuals: model -> class -> residuals; sources: CSV ->
    sha256; evidence_groups: model -> accelerator groups of its runs (Chip.evidence_group), key "kin" of the file."""

    version: str
    models: dict[str, dict[str, float]]
    residuals: dict[str, dict[str, ResidualQuantiles]]
    sources: dict[str, str]
    evidence_groups: dict[str, tuple[str, ...]]
    factors: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Corrections from the user's measured runs: `factor_key` -> (factor on predictions, number of runs)."""

    def of(self, model: str, kind: type[K]) -> K:
        """Return the coefficients of a model; missing ones are priors. Metadata "model" and "kind" of a field name another model."""
        known = {f.name for f in fitted_fields(kind)}
        others = {f.name: self.of(f.metadata["model"], f.metadata["kind"]) for f in fields(cast(Any, kind)) if "model" in f.metadata}
        return kind(**{name: value for name, value in self.models.get(model, {}).items() if name in known}, **others)

    def residual(self, model: str, classes: tuple[str, ...], evidence_group: str = "") -> ResidualQuantiles:
        """Return the residuals of the first class with measured runs. Without a run on this accelerator group: those of the model of other
        platforms when it has one, else PRIOR_ONLY."""
        rows = self.residuals.get(model, {})
        if evidence_group and evidence_group not in self.evidence_groups.get(model, ()):
            is_time, other = model == "decode", platform_class(evidence_group)
            if model in PLATFORM_MODELS and other != LARGE_GPU and evidence_group in self.evidence_groups.get("platform", ()):
                found = self.residuals["platform"][other]
                return replace(found, p10=1 / found.p90, p50=1 / found.p50, p90=1 / found.p10) if is_time else found
            return PRIOR_ONLY
        return next((rows[name] for name in classes if name in rows), PRIOR_ONLY)

    def factor(self, model: str, classes: tuple[str, ...], evidence_group: str) -> float:
        """Return the user's correction factor; 1 without measured runs."""
        return self.factors.get(factor_key(model, classes, evidence_group), (1.0, 0))[0]


def factor_key(model: str, classes: tuple[str, ...], evidence_group: str) -> str:
    """Return the key of a correction factor: model | class | accelerator group."""
    return f"{model} | {classes[0]} | {evidence_group}"


@cache
def calibration() -> Calibration:
    """Return the shipped coefficients."""
    return parse(FILE.read_text(encoding="utf-8")) if FILE.exists() else Calibration("none", {}, {}, {}, {})


def corrected(base: str, factors: dict[str, tuple[float, int]]) -> Calibration:
    """Return the shipped coefficients with correction factors. Raises UserError when `base`, their version, is not the shipped one."""
    shipped = calibration()
    if base != shipped.version:
        reason = f"the calibration was made with coefficients {base}, but this release has {shipped.version}"
        fix = "run `rackwright calibrate RUNS.csv -o FILE.json` again"
        raise UserError([Problem("E-calibration", reason, At() / "base", fix)])
    return replace(shipped, factors=factors)


def parse(text: str) -> Calibration:
    """Parse the text of a coefficients.json."""
    raw = json.loads(text)
    models = {name: {k: c["value"] for k, c in model["coefficients"].items()} for name, model in raw["models"].items()}
    residuals = {name: {k: ResidualQuantiles(**r) for k, r in model["residuals"].items()} for name, model in raw["models"].items()}
    evidence_groups = {name: tuple(model.get("kin", ())) for name, model in raw["models"].items()}
    return Calibration(raw["version"], models, residuals, raw["sources"], evidence_groups)


def bounds(kind: type) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays prior, low, high and spread over the coefficients, in field order."""
    marks = [(f.default, *(f.metadata[name] for name in ("low", "high", "spread"))) for f in fitted_fields(kind)]
    prior, low, high, share = np.array(marks, dtype=float).T
    return prior, low, high, share * np.where(prior == 0, 1.0, np.abs(prior))
