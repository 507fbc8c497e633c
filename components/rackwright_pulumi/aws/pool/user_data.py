"""User data of a pool in the format of its image family."""

import base64
from collections.abc import Callable
from typing import Any

from pulumi import Input, Output
from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.al2023 import node_config
from rackwright_pulumi.aws.pool.bottlerocket import bottlerocket_settings
from rackwright_pulumi.aws.pool.node_bootstrap import ClusterJoinInfo
from rackwright_pulumi.aws.pool.ubuntu import ubuntu_script
from rackwright_pulumi.unsupported import Unsupported

WRITERS: dict[str, Callable[[PoolPlan, Any], str]] = {
    "al2023": node_config,
    "bottlerocket": bottlerocket_settings,
    "ubuntu": ubuntu_script,
}
"""Image family to the function that writes its user data. EKS adds the cluster data to its own images, but not to custom ones."""
LIMIT_BYTES = 16 * 1024
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html"""


def family_of(plan: PoolPlan) -> str:
    """The family of the pool's image. Raises Unsupported for unknown families, and for Ubuntu without image_id."""
    family, at = plan.image.partition("-")[0], f"pools[{plan.name}].image"
    if family not in WRITERS:
        raise Unsupported(plan.image, at, ", ".join(WRITERS))
    if family == "ubuntu" and not plan.image_id:
        raise Unsupported("an Ubuntu pool without image_id", at, "set image_id, or use al2023")
    return family


def user_data(plan: PoolPlan, cluster: Output[ClusterJoinInfo] | None) -> Input[str] | None:
    """Base64 user data, or None if the defaults suffice. cluster: required for custom images.

    Raises Unsupported if it exceeds EC2's limit, or if a custom image has no cluster data.
    """
    write = WRITERS[family_of(plan)]
    if not plan.image_id:
        text = write(plan, None)
        return _encoded(plan, text) if text else None
    if cluster is None:
        at = f"pools[{plan.name}].image_id"
        raise Unsupported("a custom image without cluster data", at, "set cluster_endpoint, cluster_certificate and service_cidr")
    return cluster.apply(lambda info: _encoded(plan, write(plan, info)))


def _encoded(plan: PoolPlan, text: str) -> str:
    raw = text.encode()
    if len(raw) > LIMIT_BYTES:
        raise Unsupported(f"{len(raw):,} bytes of user data", f"pools[{plan.name}].labels", f"{LIMIT_BYTES:,} bytes or less")
    return base64.b64encode(raw).decode()
