"""ARNs, partitions and zones of AWS."""

from rackwright_pulumi.simulator.computed.context import ResourceRequest
from rackwright_pulumi.simulator.computed.names import place

ZONE_IDS = {"us-east-1": "use1", "us-east-2": "use2", "us-west-1": "usw1", "us-west-2": "usw2", "eu-west-1": "euw1", "eu-central-1": "euc1"}


def partition(region: str) -> str:
    """``aws``, ``aws-cn`` or ``aws-us-gov``."""
    area = region.rpartition("-")[0].rpartition("-")[0]
    suffix = f"-{area}" if area in ("cn", "us-gov") else ""
    return f"aws{suffix}"


def arn(request: ResourceRequest, service: str, resource: str, regional: bool = True, owned: bool = True) -> str:
    """An ARN in the resource's partition, region and account."""
    region = place(request, "region")
    return f"arn:{partition(region)}:{service}:{region if regional else ''}:{request.context.account if owned else ''}:{resource}"


def zones(region: str) -> list[str]:
    """Zones of a region: 6 in us-east-1, 3 in others."""
    return [f"{region}{letter}" for letter in "abcdef"[: 6 if region == "us-east-1" else 3]]


def zone_id(zone: str) -> str:
    """``us-east-1b`` to ``use1-az2``, equal in every simulated account."""
    region = zone[:-1]
    short = ZONE_IDS.get(region) or "".join(part[:1] if not part.isdigit() else part for part in region.split("-"))
    return f"{short}-az{ord(zone[-1]) - ord('a') + 1}"
