"""Conversion of CSV records to rows, with joins of machine, fabric, accelerator and price."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from rackwright.catalog.csv_table import Record
from rackwright.catalog.rows import Accelerator, CapacityMode, Fabric, FabricLayout, Machine, Server, StoragePrice, TpuSlice, Volume
from rackwright.clouds import AWS, GCP, KUBERNETES

ACCELERATOR_FIELDS = {field.name for field in fields(Accelerator)}
MACHINE_FIELDS = {field.name for field in fields(Machine)}
FAMILY_FIELDS = {"node_images", "no_box_image", "in_ultraserver"}
Known = Mapping[str, Accelerator]


def accelerator(record: Record) -> Accelerator:
    memory_bytes = record["reported_bytes"] or record["nameplate_bytes"]
    return Accelerator(memory_bytes=memory_bytes, **_only(record, ACCELERATOR_FIELDS))


def aws(record: Record, known: Known, layouts: Mapping[str, FabricLayout], families: Mapping[str, Record]) -> Machine:
    nvme, memory_bytes = record["local_nvme_count"], _memory(record, known)
    return Machine(
        **_only(record, MACHINE_FIELDS - {"accelerator_memory_bytes", "local_nvme_bytes"}),
        **_only(families[record["family"]], FAMILY_FIELDS),
        **_fabric(layouts.get(record["name"])),
        cloud=AWS.name,
        accelerator_memory_bytes=record["accelerator_memory_bytes"] or memory_bytes,
        network_is_peak=record["network_performance"].startswith("Up to"),
        local_nvme_bytes=nvme and nvme * record["nvme_bytes_each"],
    )


def gcp(record: Record, known: Known, layouts: Mapping[str, FabricLayout]) -> Machine:
    quota, disks = record["quota_metric"], record["local_ssd_choices"]
    bundled = record["local_ssd"] == "bundled"
    return Machine(
        **_only(record, MACHINE_FIELDS),
        **_fabric(layouts.get(record["name"]), otherwise=Fabric.TCP if record["family"].startswith("A") else Fabric.NONE),
        cloud=GCP.name,
        accelerator_memory_bytes=_memory(record, known),
        local_nvme_bytes=record["local_ssd_bytes"] if bundled else 0,
        local_nvme_count=disks[0] if bundled and disks else None,
        local_nvme_choices=() if bundled else disks,
        quota_on_demand=quota,
        quota_spot=quota and f"PREEMPTIBLE_{quota}",
    )


def tpu_host(record: Record, known: Known) -> Machine:
    chip = known[record["generation"]]
    return Machine(
        **_only(record, MACHINE_FIELDS),
        cloud=GCP.name,
        family=chip.name,
        kind="tpu",
        accelerator=chip.name,
        accelerator_count=record["chips"],
        accelerator_memory_bytes=chip.memory_bytes,
        cpu_arch="",
        network_bytes_per_s=None,
        fabric=Fabric.ICI,
        fabric_interfaces=None,
        scale_up_link=chip.scale_up_link,
        scale_up_domain=chip.scale_up_domain,
    )


def system(record: Record) -> Machine:
    return Machine(
        **_only(record, MACHINE_FIELDS - {"memory_bytes"}),
        kind="cpu",
        accelerator=None,
        accelerator_count=0,
        accelerator_memory_bytes=None,
        memory_bytes=record["memory_bytes"] or record["memory_decimal_bytes"],
        network_is_peak=record["network_performance"].startswith("Up to"),
        local_nvme_bytes=0,
    )


def owned(server: Server, known: Known) -> Machine:
    """Return an owned server as a machine. CPU, memory and disks are unknown; NICs are those of the reference design."""
    card = known[server.accelerator]
    nic = server.fabric_interface_bytes_per_s
    network = server.fabric_interfaces * nic if server.fabric_interfaces and nic else None
    return Machine(
        name=server.machine,
        cloud=KUBERNETES.name,
        family=server.name,
        kind="gpu",
        accelerator=card.name,
        accelerator_count=server.accelerator_count,
        accelerator_memory_bytes=card.memory_bytes,
        vcpus=None,
        memory_bytes=None,
        cpu_arch="",
        network_bytes_per_s=network,
        fabric=server.fabric,
        fabric_interfaces=server.fabric_interfaces,
        fabric_bytes_per_s=network,
        scale_up_link=server.scale_up,
        scale_up_domain=card.scale_up_domain,
        capacity_modes=(CapacityMode.OWNED,),
        notes=server.notes,
        source=server.source,
        as_of=server.as_of,
    )


def tpu_slice(record: Record, hosts: Mapping[str, Record]) -> TpuSlice:
    host = hosts[record["gke_machine_type"]]
    of_host = {"host_vcpus": host["vcpus"], "host_memory_bytes": host["memory_bytes"], "slice_interface": host["slice_interface"]}
    return TpuSlice(**record, multi_host=record["hosts"] > 1, **of_host)


def volume(record: Record, prices: Iterable[StoragePrice]) -> Volume:
    price = next((row for row in prices if row.volume == record["name"]), None)
    if price is None:
        return Volume(**record)
    return Volume(
        **record,
        price_usd_per_byte_month=price.usd_per_byte_month,
        price_region=price.region,
        price_as_of=price.as_of,
        price_source=price.source,
        price_notes=price.notes,
        price_is_illustrative=price.illustrative,
    )


def _only(record: Record, names: set[str]) -> Record:
    return {name: value for name, value in record.items() if name in names}


def _memory(record: Record, known: Known) -> int | None:
    """Return the memory of one device as the machine exposes it. A vGPU exposes its fraction."""
    whole = known[record["accelerator"]].memory_bytes
    return whole and round(whole * record["accelerator_fraction"])


def _fabric(layout: FabricLayout | None, otherwise: Fabric = Fabric.NONE) -> dict[str, Any]:
    if layout is None:
        return {"fabric": otherwise}
    rate = layout.interface_bytes_per_s
    return {
        "fabric": layout.fabric,
        "fabric_interfaces": layout.interfaces,
        "fabric_bytes_per_s": layout.interfaces * rate if layout.interfaces and rate else None,
        "efa_interfaces": layout.interfaces if layout.fabric is Fabric.EFA else 0,
        "efa_cards": layout.cards,
        "card0_efa": 0 in layout.cards,
        "ip_cards": layout.ip_cards,
        "lustre_interfaces": layout.lustre_interfaces or 0,
        "gpudirect": layout.gpudirect,
        "needs_whole_fabric": bool(layout.needs_whole_fabric),
        "extra_networks": layout.gvnic_networks + layout.rdma_subnets,
    }
