"""Managed Lustre: the tier and size for a run, its clients, and what a running file system keeps."""

from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.sizing.node.lustre_throughput import LustreSize, first_network_bytes_per_s, lustre_clients
from rackwright.sizing.node.managed_lustre import managed_lustre_size
from rackwright.spec.blueprint import LustreOptions
from rackwright.workflow.recorded.recorded_choice import _is_replaced

from tests.gke_plans import gke_training_case

CATALOG = Catalog.default()
GBIT = 1e9 / 8


def size_for(capacity_tb: float, gb_per_s: float, options: LustreOptions | None = None, recorded: LustreSize | None = None) -> LustreSize:
    _, plan, _ = gke_training_case()
    need = replace(plan.storage, capacity_bytes=capacity_tb * 1e12, throughput_bytes_per_s=gb_per_s * 1e9)
    clients = lustre_clients(CATALOG.machine("a3-megagpu-8g"), 16, 0, CATALOG)
    return managed_lustre_size(replace(plan, storage=need), options or LustreOptions(), clients, CATALOG, recorded)


@pytest.mark.parametrize(
    ("capacity_tb", "gb_per_s", "gib", "tier"),
    [
        (1, 8, 9_000, 1000),
        (15, 8, 18_000, 500),
        (30, 8, 36_000, 250),
        (60, 8, 72_000, 125),
        (15, 16, 18_000, 1000),
        (1, 100, 108_000, 1000),
    ],
)
def test_a_run_gets_the_least_throughput_that_suffices_then_the_least_capacity(capacity_tb, gb_per_s, gib, tier):
    assert size_for(capacity_tb, gb_per_s) == LustreSize(gib, f"managed-lustre-{tier}", tier)


def test_throughput_beyond_the_clients_network_is_not_bought():
    assert size_for(1, 1000).capacity_gib * 1000 / 1024 <= 16 * 200 * 1e9 / 8 / 1e6 * 1.03


def test_options_of_the_spec_are_used():
    assert size_for(1, 1, LustreOptions(throughput=125)).volume == "managed-lustre-125"
    assert size_for(1, 1, LustreOptions(capacity="20000 GiB")).capacity_gib == 20_000
    assert size_for(1, 1, LustreOptions(tiering="dynamic")) == LustreSize(472_000, "managed-lustre-dynamic", 25)


@pytest.mark.parametrize(
    ("machine", "gbit"), [("a3-highgpu-8g", 200), ("a3-megagpu-8g", 200), ("a3-ultragpu-8g", 200), ("a2-highgpu-8g", 100)]
)
def test_clients_reach_the_file_system_over_their_first_network_only(machine, gbit):
    assert first_network_bytes_per_s(CATALOG.machine(machine), CATALOG) == pytest.approx(gbit * GBIT)


def test_a_running_file_system_keeps_its_tier_and_grows_up_to_its_threshold():
    running = LustreSize(9_000, "managed-lustre-1000", 1000)
    assert size_for(60, 8, recorded=running) == replace(running, capacity_gib=72_000)
    assert size_for(3_000, 8, recorded=running).capacity_gib == 1_530_000
    assert _is_replaced(running, LustreSize(72_000, "managed-lustre-125", 125))
    assert not _is_replaced(running, replace(running, capacity_gib=18_000))
