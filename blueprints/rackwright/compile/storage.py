"""Buckets from the spec's URIs, a Lustre file system from the storage need, disks."""

import math
from dataclasses import dataclass

from rackwright.compile.draft import Draft
from rackwright.compile.wants import BucketWant, DiskWant, Grant, LustreWant
from rackwright.errors import UserError
from rackwright.problems import At, Problem

GIB = 2**30
MIB = 2**20
SCHEMES = {"aws": "s3", "gcp": "gs"}


@dataclass(frozen=True)
class Tier:
    """One throughput class of FSx for Lustre PERSISTENT_2 SSD. Prices: US dollars per GiB and month, us-east-1."""

    throughput_mb_s_per_tib: int
    usd_per_gib_month: float


TIERS = (Tier(125, 0.145), Tier(250, 0.210), Tier(500, 0.415), Tier(1000, 0.780))
"""docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html; prices illustrative, of a public copy (2026)."""
LUSTRE_LEAST_GIB, LUSTRE_STEP_GIB = 1200, 2400
"""Sizes sold: 1200, 2400 or a multiple of 2400 GiB (same page)."""
HEADROOM = 1.2
"""A file system slows and fails when full: a fifth is left free."""
GP3_FREE_MIB_S, GP3_MOST_MIB_S, GP3_FREE_IOPS, GP3_IOPS_PER_MIB_S = 125, 2000, 3000, 4
"""gp3: 3,000 IOPS and 125 MiB/s included, 2,000 MiB/s at most, a quarter MiB/s per IOPS (AWS EBS documentation, 2025-09)."""


def buckets(draft: Draft) -> tuple[BucketWant, ...]:
    """What the workload reads and writes: existing where the spec names a URI of this cloud, else created."""
    workload = draft.spec.workload
    if workload.kind in ("serve", "batch"):
        uris = {"weights": workload.model.weights and workload.model.weights.uri}
    else:
        uris = {"data": workload.data.uri, "checkpoints": workload.checkpoint.uri}
    return tuple(_bucket(draft, key, uri) for key, uri in uris.items())


def grants(wanted: tuple[BucketWant, ...]) -> tuple[Grant, ...]:
    """Checkpoints are written; everything else is only read."""
    return tuple(Grant(b.key, "write" if b.key == "checkpoints" else "read") for b in wanted)


def _bucket(draft: Draft, key: str, uri: str | None) -> BucketWant:
    hierarchical = draft.candidate.cloud == "gcp"
    if uri is None:
        return BucketWant(key, hierarchical=hierarchical, versioned=not hierarchical)
    scheme, _, rest = uri.partition("://")
    if scheme != SCHEMES[draft.candidate.cloud]:
        raise UserError([_wrong_scheme(uri, draft.candidate.cloud)])
    name, _, prefix = rest.partition("/")
    return BucketWant(key, existing_name=name, prefix=prefix.strip("/"), versioned=False)


def _wrong_scheme(uri: str, cloud: str) -> Problem:
    return Problem(
        code="C-bucket-cloud",
        reason=f"{uri} cannot be read from {cloud} without copying it there first",
        at=At() / "workloads" / 0,
        fix=f"name a {SCHEMES[cloud]}:// URI, or leave it out and a bucket is made",
    )


def lustre(draft: Draft, zone: str, wanted: tuple[BucketWant, ...]) -> LustreWant | None:
    """The cheapest tier and size that holds the capacity and sustains the throughput; None when the spec wants none."""
    if draft.spec.blueprint.storage == "none":
        return None
    need = draft.sizing.storage
    sizes = [(tier, _size_gib(need.capacity_bytes, need.throughput_bytes_per_s, tier)) for tier in TIERS]
    tier, capacity_gib = min(sizes, key=lambda pair: pair[0].usd_per_gib_month * pair[1])
    imports = tuple((f"/{b.key}", b.key) for b in wanted if b.key == "data")
    return LustreWant(capacity_gib, tier.throughput_mb_s_per_tib, zone, imports=imports)


def _size_gib(capacity_bytes: float, throughput_bytes_per_s: float, tier: Tier) -> int:
    tib = throughput_bytes_per_s / (tier.throughput_mb_s_per_tib * 1e6)
    need_gib = max(capacity_bytes * HEADROOM / GIB, tib * 1024)
    if need_gib <= LUSTRE_LEAST_GIB:
        return LUSTRE_LEAST_GIB
    return math.ceil(need_gib / LUSTRE_STEP_GIB) * LUSTRE_STEP_GIB


def data_disk(draft: Draft) -> DiskWant:
    """The box's own volume: the storage need with head-room, 100 GiB at least, gp3 with the throughput the run asks for."""
    need = draft.sizing.storage
    size_gib = max(100, math.ceil(need.capacity_bytes * HEADROOM / GIB / 10) * 10)
    mib_s = min(GP3_MOST_MIB_S, max(GP3_FREE_MIB_S, math.ceil(need.throughput_bytes_per_s / MIB)))
    return DiskWant(size_gib, iops=max(GP3_FREE_IOPS, mib_s * GP3_IOPS_PER_MIB_S), throughput_mib_s=mib_s)
