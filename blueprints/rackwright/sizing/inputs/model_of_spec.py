"""Architecture of a model that a spec names or writes out."""

from rackwright.catalog.models import library
from rackwright.catalog.models.architecture import Architecture, ConfigError, from_fields
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.workload_parts import Model


def architecture_of(model: Model) -> tuple[Architecture, str]:
    """The architecture and its display name: from the catalog, or written out in the spec."""
    at = At() / "workloads" / 0 / "model"
    if model.base is not None:
        row = library.find(model.base)
        if row is None:
            near = ", ".join(library.nearest(model.base))
            fix = f"nearest: {near}" if near else ""
            raise UserError([Problem("S-model", f"{model.base!r} is not in the model catalog", at / "base", fix)])
        return row.architecture, row.name
    if model.config is not None:
        raise UserError([Problem("S-model", "only rackwright.load resolves model.config, relative to the spec's folder", at / "config")])
    try:
        return from_fields(model.architecture or {}), "custom architecture"
    except ConfigError as fault:
        raise UserError([Problem("S-model", str(fault), at / "architecture")]) from None


def weights_size(model: Model) -> float | None:
    """Bytes of the weight files, where the spec states them."""
    return model.weights.size if model.weights else None
