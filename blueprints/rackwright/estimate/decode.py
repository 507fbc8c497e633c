"""To come."""

from rackwright.estimate.models import Model

MODELS: tuple[Model, ...] = ()
