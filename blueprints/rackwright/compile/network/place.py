"""Where: the zone of the accelerators, and on AWS a second zone for the control plane."""

import re

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import zones_of
from rackwright.compile.network.addresses import CONTROL, MACHINES
from rackwright.compile.nodes.capacity_entry import zone_said
from rackwright.stackplan import PlacePlan

ORDINARY_ZONE = re.compile("-?[a-z]")
"""What follows the region: us-central1-b, us-east-1a. Google's AI zones (us-central1-ai1) need more set-up, so they come last."""


def place_plan(context: CompileContext) -> PlacePlan:
    cloud, region = profile(context.candidate.cloud), context.candidate.region
    named = zone_of(context)
    zone = named or cloud.zones(region)[0]  # a guess, which rule V-30 reports
    return PlacePlan(
        cloud=cloud.name,
        region=region,
        zone=zone,
        control_zones=_control(context, zone) if cloud.control_zones else (),
        account=getattr(context.place, cloud.owner_field) or "",
        zone_assumed=not named,
    )


def zone_of(context: CompileContext) -> str:
    """Where the block or reservation lies, else one the spec names, best one that sells the machine, else the first that does; "" when
    nobody says. Of a network that exists a zone that has a subnet for machines comes first.

    The catalog has AWS zones as ids, which map to other names in every account, so they are not used.
    """
    region = context.candidate.region
    sold = [zone for zone in context.candidate.zones if zone.startswith(region)]
    sold.sort(key=lambda zone: not ORDINARY_ZONE.fullmatch(zone.removeprefix(region)))
    named = [zone for zone in context.place.zones if zone.startswith(region)]
    held = zones_of(context.place.network, *MACHINES)
    ranked = [*(z for z in named if z in sold), *named, *held, *sold]
    return zone_said(context) or next(iter([*(z for z in ranked if z in held), *ranked]), "")


def _control(context: CompileContext, zone: str) -> tuple[str, ...]:
    """Zones of the subnets that are said to be for the control plane, the accelerators' own first; else those of the region."""
    held = zones_of(context.place.network, *CONTROL)
    cloud = profile(context.candidate.cloud)
    zones = cloud.zones(context.candidate.region)
    ranked = dict.fromkeys([*(z for z in (zone, *context.place.zones) if z in zones), *zones])
    return tuple(sorted(held, key=lambda z: z != zone)) or tuple(ranked)[: cloud.control_zones]
