"""Columns of the data files, and the conversion of their units to bytes, bytes/s, FLOP/s and US dollars."""

from rackwright.catalog.csv_table import (
    GB,
    Parse,
    count,
    many,
    maybe,
    minor,
    number,
    one_of,
    positive,
    same,
    size,
    sourced_table,
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
SIZES = ("min", "second", "step", "max", "large_step", "large_step_above", "server")
MODES = many(CapacityMode)
PINNED_KINDS = (
    "chart",
    "kubernetes",
    "eks-addon",
    "node-image",
    "box-image",
    "server-image",
    "network-image",
    "fabric-image",
    "operator-image",
)
KIND = one_of("gpu", "tpu", "neuron", "cpu", "other")
PRICED = same(yes, "illustrative") | same(words, "notes")
DOUBTS: dict[str, tuple[str, Parse]] = {"conflict": ("conflict", words), "notes": ("notes", words)}

ACCELERATORS = sourced_table(
    "accelerators.csv",
    "name",
    same(text, "name vendor status confidence"),
    same(words, "architecture form_factor api_names memory_reported_by memory_type scale_up_link scale_up_topology generation host_link"),
    same(yes, "serves_only"),
    same(maybe(count), "neuron_cores scale_up_domain"),
    same(many(count), "neuron_degrees"),
    same(many(), "aliases"),
    same(maybe(positive), "tdp_watts"),
    {
        "memory_gb_nameplate": ("nameplate_bytes", maybe(size(GB))),
        "memory_gib_reported": ("reported_bytes", maybe(size(GIB))),
        "memory_bandwidth_gb_s": ("memory_bandwidth_bytes_per_s", maybe(GB_S)),
        **{f"{f}_tflops": (f"{f}_flops", maybe(TERA)) for f in ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "measured_bf16")},
        "int8_tops": ("int8_ops", maybe(TERA)),
        "scale_up_gb_s_bidirectional": ("scale_up_bytes_per_s", maybe(times(1e9 / 2))),
        "host_gb_s": ("host_bytes_per_s", maybe(GB_S)),
    },
    DOUBTS,
)

ACCELERATOR_GENERATIONS = sourced_table(
    "accelerator_generations.csv",
    "generation",
    same(text, "generation confidence"),
    same(words, "host_link"),
    {f"{link}_gb_s": (f"{link}_bytes_per_s", GB_S) for link in ("host", "scale_out")},
    {"slice_gb_s": ("slice_bytes_per_s", maybe(GB_S))},
    same(yes, "vllm_tpu"),
    DOUBTS,
)

AWS_MACHINES = sourced_table(
    "aws_machines.csv",
    "name",
    same(text, "name family accelerator"),
    same(words, "cpu_arch network_performance scale_up_link placement unit_machine quota_on_demand quota_spot quota_capacity_block"),
    same(KIND, "kind"),
    same(count, "accelerator_count unit_nodes"),
    same(positive, "accelerator_fraction"),
    same(
        maybe(count), "vcpus network_cards network_layers enis_per_card enis_total ipv4_per_eni local_nvme_count max_pods scale_up_domain"
    ),
    same(MODES, "capacity_modes"),
    same(yes, "capacity_block orderable"),
    {
        "accelerator_memory_gib": ("accelerator_memory_bytes", maybe(size(GIB))),
        "memory_gib": ("memory_bytes", maybe(size(GIB))),
        **{f"{rate}_gbps": (f"{rate}_bytes_per_s", maybe(GBPS)) for rate in ("network", "network_baseline")},
        "ebs_max_gbps": ("block_storage_bytes_per_s", maybe(GBPS)),
        "local_nvme_gb_each": ("nvme_bytes_each", maybe(size(GB))),
    },
    DOUBTS,
)

AWS_FAMILIES = sourced_table(
    "aws_families.csv",
    "family",
    same(text, "family"),
    same(many(), "node_images"),
    same(words, "no_box_image notes"),
    same(yes, "in_ultraserver"),
)

GCP_MACHINES = sourced_table(
    "gcp_machines.csv",
    "name",
    same(text, "name accelerator cpu_arch boot_disk"),
    same(KIND, "kind"),
    same(words, "gpu_type_id gke_accelerator_label nic_layout local_ssd scale_up_link placement quota_metric"),
    same(maybe(count), "accelerator_count vcpus physical_nics scale_up_domain"),
    same(positive, "accelerator_fraction"),
    same(many(count), "local_ssd_choices"),
    same(yes, "compact_flex_start orderable"),
    same(MODES, "capacity_modes"),
    {
        "series": ("family", text),
        "accelerator_memory_gb_nameplate": ("nameplate_bytes", maybe(size(GB))),
        "memory_gb": ("memory_bytes", maybe(size(GB))),
        "network_gbps": ("network_bytes_per_s", maybe(GBPS)),
        "local_ssd_gib": ("local_ssd_bytes", maybe(size(GIB))),
    },
    DOUBTS,
)

SYSTEM_MACHINES = sourced_table(
    "system_machines.csv",
    "name",
    same(text, "name cloud family cpu_arch"),
    same(words, "network_performance quota_on_demand quota_spot placement notes"),
    same(maybe(count), "vcpus network_cards enis_per_card ipv4_per_eni max_pods"),
    same(MODES, "capacity_modes"),
    {
        "memory_gib": ("memory_bytes", maybe(size(GIB))),
        "memory_gb": ("memory_decimal_bytes", maybe(size(GB))),
        "vcpu_memory_gb_s": ("vcpu_bandwidth_bytes_per_s", maybe(GB_S)),
        "vcpu_bf16_gflops": ("vcpu_bf16_flops", maybe(times(1e9))),
        **{f"{rate}_gbps": (f"{rate}_bytes_per_s", maybe(GBPS)) for rate in ("network", "network_baseline")},
        "ebs_max_gbps": ("block_storage_bytes_per_s", maybe(GBPS)),
    },
)

FABRICS = sourced_table(
    "fabrics.csv",
    "machine",
    same(text, "machine cloud"),
    same(Fabric, "fabric"),
    same(maybe(count), "interfaces lustre_interfaces mtu"),
    same(many(count), "cards ip_cards"),
    same(words, "generation rdma network_profile device_mode first_interface managed_networks_from"),
    same(maybe(yes), "gpudirect needs_whole_fabric"),
    same(count, "gvnic_networks rdma_subnets"),
    same(many(), "gke_min_versions"),
    {"interface_gbps": ("interface_bytes_per_s", maybe(GBPS))},
    DOUBTS,
)

TPU_HOSTS = sourced_table(
    "tpu_hosts.csv",
    "name",
    same(text, "name generation gke_accelerator_label boot_disk"),
    same(count, "chips"),
    same(maybe(count), "vcpus"),
    same(MODES, "capacity_modes"),
    same(words, "quota_on_demand quota_spot slice_interface"),
    {"memory_gb": ("memory_bytes", maybe(size(GB)))},
    DOUBTS,
)

TPU_SLICES = sourced_table(
    "tpu_slices.csv",
    "generation topology gke_machine_type",
    same(text, "generation topology gke_machine_type gke_accelerator_label xpk_type"),
    same(count, "chips tensorcores hosts chips_per_host"),
    same(maybe(text), "tpu_api_type tpu_api_version runtime_version gke_min_version gke_min_version_autopilot"),
    same(yes, "listed workload_policy"),
    {"hbm_gib_per_chip": ("hbm_bytes_per_chip", size(GIB))},
    DOUBTS,
)

PRICES = sourced_table(
    "prices.csv",
    "sku cloud region capacity unit",
    same(text, "sku cloud"),
    same(one_of("node", "chip"), "unit"),
    same(maybe(text), "region"),
    same(CapacityMode, "capacity"),
    same(positive, "usd_per_hour"),
    same(words, "notes"),
)

AVAILABILITY = sourced_table(
    "availability.csv", "sku cloud region", same(text, "sku cloud region"), same(many(), "zones"), same(words, "notes")
)

ZONES = sourced_table("zones.csv", "zone", same(text, "zone cloud region"), same(yes, "control_plane"), same(words, "notes"))

VOLUMES = sourced_table(
    "volumes.csv",
    "name",
    same(text, "name cloud kind"),
    same(words, "tier rules conflict"),
    same(maybe(positive), "max_iops"),
    same(yes, "rdma deprecated"),
    same(many(), "regions"),
    {
        **{f"{r}_mb_s_per_tib": (f"{r}_bytes_per_s_per_tib", maybe(MB_S)) for r in ("read", "write", "burst", "network")},
        **{f"max_{r}_mb_s": (f"max_{r}_bytes_per_s", maybe(MB_S)) for r in ("read", "write")},
        **{f"{s}_gib": (f"{s}_bytes", maybe(size(GIB))) for s in SIZES},
    },
)

STORAGE_PRICES = sourced_table(
    "storage_prices.csv",
    "volume cloud region",
    same(text, "volume cloud"),
    same(maybe(text), "region"),
    PRICED,
    {"usd_per_gib_month": ("usd_per_byte_month", times(1 / GIB))},
)

FEES = sourced_table(
    "fees.csv",
    "name cloud region",
    same(text, "name cloud per"),
    same(maybe(text), "region"),
    same(positive, "usd"),
    PRICED,
)

QUOTAS = sourced_table(
    "quotas.csv",
    "cloud code family capacity scope",
    same(text, "cloud family scope unit"),
    same(words, "code notes"),
    same(maybe(CapacityMode), "capacity"),
    same(maybe(number), "default"),
    same(maybe(yes), "adjustable"),
)

STORAGE_LIMITS = sourced_table(
    "storage_limits.csv", "volume limit", same(text, "volume limit"), same(many(count), "values"), same(words, "notes")
)

SUPPORTED_VERSIONS = sourced_table(
    "supported_versions.csv",
    "component kubernetes_first",
    same(text, "component"),
    same(minor, "kubernetes_first"),
    same(maybe(minor), "kubernetes_last") | same(maybe(count), "older_minors"),
    same(words, "first_release notes"),
)

CAPACITY_RULES = sourced_table(
    "capacity_rules.csv",
    "cloud capacity family rule",
    same(text, "cloud rule"),
    same(words, "family notes"),
    same(maybe(CapacityMode), "capacity"),
    same(positive, "value"),
)
