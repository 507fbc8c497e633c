"""Zones of the accelerators and, on AWS, of the control plane."""

import re

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import zones_of
from rackwright.compile.nodes.capacity import capacity_zone, extra_pool_entries
from rackwright.stackplan import PlacePlan
from rackwright.stackplan.addresses import CONTROL_PURPOSES, MACHINE_PURPOSES

ORDINARY_ZONE = re.compile("-?[a-z]")
"""Suffix of a zone after its region: us-central1-b, us-east-1a. Google's AI zones (us-central1-ai1) need more set-up and rank last."""


def place_plan(context: CompileContext, spreads: bool = False) -> PlacePlan:
    """spreads: machines may be in several zones, because no job spans two of them."""
    cloud, region = profile(context.candidate.cloud), context.candidate.region
    known, recorded = zone_of(context), _recorded(context)
    zone = known or _region_zones(context)[0]  # V-30 warns about this default
    return PlacePlan(
        cloud=cloud.name,
        region=region,
        zone=zone,
        control_zones=_control(context, zone) if cloud.control_zones else (),
        account=getattr(context.place, cloud.owner_field) or "",
        zone_assumed=recorded.zone_assumed and not _named(context) if recorded and recorded.zone == zone else not known,
        further_zones=_further(context, zone) if spreads else (),
    )


def zone_of(context: CompileContext) -> str:
    """The zone of the block or reservation; else the recorded one; else a zone of the spec, preferably one that offers the machine; else
    the first that does; else "". Zones with an existing subnet for machines rank first; they are listed in the spec.
    """
    held, named, recorded = zones_of(context.place.network, *MACHINE_PURPOSES), _named(context), _recorded(context)
    zonal = context.place.network.existing and not profile(context.candidate.cloud).has_regional_subnets
    sold = [] if zonal else _offering(context)
    ranked = [*(z for z in named if z in sold), *named, *held, *sold]
    found = next(iter([*(z for z in ranked if z in held), *ranked]), "")
    return capacity_zone(context) or (recorded.zone if recorded and recorded.zone in (held or named or [recorded.zone]) else found)


def _named(context: CompileContext) -> list[str]:
    return [zone for zone in context.place.zones if context.catalog.zone_is_in(zone, context.candidate.region)]


def _offering(context: CompileContext) -> list[str]:
    """Zones that offer the machine, first those that offer every machine of the spec's pools and can have a control plane."""
    region, catalog = context.candidate.region, context.catalog
    others = {pool.instance for pool in extra_pool_entries(context)}
    sold = [{zone for row in catalog.places_by_sku.get(name, ()) if row.region == region for zone in row.zones} for name in others]
    unfit = {row.zone for row in catalog.zones_by_region.get(region, ()) if not row.control_plane}

    def rank(zone: str) -> tuple[bool, bool, bool]:
        ordinary = ORDINARY_ZONE.fullmatch(zone.removeprefix(region)) or zone in catalog.region_by_zone_id
        return any(zones and zone not in zones for zones in sold), not ordinary, zone in unfit

    return sorted((zone for zone in context.candidate.zones if catalog.zone_is_in(zone, region)), key=rank)


def _recorded(context: CompileContext) -> PlacePlan | None:
    """The place of the decision, where the candidate is in its region and account. A zone ID must still offer the machine."""
    was, cloud = context.running.place, profile(context.candidate.cloud)
    account = getattr(context.place, cloud.owner_field) or ""
    if was is None or (was.cloud, was.region) != (cloud.name, context.candidate.region) or was.account not in ("", account):
        return None
    offered = [zone for zone in context.candidate.zones if cloud.is_zone_id(zone) == cloud.is_zone_id(was.zone)]
    return was if was.zone in offered or not offered or context.place.network.existing else None


def _region_zones(context: CompileContext) -> tuple[str, ...]:
    """Zones of the region that support a control plane: IDs where the catalog has them, else names."""
    cloud, region = profile(context.candidate.cloud), context.candidate.region
    return tuple(row.zone for row in context.catalog.zones_by_region.get(region, ()) if row.control_plane) or cloud.zones(region)


def _control(context: CompileContext, zone: str) -> tuple[str, ...]:
    """Zones of existing subnets for the control plane, starting with the accelerators' zone; else the recorded zones, because EKS cannot
    change them; else zones of the spec, if it has enough; else zones of the region.

    Which zone a letter names is known at deployment only, so one letter is not completed with another: EKS refuses some zones.
    """
    held, recorded, cloud = zones_of(context.place.network, *CONTROL_PURPOSES), _recorded(context), profile(context.candidate.cloud)
    if not held and recorded and recorded.zone == zone and recorded.control_zones:
        return recorded.control_zones
    named, zones = dict.fromkeys((zone, *_named(context))), _region_zones(context)
    letters = [z for z in named if z in cloud.zones(context.candidate.region)]
    ranked = letters if len(letters) >= cloud.control_zones else dict.fromkeys([*(z for z in named if z in zones), *zones])
    return tuple(sorted(held, key=lambda z: z != zone)) or tuple(ranked)[: cloud.control_zones]


def _further(context: CompileContext, zone: str) -> tuple[str, ...]:
    """Other zones of the spec that offer the machine and, in an existing network, have a subnet for machines. A zone that is not recorded
    is added by choosing again, because a managed node group cannot change its subnets."""
    if capacity_zone(context):
        return ()
    cloud, network, recorded = profile(context.candidate.cloud), context.place.network, _recorded(context)
    alike = [z for z in _named(context) if z != zone and cloud.is_zone_id(z) == cloud.is_zone_id(zone)]
    sold = [z for z in context.candidate.zones if cloud.is_zone_id(z) == cloud.is_zone_id(zone)]
    held = zones_of(network, *MACHINE_PURPOSES) if network.existing else tuple(alike)
    kept = recorded.further_zones if recorded and recorded.zone == zone else tuple(alike)
    return tuple(z for z in alike if z in held and z in kept and (not sold or z in sold))
