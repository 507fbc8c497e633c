"""The calibration file of a spec: the one that it names, else `<spec>.calibration.json` beside it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.spec import Corrections, Spec


def calibration_path(spec: Spec, source: Path) -> Path | None:
    """The file of `rackwright calibrate` for a spec; None without one, and for corrections that the spec contains."""
    if spec.calibration is not None:
        return source.parent / spec.calibration if isinstance(spec.calibration, str) else None
    beside = source.with_suffix(".calibration.json")
    return beside if source.is_file() and beside.exists() else None


def calibration_problems(spec: Spec, source: Path) -> Iterator[Problem]:
    """Problems with the calibration of a spec."""
    from rackwright.sizing.calibrated import calibrated

    try:
        calibrated(with_calibration(spec, source))
    except UserError as error:
        for problem in error.problems:
            yield replace(problem, at=At() / "calibration" if spec.calibration is not None else At())


def with_calibration(spec: Spec, source: Path) -> Spec:
    """The spec with the content of its calibration file, so that later stages read no files. Raises UserError."""
    path = calibration_path(spec, source)
    if path is None:
        return spec
    from rackwright.estimator.calibration.calibrate import load_calibration

    found = load_calibration(path)
    factors = {name: {"factor": factor, "runs": runs} for name, (factor, runs) in found.factors.items()}
    return spec.model_copy(update={"calibration": Corrections.model_validate({"base": found.version, "factors": factors})})
