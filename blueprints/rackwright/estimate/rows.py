"""Measured rows as configurations: the seven CSV files, one row a published run. Joins the files to config.py and resolve.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rackwright.estimate.models import Model

DATA = Path(__file__).parent / "data" / "measured"


@dataclass(frozen=True)
class Run:
    """One measured value of one row. case: what the formulas see; cell: publisher x framework x hardware; group: never split between
    folds; accelerator, family: left out whole in the stricter folds."""

    csv: str
    row_id: str
    metric: str
    measured: float
    case: Any
    cell: str
    group: str
    accelerator: str
    family: str


def runs(model: Model, folder: Path = DATA) -> Sequence[Run]:
    """Scored rows of `model.metric` that it applies to and that can be described as a case."""
    raise NotImplementedError
