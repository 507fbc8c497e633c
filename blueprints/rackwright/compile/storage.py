"""Buckets from the spec's URIs, a Lustre file system from the storage need, disks."""

import math

from rackwright.catalog.rows import Fabric, Volume
from rackwright.compile.draft import Draft
from rackwright.compile.hardware import volume_facts
from rackwright.compile.wants import BucketWant, DiskWant, Grant, LustreWant
from rackwright.errors import UserError
from rackwright.problems import At, Problem
from rackwright.sizing.plan import StorageNeed
from rackwright.spec.workload import TRAINING, Serve
from rackwright.units import GIB

MIB = 2**20
TIB = 2**40
SCHEMES = {"aws": "s3", "gcp": "gs"}
HUB = "hf://"
"""Weights the program downloads from the Hugging Face hub by itself."""
WRITTEN = ("checkpoints", "results")


LUSTRE_TIERS = (125, 250, 500, 1000)
"""MB/s per TiB of FSx for Lustre PERSISTENT_2 SSD, the only class with data repositories and EFA (recipes V-49)."""
TCP_CLIENT_BYTES_PER_S = 12.5e9
"""What one machine takes from the file system over ENA (100 Gbit/s); more needs the file system on EFA (FSx performance guide)."""
HEADROOM = 1.2
"""A file system slows and fails when full: a fifth is left free."""
GP3_FREE_MIB_S, GP3_MOST_MIB_S, GP3_FREE_IOPS, GP3_IOPS_PER_MIB_S = 125, 2000, 3000, 4
"""gp3: 3,000 IOPS and 125 MiB/s included, 2,000 MiB/s at most, a quarter MiB/s per IOPS (AWS EBS documentation, 2025-09)."""


def buckets(draft: Draft) -> tuple[BucketWant, ...]:
    """What the workload reads and writes: existing where the spec names a URI of this cloud, else created."""
    workload = draft.spec.workload
    weights = workload.model.weights.uri if workload.model.weights else None
    uris: dict[str, str | None] = {}
    if isinstance(workload, TRAINING):
        uris |= {"data": workload.data.uri, "checkpoints": workload.checkpoint.uri} | ({"weights": weights} if weights else {})
    else:
        uris |= {"weights": weights} | ({} if isinstance(workload, Serve) else {"results": None})
    return tuple(_bucket(draft, key, uri) for key, uri in uris.items() if not (uri or "").startswith(HUB))


def grants(wanted: tuple[BucketWant, ...]) -> tuple[Grant, ...]:
    """Checkpoints and results are written; everything else is only read."""
    return tuple(Grant(b.key, "write" if b.key in WRITTEN else "read") for b in wanted)


def _bucket(draft: Draft, key: str, uri: str | None) -> BucketWant:
    hierarchical = draft.candidate.cloud == "gcp"
    if uri is None:
        folder = draft.sizing.facts.model if key == "weights" else ""
        return BucketWant(key, prefix=folder, hierarchical=hierarchical, versioned=not hierarchical)
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
    rdma = draft.machine.fabric is Fabric.EFA and need.throughput_bytes_per_s > TCP_CLIENT_BYTES_PER_S * draft.candidate.nodes
    sizes = [(tier, *_sized(need, volume_facts(f"fsx-lustre-persistent2-{tier}{'-efa' if rdma else ''}"))) for tier in LUSTRE_TIERS]
    tier, capacity_bytes, _ = min(sizes, key=lambda row: row[2])
    imports = tuple((f"/{b.key}", b.key) for b in wanted if b.key == "data")
    return LustreWant(capacity_bytes // GIB, tier, zone, imports=imports, rdma=rdma)


def _sized(need: StorageNeed, tier: Volume) -> tuple[int, float]:
    """Bytes to buy of a tier and US dollars per month; infinite when the tier cannot hold it or its price is not published."""
    for_throughput = need.throughput_bytes_per_s / (tier.read_bytes_per_s_per_tib or 1) * TIB
    size = tier.allowed_bytes(max(need.capacity_bytes * HEADROOM, for_throughput))
    if size is None:
        return 0, math.inf
    price = tier.price_usd_per_byte_month
    return size, math.inf if price is None else size * price


def data_disk(draft: Draft) -> DiskWant:
    """The box's own volume: the storage need with head-room, 100 GiB at least, gp3 with the throughput the run asks for."""
    need = draft.sizing.storage
    size_gib = max(100, math.ceil(need.capacity_bytes * HEADROOM / GIB / 10) * 10)
    mib_s = min(GP3_MOST_MIB_S, max(GP3_FREE_MIB_S, math.ceil(need.throughput_bytes_per_s / MIB)))
    return DiskWant(size_gib, iops=max(GP3_FREE_IOPS, mib_s * GP3_IOPS_PER_MIB_S), throughput_mib_s=mib_s)
