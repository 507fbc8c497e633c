"""Zones of the accelerators and, on AWS, of the control plane."""

import re

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import zones_of
from rackwright.compile.nodes.capacity import capacity_zone
from rackwright.stackplan import PlacePlan
from rackwright.stackplan.addresses import CONTROL_PURPOSES, MACHINE_PURPOSES

ORDINARY_ZONE = re.compile("-?[a-z]")
"""Suffix of a zone after its region: us-central1-b, us-east-1a. Google's AI zones (us-central1-ai1) need more set-up and rank last."""
AWS_ZONE_LETTERS = {"us-east-1": "abcdf", "ap-northeast-1": "acd", "ca-central-1": "abd", "us-west-1": "ab"}
"""Zone letters that support an EKS control plane, where they are not a, b and c: us-east-1e does not, and some do not exist.
Source: docs.aws.amazon.com/eks/latest/userguide/network-reqs.html; moto 5.2.5 zone tables (2026-10-27)."""


def place_plan(context: CompileContext) -> PlacePlan:
    cloud, region = context.candidate.cloud, context.candidate.region
    zone = zone_of(context)
    control = _control_zones(context, zone or _first_zone(context)) if cloud == "aws" else ()
    account = (context.place.account if cloud == "aws" else context.place.project) or ""
    return PlacePlan(
        cloud=cloud, region=region, zone=zone or _first_zone(context), control_zones=control, account=account, zone_assumed=not zone
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


def _first_zone(context: CompileContext) -> str:
    """The region's first zone, the default; V-30 warns about it."""
    region = context.candidate.region
    return region + ("-" if context.candidate.cloud == "gcp" else "") + _letters(region)[0]


def _control_zones(context: CompileContext, zone: str) -> tuple[str, ...]:
    """Zones of existing subnets for the control plane, starting with the accelerators' zone; else two zones of the region."""
    held = zones_of(context.place.network, *CONTROL_PURPOSES)
    return tuple(sorted(held, key=lambda z: z != zone)) or control_zones(context.candidate.region, zone, context.place.zones)


def control_zones(region: str, zone: str, allowed: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Two zones, which EKS requires: the accelerators' zone, then those of the spec."""
    zones = [region + letter for letter in _letters(region)]
    return tuple(dict.fromkeys([*(z for z in (zone, *allowed) if z in zones), *zones]))[:2]


def _letters(region: str) -> str:
    return AWS_ZONE_LETTERS.get(region, "abc")
