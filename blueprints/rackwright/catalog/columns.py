"""Columns of the data files, and the conversion of their units to bytes, bytes/s, FLOP/s and US dollars."""

from rackwright.catalog.csv_table import (
    GB,
    Parse,
    Table,
    count,
    date,
    many,
    maybe,
    minor,
    number,
    one_of,
    positive,
    size,
    text,
    times,
    words,
    yes,
)
from rackwright.catalog.rows import CapacityMode, Fabric
from rackwright.units import GIB

GBPS = times(1e9 / 8)
GB_S = times(1e9)
MB_S = times(1e6)
TERA = times(1e12)
MODES = many(CapacityMode)
PINNED_KINDS = ("chart", "kubernetes", "eks-addon", "node-image", "server-image")
KIND = one_of("gpu", "tpu", "neuron", "cpu", "other")
ORIGIN: dict[str, tuple[str, Parse]] = {"source": ("source", text), "as_of": ("as_of", date)}
DOUBTS: dict[str, tuple[str, Parse]] = {"conflict": ("conflict", words), "notes": ("notes", words)}


def _same(parse: Parse, columns: str) -> dict[str, tuple[str, Parse]]:
    """Return columns whose values have the name of the column. columns: names, separated by spaces."""
    return {column: (column, parse) for column in columns.split()}


def _table(file: str, key: str, *columns: dict[str, tuple[str, Parse]]) -> Table:
    """Return a table of which each row has a source and a date. key: columns that identify a row, separated by spaces."""
    return Table(file, tuple(key.split()), {name: parse for part in (*columns, ORIGIN) for name, parse in part.items()})


ACCELERATORS = _table(
    "accelerators.csv",
    "name",
    _same(text, "name vendor status confidence"),
    _same(words, "architecture form_factor api_names memory_reported_by memory_type scale_up_link scale_up_topology generation"),
    _same(words, "host_link"),
    _same(yes, "serves_only"),
    _same(maybe(count), "neuron_cores scale_up_domain"),
    _same(many(count), "neuron_degrees"),
    _same(many(), "aliases"),
    _same(maybe(positive), "tdp_watts"),
    {
        "memory_gb_nameplate": ("nameplate_bytes", maybe(size(GB))),
        "memory_gib_reported": ("reported_bytes", maybe(size(GIB))),
        "memory_bandwidth_gb_s": ("memory_bandwidth_bytes_per_s", maybe(GB_S)),
        **{f"{f}_tflops": (f"{f}_flops", maybe(TERA)) for f in ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "measured_bf16")},
        "int8_tops": ("int8_ops", maybe(TERA)),
        "scale_up_gb_s_bidirectional": ("scale_up_bytes_per_s", maybe(times(1e9 / 2))),
    },
    DOUBTS,
)

AWS_MACHINES = _table(
    "aws_machines.csv",
    "name",
    _same(text, "name family accelerator"),
    _same(words, "cpu_arch network_performance scale_up_link placement unit_machine quota_on_demand quota_spot quota_capacity_block"),
    _same(KIND, "kind"),
    _same(count, "accelerator_count unit_nodes"),
    _same(positive, "accelerator_fraction"),
    _same(
        maybe(count), "vcpus network_cards network_layers enis_per_card enis_total ipv4_per_eni local_nvme_count max_pods scale_up_domain"
    ),
    _same(MODES, "capacity_modes"),
    _same(yes, "capacity_block orderable"),
    {
        "accelerator_memory_gib": ("accelerator_memory_bytes", maybe(size(GIB))),
        "memory_gib": ("memory_bytes", maybe(size(GIB))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "ebs_max_gbps": ("block_storage_bytes_per_s", maybe(GBPS)),
        "local_nvme_gb_each": ("nvme_bytes_each", maybe(size(GB))),
    },
    DOUBTS,
)

AWS_FAMILIES = _table(
    "aws_families.csv",
    "family",
    _same(text, "family"),
    _same(many(), "node_images"),
    _same(words, "no_box_image notes"),
    _same(yes, "in_ultraserver"),
)

GCP_MACHINES = _table(
    "gcp_machines.csv",
    "name",
    _same(text, "name accelerator cpu_arch boot_disk"),
    _same(KIND, "kind"),
    _same(words, "gpu_type_id gke_accelerator_label nic_layout local_ssd scale_up_link placement quota_metric"),
    _same(maybe(count), "accelerator_count vcpus physical_nics scale_up_domain"),
    _same(positive, "accelerator_fraction"),
    _same(many(count), "local_ssd_choices"),
    _same(yes, "compact_flex_start orderable"),
    _same(MODES, "capacity_modes"),
    {
        "series": ("family", text),
        "accelerator_memory_gb_nameplate": ("nameplate_bytes", maybe(size(GB))),
        "memory_gb": ("memory_bytes", maybe(size(GB))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "local_ssd_gib": ("local_ssd_bytes", maybe(size(GIB))),
    },
    DOUBTS,
)

SYSTEM_MACHINES = _table(
    "system_machines.csv",
    "name",
    _same(text, "name cloud family cpu_arch"),
    _same(words, "network_performance quota_on_demand quota_spot placement notes"),
    _same(maybe(count), "vcpus network_cards enis_per_card ipv4_per_eni max_pods"),
    _same(MODES, "capacity_modes"),
    {
        "memory_gib": ("memory_bytes", maybe(size(GIB))),
        "memory_gb": ("memory_decimal_bytes", maybe(size(GB))),
        "vcpu_memory_gb_s": ("vcpu_bandwidth_bytes_per_s", maybe(GB_S)),
        "vcpu_bf16_gflops": ("vcpu_bf16_flops", maybe(times(1e9))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "ebs_max_gbps": ("block_storage_bytes_per_s", maybe(GBPS)),
    },
)

FABRICS = _table(
    "fabrics.csv",
    "machine",
    _same(text, "machine cloud"),
    _same(Fabric, "fabric"),
    _same(maybe(count), "interfaces lustre_interfaces mtu"),
    _same(many(count), "cards ip_cards"),
    _same(words, "generation rdma network_profile device_mode first_interface"),
    _same(maybe(yes), "gpudirect needs_whole_fabric"),
    _same(count, "gvnic_networks rdma_subnets"),
    _same(many(), "gke_min_versions"),
    {
        "interface_gbps": ("interface_bytes_per_s", maybe(GBPS)),
    },
    DOUBTS,
)

TPU_HOSTS = _table(
    "tpu_hosts.csv",
    "name",
    _same(text, "name generation gke_accelerator_label boot_disk"),
    _same(count, "chips"),
    _same(maybe(count), "vcpus"),
    _same(MODES, "capacity_modes"),
    _same(words, "quota_on_demand quota_spot"),
    {
        "memory_gb": ("memory_bytes", maybe(size(GB))),
    },
    DOUBTS,
)

TPU_SLICES = _table(
    "tpu_slices.csv",
    "generation topology gke_machine_type",
    _same(text, "generation topology gke_machine_type gke_accelerator_label xpk_type"),
    _same(count, "chips tensorcores hosts chips_per_host"),
    _same(maybe(text), "tpu_api_type tpu_api_version runtime_version gke_min_version gke_min_version_autopilot"),
    _same(yes, "listed"),
    {
        "hbm_gib_per_chip": ("hbm_bytes_per_chip", size(GIB)),
    },
    DOUBTS,
)

SERVERS = _table(
    "servers.csv",
    "name",
    _same(text, "name machine vendor accelerator form_factor"),
    _same(words, "cpu memory_words local_storage power_supplies scale_up scale_out notes"),
    _same(count, "accelerator_count"),
    _same(maybe(positive), "power_supply_watts"),
    _same(Fabric, "fabric"),
    _same(maybe(count), "fabric_interfaces"),
    {
        "max_memory_gb": ("max_memory_bytes", maybe(size(GB))),
        "fabric_interface_gbps": ("fabric_interface_bytes_per_s", maybe(GBPS)),
    },
)

PRICES = _table(
    "prices.csv",
    "sku cloud region capacity unit",
    _same(text, "sku cloud"),
    _same(one_of("node", "chip"), "unit"),
    _same(maybe(text), "region"),
    _same(CapacityMode, "capacity"),
    _same(positive, "usd_per_hour"),
    _same(words, "notes"),
)

AVAILABILITY = _table(
    "availability.csv",
    "sku cloud region",
    _same(text, "sku cloud region"),
    _same(many(), "zones"),
    _same(words, "notes"),
)

ZONES = _table(
    "zones.csv",
    "zone",
    _same(text, "zone cloud region"),
    _same(yes, "control_plane"),
    _same(words, "notes"),
)

VOLUMES = _table(
    "volumes.csv",
    "name",
    _same(text, "name cloud kind"),
    _same(words, "tier rules conflict"),
    _same(maybe(positive), "max_iops"),
    _same(yes, "rdma deprecated"),
    {
        **{f"{r}_mb_s_per_tib": (f"{r}_bytes_per_s_per_tib", maybe(MB_S)) for r in ("read", "write", "burst")},
        "max_read_mb_s": ("max_read_bytes_per_s", maybe(MB_S)),
        "max_write_mb_s": ("max_write_bytes_per_s", maybe(MB_S)),
        **{f"{s}_gib": (f"{s}_bytes", maybe(size(GIB))) for s in ("min", "second", "step", "max", "large_step", "large_step_above")},
    },
)

STORAGE_PRICES = _table(
    "storage_prices.csv",
    "volume cloud region",
    _same(text, "volume cloud"),
    _same(maybe(text), "region"),
    _same(words, "notes"),
    {
        "usd_per_gib_month": ("usd_per_byte_month", times(1 / GIB)),
    },
)

FEES = _table(
    "fees.csv",
    "name cloud region",
    _same(text, "name cloud per"),
    _same(maybe(text), "region"),
    _same(positive, "usd"),
    _same(words, "notes"),
)

QUOTAS = _table(
    "quotas.csv",
    "cloud code family capacity scope",
    _same(text, "cloud family scope unit"),
    _same(words, "code notes"),
    _same(maybe(CapacityMode), "capacity"),
    _same(maybe(number), "default"),
    _same(maybe(yes), "adjustable"),
)

STORAGE_LIMITS = _table(
    "storage_limits.csv",
    "volume limit",
    _same(text, "volume limit"),
    _same(many(count), "values"),
    _same(words, "notes"),
)

SUPPORTED_VERSIONS = _table(
    "supported_versions.csv",
    "component kubernetes_first",
    _same(text, "component"),
    _same(minor, "kubernetes_first"),
    _same(maybe(minor), "kubernetes_last"),
    _same(words, "first_release notes"),
)

VERSIONS = _table(
    "versions.csv",
    "kind name",
    _same(one_of(*PINNED_KINDS), "kind"),
    _same(text, "name"),
    _same(words, "version chart repository notes"),
)

CAPACITY_RULES = _table(
    "capacity_rules.csv",
    "cloud capacity family rule",
    _same(text, "cloud rule"),
    _same(words, "family notes"),
    _same(CapacityMode, "capacity"),
    _same(positive, "value"),
)
