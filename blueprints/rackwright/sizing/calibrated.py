"""The coefficients of a spec: those of the release, with the corrections of the user's measured runs."""

import hashlib
import json

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.calibration.coefficients import Calibration, calibration, corrected
from rackwright.spec.spec import Corrections, Spec


def calibrated(spec: Spec) -> Calibration:
    """Raises UserError for a path that was not replaced by the content of the file, and for corrections of other coefficients."""
    own = spec.calibration
    if own is None:
        return calibration()
    if isinstance(own, str):
        raise UserError([Problem("E-calibration", f"{own} was not read", At() / "calibration", "read the spec with `rackwright.load`")])
    return corrected(own.base, {name: (each.factor, each.runs) for name, each in own.factors.items()})


def calibration_digest(spec: Spec) -> str:
    """SHA-256 of the corrections of a spec; empty without corrections."""
    if not isinstance(spec.calibration, Corrections):
        return ""
    return hashlib.sha256(json.dumps(spec.calibration.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
