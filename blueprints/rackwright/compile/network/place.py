"""Zones of the accelerators and, on AWS, of the control plane."""

import re

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import zones_of
from rackwright.compile.nodes.capacity import capacity_zone
from rackwright.stackplan import PlacePlan
from rackwright.stackplan.addresses import CONTROL_PURPOSES, MACHINE_PURPOSES

ORDINARY_ZONE = re.compile("-?[a-z]")
"""Suffix of a zone after its region: us-central1-b, us-east-1a. Google's AI zones (us-central1-ai1) need more set-up and rank last."""


def place_plan(context: CompileContext) -> PlacePlan:
    cloud, region = profile(context.candidate.cloud), context.candidate.region
    named = zone_of(context)
    zone = named or cloud.zones(region)[0]  # V-30 warns about this default
    return PlacePlan(
        cloud=cloud.name,
        region=region,
        zone=zone,
        control_zones=_control(context, zone) if cloud.control_zones else (),
        account=getattr(context.place, cloud.owner_field) or "",
        zone_assumed=not named,
    )


def zone_of(context: CompileContext) -> str:
    """The zone of the block or reservation; else a zone of the spec, preferably one that offers the machine; else the first that does; else
    "". Zones with an existing subnet for machines rank first.

    The catalog has AWS zone IDs, which map to different letters in each account, so they are not used.
    """
    region = context.candidate.region
    sold = [zone for zone in context.candidate.zones if zone.startswith(region)]
    sold.sort(key=lambda zone: not ORDINARY_ZONE.fullmatch(zone.removeprefix(region)))
    named = [zone for zone in context.place.zones if zone.startswith(region)]
    held = zones_of(context.place.network, *MACHINE_PURPOSES)
    ranked = [*(z for z in named if z in sold), *named, *held, *sold]
    return capacity_zone(context) or next(iter([*(z for z in ranked if z in held), *ranked]), "")


def _control(context: CompileContext, zone: str) -> tuple[str, ...]:
    """Zones of existing subnets for the control plane, starting with the accelerators' zone; else zones of the region."""
    held = zones_of(context.place.network, *CONTROL_PURPOSES)
    cloud = profile(context.candidate.cloud)
    zones = cloud.zones(context.candidate.region)
    ranked = dict.fromkeys([*(z for z in (zone, *context.place.zones) if z in zones), *zones])
    return tuple(sorted(held, key=lambda z: z != zone)) or tuple(ranked)[: cloud.control_zones]
