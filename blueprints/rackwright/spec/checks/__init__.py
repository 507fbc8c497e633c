"""Checks across the fields of a spec, before sizing and before any cloud is asked. Importing a file here registers its checks."""

from rackwright.spec import not_yet  # noqa: F401, registers its rows
from rackwright.spec.checks import capacity, geometry, machines, places, quotas, safety, stack, workloads  # noqa: F401, registers the checks
from rackwright.spec.checks.registry import REGISTRY, Check, Context, Finding, problems_of

__all__ = ["REGISTRY", "Check", "Context", "Finding", "problems_of"]
