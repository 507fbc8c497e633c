"""Every row of the catalog is unique, sourced, dated, plausible, and consistent with the others."""

import csv
import math
import re
from dataclasses import fields, is_dataclass

import pytest
from rackwright.catalog import columns, csv_table, server_columns
from rackwright.catalog.csv_table import DATE
from rackwright.catalog.read import DATA, Catalog
from rackwright.catalog.release import columns as release_columns
from rackwright.catalog.rows import CapacityMode, Fabric
from rackwright.units import GIB

TABLES = [t for module in (columns, server_columns, release_columns) for t in vars(module).values() if isinstance(t, csv_table.Table)]
FILES = [t.file for t in TABLES if t.file not in ("prices.csv", "availability.csv")]
FILES += [f"{kind}_{cloud}.csv" for kind in ("prices", "availability") for cloud in ("aws", "gcp")]
COUNTS = {
    "accelerator_generations.csv": 25,
    "accelerators.csv": 41 + 3 + 50,  # three that only the EC2 API names: V520, AI100, Inferentia1; fifty of published runs
    "aws_families.csv": 30,
    "aws_machines.csv": 92,
    "gcp_machines.csv": 35 + 4,  # four of N1 with attached T4
    "tpu_slices.csv": 190,
    "servers.csv": 8,
}
TODAY = "2026-11-21"
DIGEST = re.compile(r"[^@]+@sha256:[0-9a-f]{64}")
LITTLE_ARITHMETIC = ("NVIDIA P100", "NVIDIA H20", "NVIDIA H20 141GB")
"""No tensor cores, and a part made with fewer."""


def raw(file: str) -> list[dict[str, str]]:
    with open(DATA / file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def rows_of(catalog: Catalog) -> list:
    return [row for field in fields(catalog) if field.name != "digest" for row in getattr(catalog, field.name) if is_dataclass(row)]


def test_no_data_file_is_left_unread():
    assert sorted(FILES) == sorted(path.name for path in DATA.glob("*.csv"))


@pytest.mark.parametrize(("file", "count"), COUNTS.items())
def test_every_researched_row_is_there(file, count):
    assert len(raw(file)) == count


@pytest.mark.parametrize("file", FILES)
def test_every_row_has_source_and_date(file):
    for line, row in enumerate(raw(file), start=2):
        assert len(row["source"]) > 3, f"{file}:{line}"
        assert DATE.fullmatch(row["as_of"]), f"{file}:{line} {row['as_of']}"
        assert row["as_of"] <= TODAY, f"{file}:{line} comes from the future"


@pytest.mark.parametrize("file", FILES)
def test_no_cell_is_a_placeholder(file):
    odd = re.compile(r"\b(tbd|todo|n/a|nan|none|null|unknown|xxx|as above|unnamed)\b|\?", re.IGNORECASE)
    free = {"notes", "conflict", "rules", "status", "source", "no_box_image"}
    cells = [pair for row in raw(file) for pair in row.items()]
    assert [pair for pair in cells if pair[0] not in free and odd.search(pair[1]) and pair != ("fabric", "none")] == []
    assert all(cell == cell.strip() and "\t" not in cell for _, cell in cells)


def test_names_and_aliases_point_to_one_accelerator(catalog):
    names = [name for row in catalog.accelerators for name in {*row.aliases, row.name.lower()}]
    assert sorted(names) == sorted(set(names))
    assert all(alias == alias.lower() for row in catalog.accelerators for alias in row.aliases)


def test_machine_names_are_unique_across_clouds(catalog):
    assert len(catalog.machine_by_name) == len(catalog.machines)


def test_every_accelerator_a_machine_has_is_in_the_catalog(catalog):
    known = {row.name for row in catalog.accelerators}
    assert {m.accelerator for m in catalog.machines if m.accelerator} | {s.generation for s in catalog.slices} <= known


def test_only_announced_machines_are_left_out(catalog):
    assert {row["name"] for row in raw("gcp_machines.csv")} - set(catalog.machine_by_name) == {"a5x"}


def test_bandwidth_and_flops_are_in_plausible_ranges(catalog):
    for row in catalog.accelerators:
        assert row.memory_bytes is None or 7 * GIB < row.memory_bytes < 500 * GIB, row.name
        is_dram = row.memory_type in ("DRAM", "LPDDR4X")
        assert row.memory_bandwidth_bytes_per_s is None or is_dram or 2e11 <= row.memory_bandwidth_bytes_per_s < 3e13, row.name
        assert row.tdp_watts is None or 50 <= row.tdp_watts <= 2000, row.name
        dense = row.bf16_flops or row.fp16_flops
        least, most = 25 if row.name in LITTLE_ARITHMETIC else 60, 1200 if is_dram else 600
        if dense and row.memory_bandwidth_bytes_per_s:
            assert least < dense / row.memory_bandwidth_bytes_per_s < most, f"{row.name}: FLOP per byte; with sparsity, or a wrong unit?"


def test_a_narrower_format_is_never_slower_unless_the_row_has_a_conflict(catalog):
    for row in catalog.accelerators:
        ladder = [peak for peak in (row.fp32_flops, row.tf32_flops, row.bf16_flops, row.fp8_flops, row.fp4_flops) if peak]
        assert ladder == sorted(ladder), row.name
        assert not row.fp8_flops or not row.bf16_flops or row.fp8_flops <= 4.4 * row.bf16_flops, row.name


@pytest.mark.parametrize(
    ("name", "bf16_tflops"),
    [("h100", 989), ("h200", 989), ("b200", 2250), ("l4", 121), ("rtx-pro-6000", 467.8), ("a100-80gb", 312), ("v5e", 197), ("v6e", 918)],
)
def test_peaks_are_dense_not_the_vendor_pages_sparse_figures(catalog, name, bf16_tflops):
    assert catalog.accelerator_by_name[name].bf16_flops == pytest.approx(bf16_tflops * 1e12)


def test_scale_up_is_one_direction(catalog):
    assert catalog.accelerator_by_name["h100"].scale_up_bytes_per_s == 450e9
    assert catalog.accelerator_by_name["b200"].scale_up_bytes_per_s == 900e9
    assert catalog.accelerator_by_name["l40s"].scale_up_bytes_per_s is None


def test_unpublished_peaks_stay_unknown(catalog):
    t4g = catalog.accelerator_by_name["t4g"]
    assert t4g.bf16_flops is None
    assert not t4g.supports("bf16")
    assert not catalog.accelerator_by_name["v100"].supports("bf16")
    assert catalog.accelerator_by_name["h100"].supports("fp8")
    with pytest.raises(ValueError, match="nf4"):
        t4g.supports("nf4")


def test_trainium2_memory_is_the_neuron_figure_not_the_api_one(catalog):
    assert catalog.machine_by_name["trn2.48xlarge"].accelerator_memory_bytes == 96 * GIB
    assert "512" in catalog.machine_by_name["trn2.48xlarge"].conflict


def test_rows_with_conflicts_keep_them(catalog):
    doubted = {"NVIDIA B300 SXM (Blackwell Ultra)", "NVIDIA GB300 (per GPU)", "NVIDIA RTX PRO 6000 Blackwell Server Edition"}
    assert doubted <= {row.name for row in catalog.accelerators if row.conflict}
    assert {"p6e-gb200.36xlarge", "dl1.24xlarge", "a3-highgpu-8g", "ct6e-standard-1t"} <= {m.name for m in catalog.machines if m.conflict}
    assert "20,448,000" in catalog.volume_by_name["managed-lustre-125"].conflict


def test_machine_memory_agrees_with_its_accelerator(catalog):
    cards = {row.name: row for row in catalog.accelerators}
    for m in catalog.machines:
        if m.accelerator and m.accelerator_memory_bytes and cards[m.accelerator].memory_bytes:
            whole = cards[m.accelerator].memory_bytes * m.accelerator_fraction
            assert m.accelerator_memory_bytes == pytest.approx(whole, rel=0.02), m.name


def test_fractional_gpus_show_a_part_of_the_memory(catalog):
    assert catalog.machine_by_name["g6f.large"].accelerator_fraction == 0.125
    assert catalog.machine_by_name["g6f.large"].accelerator_memory_bytes < 3 * GIB
    assert catalog.machine_by_name["g4-standard-6"].accelerator_memory_bytes < 13 * GIB


def test_tpu_chips_are_the_product_of_the_topology(catalog):
    for piece in catalog.slices:
        assert math.prod(map(int, piece.topology.split("x"))) == piece.chips, piece
        assert piece.hosts * piece.chips_per_host == piece.chips, piece
        assert piece.multi_host == (piece.hosts > 1)


def test_tpu_hosts_agree_with_their_slices(catalog):
    for piece in catalog.slices:
        host = catalog.machine_by_name[piece.gke_machine_type]
        assert (host.accelerator, host.accelerator_count) == (piece.generation, piece.chips_per_host)
        assert host.gke_accelerator_label == piece.gke_accelerator_label
        assert host.accelerator_memory_bytes == piece.hbm_bytes_per_chip


def test_tpu_api_names_count_cores_on_v4_and_v5p_and_chips_on_v5e_and_v6e(catalog):
    for piece in catalog.slices:
        if piece.tpu_api_type:
            per_chip = 2 if piece.generation in ("TPU v4", "TPU v5p") else 1
            assert int(piece.tpu_api_type.split("-")[-1]) == piece.chips * per_chip, piece


def test_prices_are_positive_and_have_a_known_sku(catalog):
    skus = set(catalog.machine_by_name) | {piece.generation for piece in catalog.slices}
    for row in catalog.prices:
        assert row.sku in skus, row
        assert 0.05 < row.usd_per_hour < 800, row
        assert row.unit == ("chip" if row.sku.startswith("TPU") else "node"), row


def test_spot_is_never_dearer_than_on_demand_in_the_same_place(catalog):
    on_demand = {(p.sku, p.region): p.usd_per_hour for p in catalog.prices if p.capacity is CapacityMode.ON_DEMAND}
    for row in catalog.prices:
        if row.capacity is CapacityMode.SPOT and (row.sku, row.region) in on_demand:
            assert row.usd_per_hour < on_demand[row.sku, row.region], row


def test_places_belong_to_their_region_and_machine(catalog):
    for row in catalog.availability:
        assert row.sku in catalog.machine_by_name, row
        assert catalog.machine_by_name[row.sku].cloud == row.cloud, row
        if row.cloud == "gcp":
            assert all(zone.startswith(row.region + "-") for zone in row.zones), row
        else:
            assert all(re.fullmatch(r"[a-z]+\d-az\d", zone) and zone[:2] == row.region[:2] for zone in row.zones), row


def test_every_orderable_cloud_gpu_has_a_region_or_a_note(catalog):
    nowhere = {m.name for m in catalog.machines if m.cloud != "kubernetes" and m.orderable and m.name not in catalog.places_by_sku}
    assert nowhere == {"a4x-highgpu-4g", "tpu7x-standard-1t"}  # zones not published


def test_quota_codes_of_machines_are_in_the_quota_table(catalog):
    codes = {(q.cloud, q.code) for q in catalog.quotas if q.code}
    for m in catalog.machines:
        for code in (m.quota_on_demand, m.quota_spot, m.quota_capacity_block):
            assert not code or (m.cloud, code) in codes, (m.name, code)


def test_capacity_block_machines_have_the_mode(catalog):
    for m in catalog.machines:
        if m.cloud == "aws" and m.orderable:
            assert m.capacity_block == (CapacityMode.CAPACITY_BLOCK in m.capacity_modes), m.name


def test_volumes_prices_and_fees_refer_to_one_another(catalog):
    assert {row.volume for row in catalog.storage_prices} <= set(catalog.volume_by_name)
    for row in catalog.storage_prices:
        assert 1e-3 < row.usd_per_byte_month * GIB < 1, row
    for volume in catalog.volumes:
        assert volume.max_bytes is None or volume.max_bytes >= (volume.min_bytes or 0), volume.name
    assert catalog.volume_by_name["parallelstore"].deprecated


def test_fsx_price_per_throughput_is_the_derived_column_of_the_research(catalog):
    scratch = catalog.volume_by_name["fsx-lustre-scratch2"]
    usd_per_mb_s = scratch.price_usd_per_byte_month * 2**40 / (scratch.read_bytes_per_s_per_tib / 1e6)
    assert usd_per_mb_s == pytest.approx(0.72, abs=0.005)


@pytest.mark.parametrize(
    ("volume", "need_gib", "sold_gib"),
    [
        ("fsx-lustre-persistent2-125", 1, 1200),
        ("fsx-lustre-persistent2-125", 1201, 2400),
        ("fsx-lustre-persistent2-125", 2401, 4800),
        ("fsx-lustre-persistent2-1000-efa", 16691, 19200),
        ("managed-lustre-1000", 9001, 18000),
        ("managed-lustre-1000", 1530001, 1584000),
        ("filestore-zonal", 9985, 10240),
        ("managed-lustre-1000", 11e6, None),
        ("s3-standard", 5, None),
    ],
)
def test_sizes_sold_follow_the_tiers_steps(catalog, volume, need_gib, sold_gib):
    sold = catalog.volume_by_name[volume].allowed_bytes(need_gib * GIB)
    assert sold == (sold_gib and sold_gib * GIB)


def test_the_stacks_system_machines_and_flat_fees_are_priced(catalog):
    for name, cloud in (
        ("eks-cluster", "aws"),
        ("nat-gateway", "aws"),
        ("kms-key", "aws"),
        ("gke-cluster", "gcp"),
        ("cloud-nat-data", "gcp"),
    ):
        assert catalog.fee(name, cloud, "us-west-2").usd > 0
    assert catalog.fee("nothing-of-the-kind", "aws", "us-east-1") is None
    assert {"m7i.2xlarge", "e2-standard-8", "n2-standard-8"} <= {row.sku for row in catalog.prices}


def test_owned_servers_are_machines_too(catalog):
    for server in catalog.servers:
        m = catalog.machine_by_name[server.machine]
        assert (m.cloud, m.accelerator, m.accelerator_count) == ("kubernetes", server.accelerator, server.accelerator_count)
        assert (m.vcpus, m.memory_bytes, m.local_nvme_bytes) == (None, None, None)
    assert catalog.machine_by_name["xe9680-h100"].fabric is Fabric.INFINIBAND


def test_doubts_about_a_peak_and_a_memory_size_are_shown(catalog):
    a10g, l40 = catalog.accelerator_by_name["a10g"], catalog.accelerator_by_name["l40"]
    assert (a10g.confidence, a10g.conflict) == ("medium", "bf16 70 (kept) vs 125 (lightning-fabric)")
    assert l40.memory_bytes == pytest.approx(46068 * 2**20, rel=1e-3)
    assert "44.7 GiB" in l40.conflict


def test_a_bottlerocket_version_has_its_own_source():
    rows = [row for row in raw("versions.csv") if row["name"].startswith("bottlerocket")]
    assert {row["version"].partition("-")[0] for row in rows} == {"1.58.0"}
    assert all(row["source"].startswith("public AMI catalogue") for row in rows)


@pytest.mark.parametrize("file", ["fees.csv", "storage_prices.csv"])
def test_every_price_of_an_illustrative_source_is_marked(file):
    assert [row for row in raw(file) if (row["illustrative"] == "yes") != ("illustrative" in row["source"])] == []
    assert {row["illustrative"] for row in raw(file) if "fsx-lustre" in (row.get("name") or row.get("volume"))} == {"yes"}


def test_digests_of_charts_are_those_of_oci_references_and_have_a_source():
    pinned = {row["name"]: row for row in raw("versions.csv") if row["kind"] == "chart" and "@" in row["version"]}
    assert {"kueue", "jobset"} <= pinned.keys()
    assert all(DIGEST.fullmatch(row["version"]) and row["chart"].startswith("oci://") for row in pinned.values())
    assert all("digest: " in row["source"] for row in pinned.values())
