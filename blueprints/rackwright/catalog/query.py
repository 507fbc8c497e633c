"""Catalog queries: machines, accelerators, offerings with prices, and suggestions for misspelled names."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import FORMATS, Accelerator, Availability, CapacityMode, Machine, Offering, Price, TpuSlice, Volume
from rackwright.clouds import FSX, MANAGED_LUSTRE, profile
from rackwright.units import TIB

REFERENCE_REGIONS = ("us-east-1", "us-central1", "us-central2")
"""Regions whose price is shown, marked as a reference, when a region has no price."""
INTELLIGENT_TIERING = "fsx-lustre-intelligent-tiering"
"""Row of volumes.csv for FSx for Lustre Intelligent-Tiering, whose throughput is bought apart from the capacity."""


def machine(catalog: Catalog, name: str) -> Machine | None:
    return catalog.machine_by_name.get(name)


def accelerator(catalog: Catalog, name: str) -> Accelerator | None:
    """Return the accelerator of a name or alias (`h100`, `v5e`, `nvidia-l4`), ignoring case; None when unknown."""
    return catalog.accelerator_by_name.get(name.strip().lower())


def missing_facts(machine: Machine, accelerator: Accelerator) -> tuple[str, ...]:
    """Return the facts without which no estimate exists, and that are not published."""
    facts = {
        "FLOP/s": accelerator.bf16_flops or accelerator.fp16_flops,
        "memory bandwidth": accelerator.memory_bandwidth_bytes_per_s,
        "memory": machine.accelerator_memory_bytes or accelerator.memory_bytes,
    }
    return tuple(name for name, value in facts.items() if not value)


def narrow_formats(accelerator: Accelerator) -> tuple[str, ...]:
    """Return the formats of 16 bit and less with a published peak."""
    return tuple(name for name in FORMATS if name not in ("fp32", "tf32") and accelerator.supports(name))


def families(catalog: Catalog, accelerator: Accelerator) -> tuple[str, ...]:
    """Return the machine families with an accelerator that can be ordered from a cloud, in catalog order; for TPUs the series of hosts."""
    sold = (m for m in catalog.machines if m.accelerator == accelerator.name and m.orderable and not profile(m.cloud).is_owned)
    return tuple(dict.fromkeys(m.name.partition("-")[0] if m.kind == "tpu" else m.family for m in sold))


QUOTA_FIELDS = {"spot": "quota_spot", "flex-start": "quota_spot", "capacity-block": "quota_capacity_block", "calendar": ""}
"""Capacity mode -> field of a machine with the code of its quota, empty where it counts towards none; the others count towards the
on-demand quota, reservations too. https://docs.cloud.google.com/ai-hypercomputer/docs/consumption-models"""


def quota_code(machine: Machine, mode: str) -> str | None:
    """Quota code of a machine in a capacity mode; None where it is not published."""
    field = QUOTA_FIELDS.get(mode, "quota_on_demand")
    return (getattr(machine, field) or None) if field else None


def quota_amount(machine: Machine) -> tuple[int, str]:
    """What one machine takes of its quota, and the unit: vCPUs on AWS, accelerators on Google Cloud (vCPUs for machines without any)."""
    if profile(machine.cloud).has_vcpu_quotas or not machine.accelerator_count:
        return machine.vcpus or 0, "vCPU"
    return machine.whole_accelerators, "accelerators"


def slices(catalog: Catalog, machine_name: str) -> tuple[TpuSlice, ...]:
    """Return the TPU topologies of a host machine type, smallest first."""
    return catalog.slices_by_machine.get(machine_name, ())


def slice_rate(catalog: Catalog, accelerator: Accelerator) -> float | None:
    """Bytes/s of a chip between TPU slices; None where it is not published."""
    generation = catalog.generation_by_name.get(accelerator.generation)
    return generation.slice_bytes_per_s if generation else None


def ssd_tiers(catalog: Catalog, rdma: bool = False) -> dict[int, Volume]:
    """MB/s per TiB -> tier of FSx for Lustre PERSISTENT_2 SSD, the only class with data repositories and EFA (V-49)."""
    rows = [row for row in catalog.volumes if row.tier.startswith("PERSISTENT_2 SSD") and row.rdma is rdma]
    return {round(tier_bytes_per_s(row, TIB) / 1e6): row for row in rows}


def managed_lustre_tiers(catalog: Catalog) -> dict[int, Volume]:
    """MB/s per TiB -> tier of Managed Lustre, among them the dynamic one (V-55)."""
    rows = [row for row in catalog.volumes if row.kind == "lustre" and row.name.startswith(MANAGED_LUSTRE)]
    return {round(tier_bytes_per_s(row, TIB) / 1e6): row for row in rows}


def shared_file_systems(catalog: Catalog, cloud: str, rdma: bool) -> tuple[Volume, ...]:
    """Lustre tiers of a cloud that a blueprint builds or a guide names, without scratch and previous generations."""
    if profile(cloud).lustre_service == FSX:
        return tuple(ssd_tiers(catalog, rdma).values())
    return tuple(row for row in catalog.volumes if (row.cloud, row.kind, row.rdma) == (cloud, "lustre", rdma) and not row.deprecated)


def tier_bytes_per_s(tier: Volume, capacity_bytes: float) -> float:
    """Sustained rate that a capacity of a tier includes: the lower one of reads and writes, 0.0 where neither is published."""
    rates = (tier.read_bytes_per_s_per_tib, tier.write_bytes_per_s_per_tib)
    return min((rate for rate in rates if rate is not None), default=0.0) * capacity_bytes / TIB


def is_offered(tier: Volume, region: str) -> bool:
    """Whether a storage tier is offered in a region, as far as its regions are published."""
    return not tier.regions or region in tier.regions


def nearest(name: str, choices: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Return names that contain the given one, then names with similar spelling."""
    by_lower = {choice.lower(): choice for choice in choices}
    wanted = name.strip().lower()
    within = sorted((low for low in by_lower if len(wanted) > 1 and wanted in low), key=lambda low: (len(low), low))
    close = (low for low in get_close_matches(wanted, by_lower, n=most, cutoff=0.6) if low not in within)
    return tuple(by_lower[low] for low in (*within, *close)[:most])


def offerings(catalog: Catalog, cloud: str, regions: Iterable[str] = (), modes: Iterable[CapacityMode] = ()) -> Iterator[Offering]:
    """Yield every orderable machine of a cloud in each of its regions and capacity modes.

    regions: names or patterns (`us-*`), () for all; modes: () for all. Order: catalog, region, `modes`. Owned machines have neither region
    nor price. A price of another region has `price_is_reference` set.
    """
    patterns, selected = tuple(regions), tuple(modes)
    for node in catalog.machines:
        if node.cloud != cloud or not node.orderable:
            continue
        places: Iterable[Availability] = sorted(catalog.places_by_sku.get(node.name, ()), key=lambda place: place.region)
        places = (place for place in places if not patterns or any(fnmatchcase(place.region, pattern) for pattern in patterns))
        if profile(node.cloud).is_owned:
            places = (Availability(node.name, node.cloud, "", (), node.notes, node.source, node.as_of),)
        for place in places:
            for mode in (m for m in selected or node.capacity_modes if m in node.capacity_modes):
                yield offer(catalog, node, place.region, mode, place.zones)


def offer(catalog: Catalog, node: Machine, region: str, mode: CapacityMode, zones: tuple[str, ...] = ()) -> Offering:
    """Return the offering of a machine in a region with its best known price. Does not check availability."""
    row, words = _price(catalog, node, region, mode)
    if row is None:
        return Offering(node, node.cloud, region, zones, mode, price_words=words)
    return Offering(
        machine=node,
        cloud=node.cloud,
        region=region,
        zones=zones,
        capacity=mode,
        price_usd_per_hour=row.usd_per_hour * (node.accelerator_count if row.unit == "chip" else 1),
        price_region=row.region,
        price_as_of=row.as_of,
        price_source=row.source,
        price_is_reference=bool(words),
        price_words=words,
    )


def _price(catalog: Catalog, node: Machine, region: str, mode: CapacityMode) -> tuple[Price | None, str]:
    """Return the best matching price row, and an explanation when it is not the price of this region."""
    sku = node.accelerator if node.kind == "tpu" and node.accelerator else node.name
    rows = catalog.prices_by_sku.get((sku, mode), ())
    row = min(rows, key=lambda r: _distance(r, region), default=None)
    if row and row.region == region:
        return row, ""
    if row:
        where = f"price of {row.region}" if row.region else "price without a region in its source"
        return row, f"{where}: none published here for {region}"
    if mode is CapacityMode.RESERVATION and (row := _price(catalog, node, region, CapacityMode.ON_DEMAND)[0]):
        return row, "assumed to bill like on-demand: no reservation price published here"
    return None, "owned: no hourly price" if profile(node.cloud).is_owned else "price not published"


def _distance(row: Price, region: str) -> int:
    if row.region == region:
        return -2
    if row.region is None:
        return -1
    return REFERENCE_REGIONS.index(row.region) if row.region in REFERENCE_REGIONS else len(REFERENCE_REGIONS)
