"""Differences between clouds. A cloud is one profile here, rows of the catalog and a folder of components."""

from rackwright.clouds.aws import AWS
from rackwright.clouds.base import EKS, FSX, MANAGED_LUSTRE, CloudProfile
from rackwright.clouds.gcp import GCP
from rackwright.clouds.kubernetes import KUBERNETES
from rackwright.clouds.registry import names, profile, profiles, register, sellers, supports, unregister

__all__ = [
    "AWS",
    "EKS",
    "FSX",
    "GCP",
    "KUBERNETES",
    "MANAGED_LUSTRE",
    "CloudProfile",
    "names",
    "profile",
    "profiles",
    "register",
    "sellers",
    "supports",
    "unregister",
]
