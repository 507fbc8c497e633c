"""The spec: pydantic models, the YAML reader and its checks."""

from rackwright.spec.load import Reading, examine, examine_file, load, read
from rackwright.spec.spec import Spec

__all__ = ["Reading", "Spec", "examine", "examine_file", "load", "read"]
