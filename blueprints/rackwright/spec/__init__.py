"""What the user writes: models, reader and checks."""

from rackwright.spec.load import Reading, examine, examine_file, load, read
from rackwright.spec.spec import Spec

__all__ = ["Reading", "Spec", "examine", "examine_file", "load", "read"]
