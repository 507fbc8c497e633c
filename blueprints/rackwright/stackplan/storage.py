"""Buckets, file systems and disks."""

from dataclasses import dataclass

from rackwright.catalog import query
from rackwright.catalog.read import Catalog


@dataclass(frozen=True)
class BucketPlan:
    """A bucket. key: `data`, `checkpoints`, `weights`. existing_name set: no bucket is created. prefix: folder in the bucket."""

    key: str
    existing_name: str = ""
    prefix: str = ""
    versioned: bool = True
    hierarchical: bool = False
    abort_upload_days: int = 7
    old_versions_days: int = 30
    """Days to keep replaced and deleted versions."""
    expected_gib: float | None = None
    """Expected content, for the bill. None: not known."""


@dataclass(frozen=True)
class LustrePlan:
    """A Lustre file system. kind `ssd`: throughput_mb_s_per_tib is part of the capacity. kind `tiered`: capacity grows with the data
    (capacity_gib is the estimate for the bill), throughput_mb_s is provisioned, and cache_gib is an SSD read cache (0: none). kind
    `dynamic`: the dynamic tier of Managed Lustre, whose rate throughput_mb_s_per_tib is not provisioned.
    """

    capacity_gib: int
    throughput_mb_s_per_tib: int
    zone: str
    imports: tuple[tuple[str, str], ...] = ()
    """(path in the file system, bucket key)"""
    rdma: bool = False
    backup_days: int = 7
    kind: str = "ssd"
    """ssd | tiered (FSx for Lustre Intelligent-Tiering) | dynamic (Managed Lustre)"""
    throughput_mb_s: int | None = None
    cache_gib: int = 0
    metadata_iops: int | None = None
    """None: included with the capacity."""
    exports: tuple[tuple[str, str], ...] = ()
    """(path in the file system, bucket key) to export to"""
    existing_id: str = ""
    clients: int | None = None
    """Nodes that use it at once. None: not known."""
    required_mb_s: int | None = None
    """Throughput that the run needs. None: not known."""
    volume: str = ""
    """Name of its tier in the catalog; in plans without it that of the embedded catalog, empty for a tier that is not sold."""
    mount_name: str = ""
    """Name under which clients mount it; empty where the service assigns one."""

    def __post_init__(self) -> None:
        if self.volume:
            return
        tiers = query.ssd_tiers(Catalog.default(), self.rdma)
        ssd = tiers[self.throughput_mb_s_per_tib].name if self.throughput_mb_s_per_tib in tiers else ""
        object.__setattr__(self, "volume", query.INTELLIGENT_TIERING if self.kind == "tiered" else ssd)


@dataclass(frozen=True)
class DiskPlan:
    """An encrypted disk. iops and throughput None: included with the size."""

    size_gib: int
    iops: int | None = None
    throughput_mib_s: int | None = None
    kind: str = "balanced"
    """balanced (gp3, pd-balanced) | hyperdisk-balanced"""
