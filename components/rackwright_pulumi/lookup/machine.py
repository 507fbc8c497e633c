"""Our row of a machine against what EC2 says of it."""

from collections.abc import Iterator
from typing import Any

from rackwright.catalog.rows import Machine

MIB, GB = 2**20, 10**9


def differences(ours: Machine, theirs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(field, our value, EC2's value) where both are known and not the same. theirs: an entry of DescribeInstanceTypes."""
    network = theirs.get("NetworkInfo", {})
    for field, mine, other in (
        ("vCPUs", ours.vcpus, theirs.get("VCpuInfo", {}).get("DefaultVCpus")),
        ("memory (MiB)", ours.memory_bytes and ours.memory_bytes // MIB, theirs.get("MemoryInfo", {}).get("SizeInMiB")),
        ("network cards", ours.network_cards, network.get("MaximumNetworkCards")),
        ("EFA interfaces", ours.efa_interfaces, network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0) if network else None),
        ("addresses per interface", ours.ipv4_per_eni, network.get("Ipv4AddressesPerInterface")),
        ("accelerators", ours.accelerator_count, _accelerators(theirs)),
        (
            "local disks (GB)",
            ours.local_nvme_bytes and round(ours.local_nvme_bytes / GB),
            theirs.get("InstanceStorageInfo", {}).get("TotalSizeInGB"),
        ),
    ):
        if mine is not None and other is not None and mine != other:
            yield field, mine, other


def _accelerators(theirs: dict[str, Any]) -> int | None:
    """Of GPUs, Neuron devices or other accelerators; None where EC2 lists none."""
    for info, rows in (("GpuInfo", "Gpus"), ("NeuronInfo", "NeuronDevices"), ("InferenceAcceleratorInfo", "Accelerators")):
        if info in theirs:
            return sum(row.get("Count", 0) for row in theirs[info].get(rows, []))
    return None
