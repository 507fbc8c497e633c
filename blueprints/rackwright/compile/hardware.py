"""Facts of machines the compiler needs, read from the catalog."""

from rackwright.catalog.rows import Fabric, Machine

GIB = 2**30


def machine_facts(cloud: str, name: str) -> Machine:
    """The catalog row of a machine. Raises KeyError when there is none."""
    return _STUB[cloud, name]


def _row(name: str, cloud: str, kind: str, accelerator: str, count: int, vcpus: int, memory_gib: int, gbps: float, **more) -> Machine:
    return Machine(
        name=name,
        cloud=cloud,
        family=name.split(".")[0],
        kind=kind,
        accelerator=accelerator,
        accelerator_count=count,
        accelerator_memory_bytes=None,
        vcpus=vcpus,
        memory_bytes=memory_gib * GIB,
        cpu_arch="x86_64",
        network_bytes_per_s=gbps * 1e9 / 8,
        source="",
        as_of="",
        **more,
    )


def _efa(interfaces: int, cards: int, enis: int, card0: bool = True) -> dict:
    first = 0 if card0 else 1
    return {
        "fabric": Fabric.EFA,
        "fabric_interfaces": interfaces,
        "efa_interfaces": interfaces,
        "network_cards": cards,
        "enis_per_card": enis,
        "card0_efa": card0,
        "efa_cards": tuple(range(first, cards)),
        "local_nvme_count": 8,
        "local_nvme_bytes": 30_400_000_000_000,
    }


_ROWS = [
    _row("g6e.2xlarge", "aws", "gpu", "NVIDIA L40S", 1, 8, 64, 20, local_nvme_count=1, local_nvme_bytes=450_000_000_000),
    _row("g6.2xlarge", "aws", "gpu", "NVIDIA L4", 1, 8, 32, 10, local_nvme_count=1, local_nvme_bytes=450_000_000_000),
    _row("p5.48xlarge", "aws", "gpu", "NVIDIA H100 80GB SXM5", 8, 192, 2048, 3200, **_efa(32, 32, 2)),
    _row("p5en.48xlarge", "aws", "gpu", "NVIDIA H200 141GB SXM5", 8, 192, 2048, 3200, **_efa(16, 16, 4)),
    _row("p6-b300.48xlarge", "aws", "gpu", "NVIDIA B300 SXM", 8, 192, 4096, 6400, **_efa(16, 17, 4, card0=False)),
    _row("g2-standard-12", "gcp", "gpu", "NVIDIA L4", 1, 12, 48, 16, gke_accelerator_label="nvidia-l4", local_nvme_count=1),
    _row(
        "ct6e-standard-4t", "gcp", "tpu", "TPU v6e (Trillium)", 4, 180, 720, 200, gke_accelerator_label="tpu-v6e-slice", fabric=Fabric.ICI
    ),
]
_STUB = {(row.cloud, row.name): row for row in _ROWS}
