"""Managed Lustre of Google Cloud: the tier and the size of the file system of a training cluster.

Tiers and steps: volumes.csv of the catalog, from https://docs.cloud.google.com/managed-lustre/docs/performance-tiers
"""

import math
from dataclasses import replace

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Volume
from rackwright.diagnostics.errors import CatalogError
from rackwright.sizing.node.lustre_throughput import LustreClients, LustreSize, needed_bytes
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.blueprint import LustreOptions
from rackwright.units import GIB

DYNAMIC_MB_S = 25
"""Throughput of the dynamic tier in MB/s per TiB, by which the catalog names it."""


def managed_lustre_size(
    plan: SizingPlan, options: LustreOptions, clients: LustreClients, catalog: Catalog, recorded: LustreSize | None = None
) -> LustreSize:
    """The spec's options, and for the rest the size that holds the data and delivers the throughput which these clients can take.

    Of several tiers the one with the least throughput, then with the least capacity: most prices are not published. A capacity in the
    spec is used unchanged; V-55 rejects sizes that are not sold. recorded: the file system of a running stack, which keeps its tier and
    only grows. Raises CatalogError where no tier has the throughput of the spec.
    """
    tiers = _tiers(options, catalog)
    if recorded and options.throughput is None and recorded.volume in {row.name for row in tiers.values()}:
        return _grown(plan, options, recorded, tiers[recorded.ssd_tier])
    need = replace(plan.storage, throughput_bytes_per_s=min(plan.storage.throughput_bytes_per_s, clients.total_bytes_per_s))
    sizes = [LustreSize(_gib(options, row, needed_bytes(need, row)), row.name, rate) for rate, row in tiers.items()]
    if not sizes:
        raise CatalogError(f"no Lustre tier of {options.throughput or 'any'} MB/s per TiB")

    def rank(size: LustreSize) -> tuple[float, float]:
        """Missing throughput before surplus throughput, then the capacity."""
        bought = query.tier_bytes_per_s(tiers[size.ssd_tier], size.capacity_gib * GIB) - need.throughput_bytes_per_s
        return (math.inf if bought < 0 else bought, size.capacity_gib)

    return min(sizes, key=rank)


def _tiers(options: LustreOptions, catalog: Catalog) -> dict[int, Volume]:
    """The tiers that the options leave: the dynamic one only where they name it, because its rate depends on which data is read."""
    tiers = query.managed_lustre_tiers(catalog)
    if options.tiering == "dynamic":
        return {DYNAMIC_MB_S: tiers[DYNAMIC_MB_S]}
    return {rate: row for rate, row in tiers.items() if rate != DYNAMIC_MB_S and options.throughput in (None, rate)}


def _gib(options: LustreOptions, tier: Volume, need_bytes: float) -> int:
    """The capacity of the spec, or the smallest one that is sold; the largest where more is needed."""
    if options.capacity is not None:
        return round(options.capacity / GIB)
    return (tier.allowed_bytes(need_bytes) or tier.max_bytes or 0) // GIB


def _grown(plan: SizingPlan, options: LustreOptions, recorded: LustreSize, tier: Volume) -> LustreSize:
    """The recorded file system, as large as the run needs by now. One below the threshold of larger steps never grows beyond it.

    https://docs.cloud.google.com/managed-lustre/docs/increase-capacity
    """
    wanted = _gib(options, tier, needed_bytes(plan.storage, tier))
    threshold = (tier.large_step_above_bytes or math.inf) / GIB
    if options.capacity is None and recorded.capacity_gib <= threshold < wanted:
        wanted = round(threshold)
    return replace(recorded, capacity_gib=wanted if options.capacity is not None else max(wanted, recorded.capacity_gib))
