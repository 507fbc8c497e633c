"""Search for the measured runs of whole samples most similar to a configuration, among the shipped rows."""

from collections.abc import Iterator
from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np

from rackwright.catalog.read import Catalog
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import SampleConfig
from rackwright.estimator.dataset.columns.cells import BrokenCell, read_file
from rackwright.estimator.dataset.columns.hardware import accelerator_name
from rackwright.estimator.dataset.columns.measured import UNITS, measured_value
from rackwright.estimator.dataset.columns.scoring import exclusion_reason
from rackwright.estimator.dataset.nearest_runs import SAME_GENERATION_DISTANCE
from rackwright.estimator.dataset.runs import DATA, RowReading, read_row
from rackwright.estimator.predict_samples import SamplePrediction
from rackwright.estimator.result import NearestRun
from rackwright.estimator.sample_case import SampleCase
from rackwright.estimator.sample_rate import FILES, METRIC

WEIGHTS = {"task": 2.0, "operation": 2.0, "accelerator": 1.0, "numbers": 0.5, "engine": 0.5, "size": 1.0, "batch": 0.2, "count": 0.2}
"""Weights of the features, as in nearest_runs: a factor of 2.7 in FLOPs counts as another accelerator."""


class SampleFeatures(NamedTuple):
    """Features that are compared: labels by equality, numbers by the log of their ratio. size: FLOPs per sample and pass."""

    task: str
    operation: str
    accelerator: str
    generation: str
    numbers: str
    engine: str
    size: float
    batch: float
    count: float


class ComparableSampleRun(NamedTuple):
    """Scored row, its value and its features."""

    reading: RowReading
    measured: float
    features: SampleFeatures


def nearest_sample_runs(config: SampleConfig, case: SampleCase, catalog: Catalog | None = None) -> tuple[NearestRun, ...]:
    """Return the nearest run with the differences; none when the catalog has no runs. catalog: has the accelerators."""
    own = _features(case, config.hardware.accelerator, catalog)
    known = _comparable_runs(catalog)
    if not known:
        return ()
    found = min(known, key=lambda run: (distance(own, run.features), run.reading.row.id))
    row = found.reading.row
    assert isinstance(found.reading.case, SampleCase)
    predicted = SamplePrediction.of(found.reading.case, calibration()).samples_per_s_per_accelerator
    return (
        NearestRun(
            row.id, row.csv, row.text("hardware"), row.text("model"), row.text("framework"), METRIC, UNITS[METRIC], found.measured,
            float(predicted), round(distance(own, found.features), 3), f"{row.text('source')} {row.text('source_path')}".strip(),
            tuple(_differences(own, found.features)),
        ),
    )  # fmt: skip


def distance(a: SampleFeatures, b: SampleFeatures) -> float:
    """Return the distance of two runs: 0 for equal features; symmetric."""
    return sum(weight * _feature_distance(name, a, b) for name, weight in WEIGHTS.items())


def _feature_distance(name: str, a: SampleFeatures, b: SampleFeatures) -> float:
    one, two = getattr(a, name), getattr(b, name)
    if one == two:
        return 0.0
    if name == "accelerator":
        return SAME_GENERATION_DISTANCE if a.generation == b.generation else 1.0
    return 1.0 if isinstance(one, str) else abs(log(one / two))


def _differences(a: SampleFeatures, b: SampleFeatures) -> Iterator[str]:
    for name in WEIGHTS:
        one, two = getattr(a, name), getattr(b, name)
        if isinstance(one, str) and one != two:
            yield f"{name} {two} instead of {one}"
        elif not isinstance(one, str) and abs(log(one / two)) >= 0.02:
            yield f"{name} {two:,.4g} instead of {one:,.4g}"


@lru_cache(maxsize=4)
def _comparable_runs(catalog: Catalog | None = None) -> tuple[ComparableSampleRun, ...]:
    found = []
    for row in (row for name in FILES if (DATA / f"{name}.csv").exists() for row in read_file(DATA / f"{name}.csv")):
        reading = read_row(row, catalog)
        try:
            value = measured_value(row, METRIC) if exclusion_reason(row, METRIC) is None else None
        except BrokenCell:
            continue
        if value and isinstance(reading.case, SampleCase):
            found.append(ComparableSampleRun(reading, value, _features(reading.case, accelerator_name(row), catalog)))
    return tuple(found)


def _features(case: SampleCase, accelerator: str, catalog: Catalog | None) -> SampleFeatures:
    a = accelerators.find(accelerator, catalog)
    size = float(np.maximum(case.network.flops_per_sample, 1.0))
    numbers = "16 bit" if str(case.numbers) in ("bf16", "fp16") else str(case.numbers)
    return SampleFeatures(
        str(case.task), str(case.kind), a.name, a.generation, numbers, str(case.engine), size, float(case.batch),
        float(case.accelerators),
    )  # fmt: skip
