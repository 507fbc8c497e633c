"""Rules of AWS, EKS and Compute Engine over a recorded resource graph: `broken(graph)` returns every violation.

The rules read resources of any Pulumi program, with or without rackwright's components, and call no cloud.
"""

from rackwright_pulumi.policies import cluster, compute_engine, launch_templates, network_interfaces, security_groups, sizes, storage, texts
from rackwright_pulumi.policies.registry import RESOURCE_RULES, broken

AREAS = (cluster, security_groups, network_interfaces, sizes, storage, launch_templates, compute_engine, texts)
__all__ = ["RESOURCE_RULES", "broken"]
