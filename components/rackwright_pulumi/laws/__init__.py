"""Laws of AWS and of what runs on EKS, over a recorded resource graph: `broken(graph)` says which ones a program breaks.

Rules look at a plan of ours; laws look at resources, whoever declared them, and need no cloud.
"""

from rackwright_pulumi.laws import cluster, groups, interfaces, sizes, storage, templates, texts
from rackwright_pulumi.laws.registry import LAWS, Law, broken

AREAS = (cluster, groups, interfaces, sizes, storage, templates, texts)
__all__ = ["LAWS", "Law", "broken"]
