"""Laws of AWS and of what runs on EKS, over a recorded resource graph: `broken(graph)` says which ones a program breaks.

Rules look at a plan of ours; laws look at resources, whoever declared them, and need no cloud.
"""

from rackwright_pulumi.policies import cluster, launch_templates, network_interfaces, security_groups, sizes, storage, texts
from rackwright_pulumi.policies.registry import RESOURCE_RULES, broken

AREAS = (cluster, security_groups, network_interfaces, sizes, storage, launch_templates, texts)
__all__ = ["RESOURCE_RULES", "broken"]
