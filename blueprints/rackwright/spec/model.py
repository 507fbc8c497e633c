"""The architecture a spec's model stands for."""

from pathlib import Path

from rackwright.catalog.architecture import Architecture, from_fields
from rackwright.spec.workload import Model


def architecture_of(model: Model, folder: Path = Path()) -> Architecture | None:
    """From the model catalog, a config.json (relative to `folder`, the spec's) or the fields written out; None when it is not known.

    Raises ConfigError with the field at fault when a description is wrong.
    """
    if model.base is not None:
        from rackwright.catalog.models import find

        row = find(model.base)
        return row.architecture if row else None
    if model.config is not None:
        from rackwright.catalog.hf_config import read_hf_config

        return read_hf_config(folder / model.config)
    return from_fields(model.architecture) if model.architecture is not None else None
