"""Training cases for the memory tests: a catalog model on one kind of accelerator; keywords set the rest."""

from functools import cache
from typing import Any

from rackwright.catalog.models import library
from rackwright.estimator.case import Chip, Links, TrainingCase
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.estimator.training.memory import MemoryCoefficients

GIB = 2**30
PRIOR = MemoryCoefficients()
CHIP = Chip("hopper", 80e9, 3.35e12, 989e12, 989e12)
LINKS = Links(450e9, 50e9, 8.0, 8.0)


@cache
def network(name: str) -> ModelDimensions:
    row = library.find(name)
    assert row is not None
    return model_dimensions(row.architecture)


def case(model: str | ModelDimensions = "llama-3.1-8b", **changed: Any) -> TrainingCase:
    """One sequence of 4,096 on one accelerator by default; replicas and shards follow `shards`."""
    n = network(model) if isinstance(model, str) else model
    fixed = {"accelerators": 1.0, "sequence": 4096.0, "micro_batch": 1.0, "micro_batches": 1.0, "compiled": 1.0}
    return TrainingCase(n, CHIP, LINKS, **(fixed | changed))
