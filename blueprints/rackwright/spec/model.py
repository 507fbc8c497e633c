"""Resolution of a spec's model to its architecture."""

from dataclasses import asdict
from pathlib import Path

from rackwright.catalog.models.architecture import Architecture, from_fields
from rackwright.catalog.models.hf_config import read_hf_config
from rackwright.catalog.models.library import find
from rackwright.spec.spec import Spec
from rackwright.spec.workload_parts import Model


def architecture_of(model: Model, folder: Path = Path()) -> Architecture | None:
    """Return the architecture of a spec's model, or None when `base` is not in the catalog.

    folder: folder of the spec; the path of a config.json is relative to it.
    Raises ConfigError with the invalid field.
    """
    if model.base is not None:
        row = find(model.base)
        return row.architecture if row else None
    if model.config is not None:
        return read_hf_config(folder / model.config)
    return from_fields(model.architecture) if model.architecture is not None else None


def self_contained(spec: Spec, folder: Path) -> Spec:
    """Return the spec with each config.json replaced by its architecture, so that later stages read no files.

    Raises ConfigError when a file cannot be read.
    """
    if all(workload.model.config is None for workload in spec.workloads):
        return spec
    workloads = list(spec.workloads)
    for index, workload in enumerate(workloads):
        architecture = architecture_of(workload.model, folder) if workload.model.config is not None else None
        if architecture is not None:
            fields = {name: value for name, value in asdict(architecture).items() if value is not None}
            model = workload.model.model_copy(update={"config": None, "architecture": fields})
            workloads[index] = workload.model_copy(update={"model": model})
    return spec.model_copy(update={"workloads": tuple(workloads)})
