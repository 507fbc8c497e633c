"""Buckets, file systems and disks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BucketPlan:
    """key: `data`, `checkpoints`, `weights`. existing_name set: used, not created. prefix: the folder of it that is used."""

    key: str
    existing_name: str = ""
    prefix: str = ""
    versioned: bool = True
    hierarchical: bool = False
    abort_upload_days: int = 7
    old_versions_days: int = 30
    """Versions that were replaced or deleted are kept so long; their number would grow with every checkpoint."""


@dataclass(frozen=True)
class LustrePlan:
    """kind `ssd`: capacity is bought and throughput_mb_s_per_tib comes with it. kind `tiered`: capacity grows by itself (capacity_gib is
    what is expected, for the bill), throughput_mb_s is bought, and cache_gib of SSD keep what is read often (0: none).
    """

    capacity_gib: int
    throughput_mb_s_per_tib: int
    zone: str
    imports: tuple[tuple[str, str], ...] = ()
    """(path in the file system, bucket key)"""
    rdma: bool = False
    backup_days: int = 7
    kind: str = "ssd"
    """ssd | tiered (FSx for Lustre Intelligent-Tiering)"""
    throughput_mb_s: int | None = None
    cache_gib: int = 0
    metadata_iops: int | None = None
    """None: as many as come with the capacity."""
    exports: tuple[tuple[str, str], ...] = ()
    """(path in the file system, bucket key) that is written back"""
    existing_id: str = ""


@dataclass(frozen=True)
class DiskPlan:
    """One disk of a machine, encrypted. iops and throughput None: what comes with the size."""

    size_gib: int
    iops: int | None = None
    throughput_mib_s: int | None = None
    kind: str = "balanced"
    """balanced (gp3, pd-balanced) | hyperdisk-balanced"""
