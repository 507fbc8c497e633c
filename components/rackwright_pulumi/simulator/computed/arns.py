"""ARNs, partitions and zones of AWS."""

import re

from rackwright_pulumi.simulator.computed.context import ResourceRequest
from rackwright_pulumi.simulator.computed.names import place

ZONE_NUMBERS = tuple("123456")


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
    area, *middle, number = zone[:-1].split("-")
    initials = re.findall("north|south|east|west|central|gov", "".join(middle))
    return f"{area}{''.join(word[0] for word in initials)}{number}-az{ord(zone[-1]) - ord('a') + 1}"


def zone_name(zone: str, region: str) -> str:
    """``use1-az2`` in us-east-1 to ``us-east-1b``. A name, or an ID of another region, is returned as it is."""
    number = zone.partition("-az")[2]
    name = f"{region}{chr(ord('a') + int(number) - 1)}" if number in ZONE_NUMBERS else zone
    return name if number in ZONE_NUMBERS and zone_id(name) == zone else zone
