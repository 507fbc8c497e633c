"""Columns of the data files, and the conversion of their units to bytes, bytes/s, FLOP/s and US dollars."""

from rackwright.catalog.csv_table import GB, Parse, Table, count, date, many, maybe, number, one_of, positive, size, text, times, words, yes
from rackwright.catalog.rows import CapacityMode, Fabric
from rackwright.units import GIB

GBPS = times(1e9 / 8)
GB_S = times(1e9)
MB_S = times(1e6)
TERA = times(1e12)
MODES = many(CapacityMode)
KIND = one_of("gpu", "tpu", "neuron", "cpu", "other")
ORIGIN: dict[str, tuple[str, Parse]] = {"source": ("source", text), "as_of": ("as_of", date)}
DOUBTS: dict[str, tuple[str, Parse]] = {"conflict": ("conflict", words), "notes": ("notes", words)}


def _same(parse: Parse, *columns: str) -> dict[str, tuple[str, Parse]]:
    """Return columns whose values have the name of the column."""
    return {column: (column, parse) for column in columns}


ACCELERATORS = Table(
    "accelerators.csv",
    ("name",),
    {
        **_same(text, "name", "vendor", "status", "confidence"),
        **_same(
            words, "architecture", "form_factor", "api_names", "memory_reported_by", "memory_type", "scale_up_link", "scale_up_topology"
        ),
        **_same(words, "generation", "host_link"),
        "serves_only": ("serves_only", yes),
        "neuron_cores": ("neuron_cores", maybe(count)),
        "neuron_degrees": ("neuron_degrees", many(count)),
        "aliases": ("aliases", many()),
        "memory_gb_nameplate": ("nameplate_bytes", maybe(size(GB))),
        "memory_gib_reported": ("reported_bytes", maybe(size(GIB))),
        "memory_bandwidth_gb_s": ("memory_bandwidth_bytes_per_s", maybe(GB_S)),
        **{f"{f}_tflops": (f"{f}_flops", maybe(TERA)) for f in ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "measured_bf16")},
        "int8_tops": ("int8_ops", maybe(TERA)),
        "scale_up_gb_s_bidirectional": ("scale_up_bytes_per_s", maybe(times(1e9 / 2))),
        "scale_up_domain": ("scale_up_domain", maybe(count)),
        "tdp_watts": ("tdp_watts", maybe(positive)),
        **DOUBTS,
        **ORIGIN,
    },
)

AWS_MACHINES = Table(
    "aws_machines.csv",
    ("name",),
    {
        **_same(text, "name", "family", "accelerator"),
        "cpu_arch": ("cpu_arch", words),
        "kind": ("kind", KIND),
        **_same(words, "network_performance", "scale_up_link", "placement", "unit_machine"),
        **_same(words, "quota_on_demand", "quota_spot", "quota_capacity_block"),
        **_same(count, "accelerator_count", "unit_nodes"),
        "accelerator_fraction": ("accelerator_fraction", positive),
        "accelerator_memory_gib": ("accelerator_memory_bytes", maybe(size(GIB))),
        **_same(maybe(count), "vcpus", "network_cards", "enis_per_card", "enis_total", "ipv4_per_eni", "local_nvme_count", "max_pods"),
        "scale_up_domain": ("scale_up_domain", maybe(count)),
        "memory_gib": ("memory_bytes", maybe(size(GIB))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "ebs_max_gbps": ("block_storage_bytes_per_s", maybe(GBPS)),
        "local_nvme_gb_each": ("nvme_bytes_each", maybe(size(GB))),
        "capacity_modes": ("capacity_modes", MODES),
        **_same(yes, "capacity_block", "orderable"),
        **DOUBTS,
        **ORIGIN,
    },
)

AWS_FAMILIES = Table(
    "aws_families.csv",
    ("family",),
    {
        "family": ("family", text),
        "node_images": ("node_images", many()),
        **_same(words, "no_box_image", "notes"),
        **_same(yes, "in_ultraserver", "reports_topology"),
        **ORIGIN,
    },
)

GCP_MACHINES = Table(
    "gcp_machines.csv",
    ("name",),
    {
        **_same(text, "name", "accelerator", "cpu_arch"),
        "kind": ("kind", KIND),
        "series": ("family", text),
        **_same(words, "gpu_type_id", "gke_accelerator_label", "nic_layout", "local_ssd", "scale_up_link", "placement", "quota_metric"),
        "accelerator_count": ("accelerator_count", maybe(count)),
        "accelerator_fraction": ("accelerator_fraction", positive),
        "accelerator_memory_gb_nameplate": ("nameplate_bytes", maybe(size(GB))),
        **_same(maybe(count), "vcpus", "physical_nics", "scale_up_domain"),
        "memory_gb": ("memory_bytes", maybe(size(GB))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "local_ssd_choices": ("local_ssd_choices", many(count)),
        "local_ssd_gib": ("local_ssd_bytes", maybe(size(GIB))),
        "boot_disk": ("boot_disk", text),
        "compact_flex_start": ("compact_flex_start", yes),
        "capacity_modes": ("capacity_modes", MODES),
        "orderable": ("orderable", yes),
        **DOUBTS,
        **ORIGIN,
    },
)

SYSTEM_MACHINES = Table(
    "system_machines.csv",
    ("name",),
    {
        **_same(text, "name", "cloud", "family", "cpu_arch"),
        **_same(words, "network_performance", "quota_on_demand", "quota_spot", "placement", "notes"),
        **_same(maybe(count), "vcpus", "network_cards", "enis_per_card", "ipv4_per_eni", "max_pods"),
        "memory_gib": ("memory_bytes", maybe(size(GIB))),
        "memory_gb": ("memory_decimal_bytes", maybe(size(GB))),
        "vcpu_memory_gb_s": ("vcpu_bandwidth_bytes_per_s", maybe(GB_S)),
        "vcpu_bf16_gflops": ("vcpu_bf16_flops", maybe(times(1e9))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "ebs_max_gbps": ("block_storage_bytes_per_s", maybe(GBPS)),
        "capacity_modes": ("capacity_modes", MODES),
        **ORIGIN,
    },
)

FABRICS = Table(
    "fabrics.csv",
    ("machine",),
    {
        **_same(text, "machine", "cloud"),
        "fabric": ("fabric", Fabric),
        "interfaces": ("interfaces", maybe(count)),
        "interface_gbps": ("interface_bytes_per_s", maybe(GBPS)),
        **_same(many(count), "cards", "ip_cards"),
        **_same(words, "generation", "rdma", "network_profile", "device_mode", "first_interface"),
        **_same(maybe(yes), "gpudirect", "needs_whole_fabric"),
        "lustre_interfaces": ("lustre_interfaces", maybe(count)),
        **_same(count, "gvnic_networks", "rdma_subnets"),
        "mtu": ("mtu", maybe(count)),
        "gke_min_versions": ("gke_min_versions", many()),
        **DOUBTS,
        **ORIGIN,
    },
)

TPU_HOSTS = Table(
    "tpu_hosts.csv",
    ("name",),
    {
        **_same(text, "name", "generation", "gke_accelerator_label", "boot_disk"),
        "chips": ("chips", count),
        "vcpus": ("vcpus", maybe(count)),
        "memory_gb": ("memory_bytes", maybe(size(GB))),
        "capacity_modes": ("capacity_modes", MODES),
        **_same(words, "quota_on_demand", "quota_spot"),
        **DOUBTS,
        **ORIGIN,
    },
)

TPU_SLICES = Table(
    "tpu_slices.csv",
    ("generation", "topology", "gke_machine_type"),
    {
        **_same(text, "generation", "topology", "gke_machine_type", "gke_accelerator_label", "xpk_type"),
        **_same(count, "chips", "tensorcores", "hosts", "chips_per_host"),
        **_same(maybe(text), "tpu_api_type", "tpu_api_version", "runtime_version", "gke_min_version", "gke_min_version_autopilot"),
        "hbm_gib_per_chip": ("hbm_bytes_per_chip", size(GIB)),
        "listed": ("listed", yes),
        **DOUBTS,
        **ORIGIN,
    },
)

SERVERS = Table(
    "servers.csv",
    ("name",),
    {
        **_same(text, "name", "machine", "vendor", "accelerator", "form_factor"),
        **_same(words, "cpu", "memory_words", "local_storage", "power_supplies", "scale_up", "scale_out", "notes"),
        "accelerator_count": ("accelerator_count", count),
        "max_memory_gb": ("max_memory_bytes", maybe(size(GB))),
        "power_supply_watts": ("power_supply_watts", maybe(positive)),
        "fabric": ("fabric", Fabric),
        "fabric_interfaces": ("fabric_interfaces", maybe(count)),
        "fabric_interface_gbps": ("fabric_interface_bytes_per_s", maybe(GBPS)),
        **ORIGIN,
    },
)

PRICES = Table(
    "prices.csv",
    ("sku", "cloud", "region", "capacity", "unit"),
    {
        **_same(text, "sku", "cloud"),
        "unit": ("unit", one_of("node", "chip")),
        "region": ("region", maybe(text)),
        "capacity": ("capacity", CapacityMode),
        "usd_per_hour": ("usd_per_hour", positive),
        "notes": ("notes", words),
        **ORIGIN,
    },
)

AVAILABILITY = Table(
    "availability.csv",
    ("sku", "cloud", "region"),
    {**_same(text, "sku", "cloud", "region"), "zones": ("zones", many()), "notes": ("notes", words), **ORIGIN},
)

VOLUMES = Table(
    "volumes.csv",
    ("name",),
    {
        **_same(text, "name", "cloud", "kind"),
        **_same(words, "tier", "rules", "conflict"),
        **{f"{r}_mb_s_per_tib": (f"{r}_bytes_per_s_per_tib", maybe(MB_S)) for r in ("read", "write", "burst")},
        "max_read_mb_s": ("max_read_bytes_per_s", maybe(MB_S)),
        "max_write_mb_s": ("max_write_bytes_per_s", maybe(MB_S)),
        "max_iops": ("max_iops", maybe(positive)),
        **{f"{s}_gib": (f"{s}_bytes", maybe(size(GIB))) for s in ("min", "second", "step", "max", "large_step", "large_step_above")},
        **_same(yes, "rdma", "deprecated"),
        **ORIGIN,
    },
)

STORAGE_PRICES = Table(
    "storage_prices.csv",
    ("volume", "cloud", "region"),
    {
        **_same(text, "volume", "cloud"),
        "region": ("region", maybe(text)),
        "usd_per_gib_month": ("usd_per_byte_month", times(1 / GIB)),
        "notes": ("notes", words),
        **ORIGIN,
    },
)

FEES = Table(
    "fees.csv",
    ("name", "cloud", "region"),
    {
        **_same(text, "name", "cloud", "per"),
        "region": ("region", maybe(text)),
        "usd": ("usd", positive),
        "notes": ("notes", words),
        **ORIGIN,
    },
)

QUOTAS = Table(
    "quotas.csv",
    ("cloud", "code", "family", "capacity", "scope"),
    {
        **_same(text, "cloud", "family", "scope", "unit"),
        **_same(words, "code", "notes"),
        "capacity": ("capacity", maybe(CapacityMode)),
        "default": ("default", maybe(number)),
        "adjustable": ("adjustable", maybe(yes)),
        **ORIGIN,
    },
)

CAPACITY_RULES = Table(
    "capacity_rules.csv",
    ("cloud", "capacity", "family", "rule"),
    {
        **_same(text, "cloud", "rule"),
        **_same(words, "family", "notes"),
        "capacity": ("capacity", CapacityMode),
        "value": ("value", positive),
        **ORIGIN,
    },
)
