"""The fitted models of the estimator, one per kind of measurement: what `benchmarks/fit.py` fits and the accuracy bench scores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


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
    leeway: float = 1.0
    """Of the spreads of its coefficients, what the fit may use. Below 1 where runs that no fold has seen the like of (a family, an engine,
    later years left out) are missed by less, and grouped folds by no more, when the priors are held to."""
