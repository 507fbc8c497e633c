"""The fitted numbers: read from data/coefficients.json, which `benchmarks/fit.py` writes and nobody edits. Knows neither catalog nor spec.

A model declares its coefficients as a frozen dataclass of `fitted` fields: bounds that physics sets, and the prior they are shrunk
towards. The file gives each its value, and each model the quantiles of its out-of-fold residuals by class, from which intervals come.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from rackwright.estimator.result import Interval

FILE = Path(__file__).parents[1] / "data" / "coefficients.json"
MAX_COEFFICIENTS = 80
"""Coefficients in all, over every model."""
PRIOR_ONLY_FACTOR = 2.0
"""p90 / p50 and p50 / p10 at least, where no measured run speaks of the case."""

K = TypeVar("K")


def fitted(prior: float, low: float, high: float, says: str, unit: str = "", spread: float = 0.5) -> Any:
    """A coefficient. prior: where the fit starts and is shrunk to; low, high: physical bounds; spread: of the prior, as a share of it
    (absolute where the prior is 0); says: what it is, in words."""
    return field(default=prior, metadata={"low": low, "high": high, "says": says, "unit": unit, "spread": spread})


@dataclass(frozen=True)
class Residuals:
    """Quantiles of measured / predicted of runs that the fit had not seen. n: runs; 0: nothing measured, the factor is a rule."""

    n: int
    p10: float
    p50: float
    p90: float

    def interval(self, value: float) -> Interval:
        """Return the interval of a prediction. p50 is the prediction, whatever the median residual; prior-only intervals span at least
        PRIOR_ONLY_FACTOR either way."""
        low, high = min(self.p10, 1.0), max(self.p90, 1.0)
        if not self.n:
            low, high = min(low, 1 / PRIOR_ONLY_FACTOR), max(high, PRIOR_ONLY_FACTOR)
        return Interval(value * low, value, value * high, self.n)


@dataclass(frozen=True)
class FittedModel:
    """One thing that can be measured and predicted.

    metric: the column of the accuracy bench; kind: dataclass of its coefficients; predict: case of arrays, coefficients -> array in the
    metric's unit; classes: one case -> its residual classes, particular before general, the last one "all"; applies: which cases.
    """

    name: str
    metric: str
    csv: tuple[str, ...]
    kind: Any
    predict: Callable[[Any, Any], np.ndarray]
    classes: Callable[[Any], tuple[str, ...]]
    applies: Callable[[Any], bool]
    loss_scale: float = 0.1
    """Residuals (log) beyond this count linearly, not squared."""
    prior_spread_scale: float = 1.0
    """Of the spreads of its coefficients, what the fit may use. Below 1 where runs that no fold has seen the like of (a family, an engine,
    later years left out) are missed by less, and grouped folds by no more, when the priors are held to."""


PRIOR_ONLY = Residuals(0, 1 / PRIOR_ONLY_FACTOR, 1.0, PRIOR_ONLY_FACTOR)


@dataclass(frozen=True)
class Calibration:
    """The whole file. models: values by model and name; residuals: by model and class; sources: sha256 of each file of rows;
    kin: accelerators of the runs of a model (see case.Chip)."""

    version: str
    models: dict[str, dict[str, float]]
    residuals: dict[str, dict[str, Residuals]]
    sources: dict[str, str]
    kin: dict[str, tuple[str, ...]]
    factors: dict[str, tuple[float, int]] = field(default_factory=dict)
    """The user's own, by `key`: what predictions are multiplied with, and from how many runs."""

    def of(self, model: str, kind: type[K]) -> K:
        """The coefficients of a model; its priors where the file does not speak of it."""
        known = {f.name for f in fields(cast(Any, kind))}
        return kind(**{name: value for name, value in self.models.get(model, {}).items() if name in known})

    def residual(self, model: str, classes: tuple[str, ...], kin: str = "") -> Residuals:
        """Of the first class, particular before general, that runs speak of; PRIOR_ONLY where none is on such accelerators."""
        rows = self.residuals.get(model, {})
        if kin and kin not in self.kin.get(model, ()):
            return PRIOR_ONLY
        return next((rows[name] for name in classes if name in rows), PRIOR_ONLY)

    def factor(self, model: str, classes: tuple[str, ...], kin: str) -> float:
        return self.factors.get(factor_key(model, classes, kin), (1.0, 0))[0]


def factor_key(model: str, classes: tuple[str, ...], kin: str) -> str:
    """The kind of run a factor belongs to."""
    return f"{model} | {classes[0]} | {kin}"


@cache
def calibration() -> Calibration:
    """The shipped file."""
    return parse(FILE.read_text(encoding="utf-8")) if FILE.exists() else Calibration("none", {}, {}, {}, {})


def parse(text: str) -> Calibration:
    raw = json.loads(text)
    models = {name: {k: c["value"] for k, c in model["coefficients"].items()} for name, model in raw["models"].items()}
    residuals = {name: {k: Residuals(**r) for k, r in model["residuals"].items()} for name, model in raw["models"].items()}
    kin = {name: tuple(model.get("kin", ())) for name, model in raw["models"].items()}
    return Calibration(raw["version"], models, residuals, raw["sources"], kin)


def bounds(kind: type) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """prior, low, high and spread of every coefficient, in field order."""
    marks = [(f.default, *(f.metadata[name] for name in ("low", "high", "spread"))) for f in fields(cast(Any, kind))]
    prior, low, high, share = np.array(marks, dtype=float).T
    return prior, low, high, share * np.where(prior == 0, 1.0, np.abs(prior))
