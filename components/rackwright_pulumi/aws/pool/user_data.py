"""User data of a pool's machines, in the form that the family of their image reads."""

import base64
from collections.abc import Callable
from typing import Any

from pulumi import Input, Output
from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.al2023 import node_config
from rackwright_pulumi.aws.pool.bottlerocket import bottlerocket_settings
from rackwright_pulumi.aws.pool.node_bootstrap import Joining
from rackwright_pulumi.aws.pool.ubuntu import ubuntu_script
from rackwright_pulumi.unsupported import Unsupported

FORMS: dict[str, Callable[[PoolPlan, Any], str]] = {
    "al2023": node_config,
    "bottlerocket": bottlerocket_settings,
    "ubuntu": ubuntu_script,
}
"""Family to the writer of its user data. An image of EKS itself gets what EKS adds; one's own gets everything."""
LIMIT_BYTES = 16 * 1024
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html"""


def family_of(plan: PoolPlan) -> str:
    """The family of the pool's image. Raises Unsupported for one whose first boot is not known, and for EKS images that do not exist."""
    family, at = plan.image.partition("-")[0], f"pools[{plan.name}].image"
    if family not in FORMS:
        raise Unsupported(plan.image, at, ", ".join(FORMS))
    if family == "ubuntu" and not plan.image_id:
        raise Unsupported("an image of Ubuntu that EKS makes", at, "a pool with image_id, or al2023")
    return family


def user_data(plan: PoolPlan, cluster: Output[Joining] | None) -> Input[str] | None:
    """Base64, or nothing where the defaults serve. cluster: what an image of one's own must be told; None where it is not described.

    Raises Unsupported when it is larger than EC2 takes, or the cluster is not described.
    """
    form = FORMS[family_of(plan)]
    if not plan.image_id:
        text = form(plan, None)
        return _encoded(plan, text) if text else None
    if cluster is None:
        at = f"pools[{plan.name}].image_id"
        raise Unsupported("an image of one's own whose cluster is not described", at, "cluster_endpoint, cluster_certificate, service_cidr")
    return cluster.apply(lambda known: _encoded(plan, form(plan, known)))


def _encoded(plan: PoolPlan, text: str) -> str:
    raw = text.encode()
    if len(raw) > LIMIT_BYTES:
        raise Unsupported(f"{len(raw):,} bytes of user data", f"pools[{plan.name}].labels", f"{LIMIT_BYTES:,} bytes or less")
    return base64.b64encode(raw).decode()
