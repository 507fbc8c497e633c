"""How Amazon's cloud writes names: ARNs, partitions, zones."""

from rackwright_pulumi.simulator.computed.context import ResourceRequest
from rackwright_pulumi.simulator.schema.names import physical_name, place

ZONE_IDS = {"us-east-1": "use1", "us-east-2": "use2", "us-west-1": "usw1", "us-west-2": "usw2", "eu-west-1": "euw1", "eu-central-1": "euc1"}


def partition(region: str) -> str:
    """``aws``, ``aws-cn`` or ``aws-us-gov``."""
    area = region.rpartition("-")[0].rpartition("-")[0]
    suffix = f"-{area}" if area in ("cn", "us-gov") else ""
    return f"aws{suffix}"


def arn(asked: ResourceRequest, service: str, resource: str, regional: bool = True, owned: bool = True) -> str:
    """An ARN in the resource's own partition, region and account."""
    region = place(asked, "region")
    return f"arn:{partition(region)}:{service}:{region if regional else ''}:{asked.context.account if owned else ''}:{resource}"


def named(asked: ResourceRequest, prop: str = "name") -> str:
    """The physical name: given, or what the provider would have filled in."""
    return str(asked.get(prop) or physical_name(asked) or asked.name)


def zones(region: str) -> list[str]:
    """Six in us-east-1, three elsewhere."""
    return [f"{region}{letter}" for letter in "abcdef"[: 6 if region == "us-east-1" else 3]]


def zone_id(zone: str) -> str:
    """``us-east-1b`` -> ``use1-az2``: the same in every simulated account."""
    region = zone[:-1]
    short = ZONE_IDS.get(region) or "".join(part[:1] if not part.isdigit() else part for part in region.split("-"))
    return f"{short}-az{ord(zone[-1]) - ord('a') + 1}"
