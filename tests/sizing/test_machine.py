"""Node requirements: host memory, vCPUs, disks, network, file system, power: properties, published figures, and the plan's lines."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import Catalog
from rackwright.compile.serving.model_server import LOAD_BYTES_PER_S
from rackwright.report.terminal.node import requirement_lines
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.node import formulas, power
from rackwright.sizing.node.formulas import Tier
from rackwright.sizing.node.node_requirements import node_requirements, with_node_requirements
from rackwright.sizing.node.requirements import NodeRequirement
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.node_counts import target
from rackwright.sizing.plan import SizingPlan
from rackwright.spec import read
from rackwright.spec.spec import Spec
from rackwright.units import TIB
from rackwright.wording.notes import note_text
from rackwright.wording.plan_text import with_text

from tests.sizing.helpers import AWS, GCP, finetune, plan, serve

P5 = AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: p5.48xlarge, nodes: 4}}")
VISION = "{name: job, kind: pretrain, model: {base: vit-b-16}, global_batch_size: 1024, data: {samples: 1.28e6, epochs: 3, size: 138 GB}}"


LUSTRE = "blueprint: {kind: training-cluster, storage: lustre}"


def spec_of(workload: str, *places: str, more: str = "") -> Spec:
    infra = ", ".join(places or (AWS,))
    return read(f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ninfra: {{any_of: [{infra}]}}\n{more}")


def sized(workload: str, *places: str, more: str = "") -> SizingPlan:
    bare = replace(plan(workload, *places, more=more), machine=None)
    return with_node_requirements(bare, spec_of(workload, *places, more=more), Catalog.default())


def need(found: SizingPlan, name: str) -> NodeRequirement:
    assert found.machine
    return next(n for n in found.machine.needs if n.name == name)


def test_a_watt_is_3_412_btu_per_hour_and_a_ton_12_000():
    drawn = power.power(4, 10_000, 6, 3600, "")
    assert drawn.btu_per_hour == pytest.approx(3.412 * 40_000)
    assert drawn.cooling_tons == pytest.approx(3.412 * 40_000 / 12_000)
    assert drawn.rack_units == 24
    assert drawn.energy_kwh == pytest.approx(40 * 1.56)


@pytest.mark.parametrize(("tdp", "published"), [(400, 6_500), (700, 10_200), (1000, 14_300)])
def test_machines_of_eight_have_the_power_of_their_data_sheets(tdp, published):
    """DGX A100, DGX H100, DGX B200: maximum system power."""
    assert power.node_watts(8, tdp, is_linked=True) == pytest.approx(published, rel=0.05)


def test_height_is_read_from_the_form_factor():
    assert power.rack_units("6U, air") == 6
    assert power.rack_units("liquid-cooled") is None


@given(st.integers(1, 16), st.floats(50, 2000), st.booleans())
def test_power_grows_with_accelerators(count, tdp, linked):
    assert power.node_watts(count + 1, tdp, linked) > power.node_watts(count, tdp, linked)


def test_one_copy_of_the_model_exchanges_nothing():
    assert formulas.exchange_bytes(70e9, nodes=4, nodes_per_copy=4, gathers=0) == 0
    assert formulas.exchange_bytes(70e9, nodes=1, nodes_per_copy=1, gathers=8) == 0


def test_exchange_is_twice_the_gradients_and_three_times_per_gather():
    assert formulas.exchange_bytes(1e9, 2, 1, 0) == pytest.approx(0.5 * 2e9 * 2)
    assert formulas.exchange_bytes(1e9, 2, 1, 4) == pytest.approx(0.5 * 2e9 * 3 * 4)


@given(st.floats(0, 1e5), st.floats(1e3, 1e7), st.integers(1, 16))
def test_vcpus_increase_with_images_and_their_size(images, size, accelerators):
    one = formulas.training_vcpus(accelerators, images, size, 0)
    assert formulas.training_vcpus(accelerators, images * 2, size, 0) >= one
    assert formulas.training_vcpus(accelerators, images, size * 2, 0) >= one
    assert one >= 2 * accelerators


def test_a_vcpu_decodes_about_ninety_imagenet_files_a_second():
    idle = formulas.training_vcpus(8, 0, 110e3, 0)
    assert formulas.training_vcpus(8, 9090, 110e3, 0) - idle == pytest.approx(100, abs=1)


@given(st.floats(1e9, 1e13), st.floats(1e6, 1e11))
def test_a_tier_has_the_required_capacity_and_throughput(capacity, rate):
    bought = formulas.tier_bytes(capacity, rate, 250e6)
    assert bought >= capacity
    assert bought / TIB * 250e6 >= rate * (1 - 1e-9)


def test_the_cheapest_tier_wins_and_one_without_a_price_is_last_but_named():
    need_of = Note(NoteKind.SHARED_FILE_SYSTEM)
    fast, slow, unknown = Tier("fast", 5e12, 1e9, 2e-9), Tier("slow", 40e12, 1e8, 1e-10), Tier("unknown", 1e12, 1e9, None)
    found = formulas.cheapest_tier([unknown, fast, slow], need_of)
    assert found
    assert found.tier == "slow"
    assert note_text(found.basis[1]) == "unknown needs 1.0 TB, price not published"
    assert formulas.cheapest_tier([unknown], need_of).usd_per_month is None  # ty: ignore[possibly-missing-attribute]
    assert formulas.cheapest_tier([Tier("full", None, 1e9, 1e-10)], need_of) is None


def test_an_unknown_value_is_not_a_shortage():
    assert NodeRequirement("x", 1, None, "GB").distance is None
    assert not NodeRequirement("x", 1, None, "GB").is_short
    assert NodeRequirement("x", 1, 0, "GB").is_short
    assert NodeRequirement("x", 3, 2, "GB").distance == pytest.approx(1.5)


def test_a_plan_has_node_requirements_and_is_read_back():
    found = sized(finetune("llama-3.1-70b", "none"), P5, more=LUSTRE)
    assert found.machine
    assert found.machine.nodes == 4
    assert found.machine.checkpoint_bytes == pytest.approx(14 * 70.55e9, rel=0.01)
    assert found.machine.checkpoint_bytes_per_s == pytest.approx(found.machine.checkpoint_bytes / found.machine.checkpoint_write_s)
    assert found.machine.file_system
    assert found.machine.file_system.tier.startswith("fsx-lustre-persistent2")
    assert found.machine.file_system.bytes_per_s >= found.machine.checkpoint_bytes_per_s * 0.999
    assert found.machine.power
    assert found.machine.power.node_watts == pytest.approx(10_200, rel=0.02)
    stored = (found.machine.checkpoint_bytes_per_s + found.machine.dataset_read_bytes_per_s) / 4
    assert next(n for n in found.machine.needs if n.basis[0].kind is NoteKind.DATA_AND_CHECKPOINTS).need == pytest.approx(stored / 1e9)
    assert stored == pytest.approx(46.5e6, rel=0.01)  # 988 GB of 4 nodes in 5,358 s, and the tokens
    assert SizingPlan.from_json(found.to_json()) == found
    said = dict(requirement_lines(found.machine))
    assert "of 2,048 GiB" in said["node"]
    assert "BTU/h" in said["power"]


def test_h100_in_the_cloud_are_also_shown_as_on_premises_servers():
    found = sized(finetune("llama-3.1-70b", "none"), P5)
    assert found.machine
    assert found.machine.owned
    assert found.machine.owned.rack_units == 4 * 6
    assert "4 x Dell PowerEdge XE9680 (H100)" in dict(requirement_lines(with_text(found).machine))["on-prem"]


def test_an_on_premises_server_is_checked_against_its_power_supplies():
    found = sized(finetune("llama-3.1-8b"), AWS)
    assert found.chosen
    mine = replace(found.chosen.candidate, cloud="kubernetes", machine="xe9680-h100", accelerator="NVIDIA H100 80GB SXM5", nodes=2,
                   accelerators_per_node=8, parallelism=ParallelLayout(data=16))  # fmt: skip
    moved = replace(found, fits=(replace(found.chosen, candidate=mine),), machine=None)
    needs = node_requirements(moved, spec_of(finetune("llama-3.1-8b")), Catalog.default())
    assert needs
    assert needs.power
    assert needs.power.rack_units == 12
    supplies = next(n for n in needs.needs if n.name == "power supplies")
    assert supplies.have == 19.2
    assert not supplies.is_short
    assert needs.owned is None


def test_images_need_vcpus_and_a_machine_with_few_trains_at_their_rate():
    """The requirement is that of the accelerators' own rate, 110 kB at 10 MB/s per vCPU: it says how many vCPUs remove the limit."""
    small = AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: g6e.xlarge}}")
    found = sized(VISION, small)
    processors = need(found, "processors")
    (limit,) = found.chosen.tightest
    assert (limit.kind, limit.values["part"]) == (NoteKind.HOST_LIMIT, "processors")
    assert limit.values["samples_per_s"] == found.chosen.speed.samples_per_s < limit.values["wanted_per_s"] / 2
    assert processors.have == 4
    assert processors.need == formulas.training_vcpus(1, limit.values["wanted_per_s"], 138e9 / 1.28e6, 0)
    assert any(words.startswith("processors: needs") for words in with_text(found).warnings)
    assert found.machine
    assert found.machine.dataset_read_bytes_per_s == pytest.approx(found.chosen.speed.samples_per_s * 138e9 / 1.28e6)


def test_images_answered_are_encoded_and_text_is_not():
    image = serve("sdxl", 2).replace("mean: 800, p95: 2000", "mean: 77").replace("mean: 200, p95: 500", "mean: 1")
    assert need(sized(image), "processors").basis == (Note(NoteKind.IMAGE_ENCODING),)
    assert need(sized(serve()), "processors").basis == (Note(NoteKind.DETOKENISATION),)


def test_tpu_power_is_not_published_and_is_not_zero():
    found = sized(finetune("llama-3.1-8b", "none"), GCP.replace("[on-demand]}}", "[on-demand]}, pin: {instance: ct6e-standard-4t}}"))
    assert found.machine
    assert found.machine.power is None
    assert "power" not in dict(requirement_lines(found.machine))


def test_a_network_disk_replaces_a_missing_local_disk():
    short = NodeRequirement("local NVMe", 100, 0, "GB", is_replaceable=True)
    found = sized(serve())
    assert found.machine
    assert replace(found.machine, needs=(short,)).short == ()


def test_one_copy_over_all_nodes_sends_no_gradients_and_four_copies_do():
    found = sized(finetune("llama-3.1-70b", "none"), P5, more=LUSTRE)

    def basis(parallelism: ParallelLayout) -> dict[str, tuple[NoteKind, ...]]:
        fit = replace(found.fits[0], candidate=replace(found.fits[0].candidate, parallelism=parallelism))
        needs = node_requirements(
            replace(found, fits=(fit,)), spec_of(finetune("llama-3.1-70b", "none"), P5, more=LUSTRE), Catalog.default()
        )
        assert needs
        return {n.name: tuple(note.kind for note in n.basis) for n in needs.needs if n.name.endswith("network")}

    stages = (NoteKind.DATA_AND_CHECKPOINTS, NoteKind.STAGES_NOT_INCLUDED, NoteKind.CLIENT_LIMIT)
    assert basis(ParallelLayout(tensor=8, pipeline=4)) == {"network": stages}
    storage = (NoteKind.DATA_AND_CHECKPOINTS, NoteKind.CLIENT_LIMIT)
    assert basis(ParallelLayout(tensor=8, data=4)) == {"network": (NoteKind.GRADIENTS,), "storage network": storage}


@pytest.mark.parametrize(("efa", "gbit_per_s", "interface"), [("false", 100, "ENA"), ("true", 700, "EFA")])
def test_a_file_system_has_the_network_that_its_clients_use(efa, gbit_per_s, interface):
    """FSx for Lustre serves one client at 100 Gbit/s over ENA and 700 Gbit/s over EFA, independent of its EFA interfaces."""
    workload = finetune("llama-3.1-70b", "none")
    spec = read(
        f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ninfra: {{any_of: [{P5}]}}\n"
        f"blueprint: {{kind: training-cluster, storage: {{lustre: {{efa: {efa}}}}}}}\n"
    )
    needs = node_requirements(sized(workload, P5), spec, Catalog.default())
    assert needs
    storage = next(n for n in needs.needs if n.name.endswith("network") and n.basis[-1].kind is NoteKind.CLIENT_LIMIT)
    assert storage.have == pytest.approx(gbit_per_s / 8)
    assert f"{gbit_per_s} Gbit/s over {interface}" in note_text(storage.basis[-1])


def test_images_of_unknown_size_count_as_jpegs():
    found = sized(VISION.replace(", size: 138 GB", ""), AWS)
    assert found.machine
    assert found.machine.dataset_read_bytes_per_s == pytest.approx(found.chosen.speed.samples_per_s * 110e3)


G6E = AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: g6e.xlarge}}")


def with_baseline(gbit_per_s: float | None) -> Catalog:
    """The catalog with another baseline of g6e.xlarge."""
    catalog, rate = Catalog.default(), None if gbit_per_s is None else gbit_per_s * 1e9 / 8
    changed = (replace(m, network_baseline_bytes_per_s=rate) if m.name == "g6e.xlarge" else m for m in catalog.machines)
    return replace(catalog, machines=tuple(changed))


def test_weights_are_loaded_at_the_baseline_of_a_machine_that_bursts():
    """g6e.xlarge: "Up to 20 Gigabit", baseline 2.5 Gbit/s = 2.5e9 / 8 bytes/s = 0.3125 GB/s."""
    loading = need(sized(serve(base="llama-3.1-8b"), G6E), "network")
    assert loading.have == pytest.approx(0.3125)
    assert note_text(loading.basis[-1]) == "baseline of g6e.xlarge, which bursts to 20 Gbit/s"


def test_a_peak_without_a_published_baseline_leaves_the_rate_unknown():
    found = plan(serve(base="llama-3.1-8b"), G6E)
    machine = node_requirements(found, spec_of(serve(base="llama-3.1-8b"), G6E), with_baseline(None))
    assert machine
    loading = next(n for n in machine.needs if n.name == "network")
    assert loading.have is None
    assert note_text(loading.basis[-1]) == "g6e.xlarge has up to 20 Gbit/s; its baseline is not published"


def test_machines_exchange_at_the_baseline():
    """Two g6e.xlarge with one L40S each: 2.5e9 / 8 / 1 = 312.5e6 bytes/s per accelerator; g6e.48xlarge states 400 Gbit/s, no peak."""
    catalog = Catalog.default()
    small, large = (catalog.machine(name) for name in ("g6e.xlarge", "g6e.48xlarge"))
    accelerator = next(a for a in catalog.accelerators if a.name == small.accelerator)
    assert target(small, accelerator, 2, catalog).wires.scale_out_bytes_per_s == pytest.approx(312.5e6)
    assert target(large, accelerator, 2, catalog).wires.scale_out_bytes_per_s == pytest.approx(400e9 / 8 / 8)


def test_baselines_are_below_the_peak_and_above_the_assumed_rate_of_loading():
    bursting = [m for m in Catalog.default().machines if m.network_is_peak]
    known = [m for m in bursting if m.network_baseline_bytes_per_s]
    assert {m.family for m in bursting if m not in known} == {"g4ad"}, "moto 5.2.5 has no g4ad"
    assert all(m.network_baseline_bytes_per_s < m.network_bytes_per_s for m in known)
    assert all(m.network_baseline_bytes_per_s > LOAD_BYTES_PER_S for m in known if m.kind != "cpu")
