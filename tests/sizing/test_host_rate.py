"""What the host of a node feeds to its accelerators: the lowest of processors, storage and link, and the candidates that it slows down."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import Catalog
from rackwright.report.terminal.explain import _speed_rows
from rackwright.sizing.economics.serving import economics_of
from rackwright.sizing.metrics import Speed
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.node.host_rate import HostTerm, NodeHost, SampleWork, decoding, host_rate, needed_vcpus, processor_rate
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import WorkloadFacts
from rackwright.sizing.rejection import Limit, Reason
from rackwright.spec import read
from rackwright.wording.notes import note_text

from tests.sizing.helpers import AWS, finetune, plan

IMAGE = decoding(110e3)
"""An ImageNet file: 110 kB / 10 MB/s = 0.011 s of one vCPU, 1.1 MB decoded."""
VISION = (
    "{{name: job, kind: pretrain, model: {{base: vit-b-16}}, global_batch_size: 1024, data: {{samples: 1.28e6, epochs: {}, size: {}}}}}"
)


def on(machine: str, epochs: int = 30, size: str = "138 GB", nodes: int = 1):
    pinned = AWS.replace("[on-demand]}}", f"[on-demand]}}, pin: {{instance: {machine}, nodes: {nodes}}}}}")
    return plan(VISION.format(epochs, size), pinned).chosen


def test_half_of_the_processors_feed_half_of_the_images():
    """8 accelerators take 6,711 images/s, which needs 1 + 2 x 8 + 6,711 x 0.011 = 90.8 vCPU. The 44.9 beside the system's one of 45.9
    are half of the other 89.8 and feed 3,355; the launching processes need less at that rate as well."""
    found = host_rate(NodeHost(vcpus=46, accelerators=8), IMAGE, 6711)
    assert found.samples_per_s == pytest.approx(45 / (0.011 + 16 / 6711))
    assert found.samples_per_s == pytest.approx(6711 / 2, rel=0.005)
    assert found.term is HostTerm.PROCESSORS


def test_enough_processors_leave_the_rate():
    assert host_rate(NodeHost(91, 8), IMAGE, 6711) == host_rate(NodeHost(None, 8), IMAGE, 6711)
    assert (host_rate(NodeHost(91, 8), IMAGE, 6711).samples_per_s, host_rate(NodeHost(91, 8), IMAGE, 6711).term) == (6711, None)


def test_the_lowest_term_limits():
    """A baseline of 2.5 Gbit/s reads 312.5 MB/s / 110 kB = 2,841 images/s, a link of 25 GB/s takes 25e9 / 1.1e6 = 22,727."""
    read = NodeHost(192, 8, 312.5e6, HostTerm.NETWORK, 25e9)
    assert host_rate(read, IMAGE, 6711).samples_per_s == pytest.approx(2840.9, abs=0.1)
    assert host_rate(read, IMAGE, 6711).term is HostTerm.NETWORK
    assert host_rate(replace(read, storage=HostTerm.DISK), IMAGE, 6711).term is HostTerm.DISK
    link = NodeHost(4096, 1, 1e12, HostTerm.DISK, 25e9)
    assert host_rate(link, IMAGE, 50_000).samples_per_s == pytest.approx(22_727, abs=1)
    assert host_rate(link, IMAGE, 50_000).term is HostTerm.LINK


def test_text_and_unpublished_rates_limit_nothing():
    assert host_rate(NodeHost(1, 8), SampleWork(), 100).term is None
    assert host_rate(NodeHost(None, 8, None), IMAGE, 1e9).term is None


@given(st.integers(2, 256), st.integers(1, 16), st.floats(1, 1e5))
def test_a_host_never_speeds_up_and_more_processors_never_slow_down(vcpus, accelerators, wanted):
    few, many = (host_rate(NodeHost(count, accelerators), IMAGE, wanted).samples_per_s for count in (vcpus, 2 * vcpus))
    assert few <= many <= wanted


def test_a_machine_with_few_processors_trains_slower_and_costs_more():
    """g6e.xlarge has 4 vCPU: 3 beside the system feed 3 / (0.0108 + 2 / rate) images/s to its L40S."""
    small, large = on("g6e.xlarge"), on("g6e.16xlarge")
    full, size = large.speed.samples_per_s, 138e9 / 1.28e6
    assert small.speed.samples_per_s == pytest.approx(3 / (size / 10e6 + 2 / full))
    (limit,) = small.tightest
    assert limit.kind is NoteKind.HOST_LIMIT
    assert note_text(limit) == (
        f"processors of g6e.xlarge limit the run to {small.speed.samples_per_s:,.0f} samples/s; its accelerators can take {full:,.0f}"
    )
    assert large.speed.input_s is None
    slower = full / small.speed.samples_per_s
    assert small.speed.step_s == pytest.approx(large.speed.step_s * slower)
    assert small.speed.input_s == pytest.approx(large.speed.step_s * (slower - 1))
    assert small.duration_s.p50 - 900 == pytest.approx((large.duration_s.p50 - 900) * slower, rel=1e-3)


def test_the_choice_follows_the_rate_that_is_fed():
    """g6e.xlarge ranked first with images that its 4 vCPU cannot decode."""
    found = plan(VISION.format(30, "138 GB"), AWS)
    assert found.chosen.candidate.machine != "g6e.xlarge"
    assert all(n.kind is not NoteKind.HOST_LIMIT for n in found.chosen.tightest)
    small = next(fit for fit in found.fits if fit.candidate.machine == "g6e.xlarge")
    assert small.cost_usd.p50 > 2 * found.chosen.cost_usd.p50


def test_a_burst_of_the_network_is_no_rate():
    """Two machines read over their network; g6e.xlarge bursts to 20 Gbit/s, and 2.5 Gbit/s are its baseline."""
    machine = Catalog.default().machine("g6e.xlarge")
    assert machine.sustained_network_bytes_per_s == pytest.approx(312.5e6)


def test_text_is_not_slowed_by_its_host():
    found = plan(finetune("llama-3.1-8b"), AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: g6e.xlarge}}")).chosen
    assert found.speed.input_s is None


def test_the_wait_for_samples_is_a_row_of_the_speed():
    speed = replace(Speed(), step_s=3.0, input_s=2.0)
    assert dict(_speed_rows(speed, WorkloadFacts("job", "pretrain", "vit-b-16", 86e6, 86e6)))["waiting for samples"] == "2 s"


RESNET = "{{name: label, kind: serve, model: {{base: resnet-50}}, requests_per_second: {}, image: {{size: 224}}{}}}"
BERT = "{{name: search, kind: {}, model: {{base: bert-base}}, sequence_length: 512, {}}}"


def served(workload: str, machine: str = "g6e.xlarge", nodes: str = ""):
    return plan(workload, AWS.replace("[on-demand]}}", f"[on-demand]}}, pin: {{instance: {machine}{nodes}}}}}"))


def test_a_vision_service_gets_machines_for_the_images_that_its_processors_decode():
    """The 3 vCPU of a g6e.xlarge beside the system's one decode 20 MB/s each, less what launches kernels at that rate."""
    fit = served(RESNET.format(3000, "")).chosen
    (limit,) = fit.tightest
    full = limit.values["wanted_per_s"]
    fed = 3 / (110e3 / 20e6 + 1 / full)
    assert (limit.kind, limit.values["part"]) == (NoteKind.HOST_LIMIT_OF_SERVICE, "processors")
    assert limit.values["samples_per_s"] == pytest.approx(fed)
    assert fit.candidate.nodes == fit.candidate.replicas == -(-3000 // (0.8 * fed))
    assert fit.speed.units_per_s == pytest.approx(fed * fit.candidate.nodes)
    assert fit.speed.samples_per_s == pytest.approx(fed)
    assert full > 5 * fed
    large = served(RESNET.format(2000, ""), "g6e.16xlarge").chosen
    assert all(note.kind is not NoteKind.HOST_LIMIT_OF_SERVICE for note in large.tightest)
    assert large.candidate.nodes == 1


def test_the_answer_waits_for_the_processors_that_decode_its_image():
    """Service time over the idle share of the vCPUs, in the latency under load and alone."""
    fit = served(RESNET.format(3000, "")).chosen
    (limit,) = fit.tightest
    one_s, busy = 110e3 / 20e6, 3000 / fit.candidate.nodes / limit.values["samples_per_s"]
    assert 0.6 < busy <= 0.8
    assert fit.speed.ttft_s > one_s / (1 - busy)
    assert fit.speed.ttft_p50_s > one_s / (1 - busy)
    assert one_s < fit.speed.unloaded_s < fit.speed.ttft_s
    goal_ms = math.floor(fit.speed.ttft_s * 1000) - 1
    (late,) = served(RESNET.format(3000, f", latency: {{target: {goal_ms} ms, percentile: 95}}")).chosen.overruled
    assert (late.limit, late.reason, late.have) == (Limit.LATENCY, Reason.HOST_LATENCY, pytest.approx(goal_ms))


def test_the_processors_of_a_node_are_enough_for_the_rate_that_they_limit():
    """A g6e.xlarge was given 529 images/s by its 4 vCPU, and then needed 5 vCPU for 375 images/s."""
    plan = served(RESNET.format(3000, ""))
    (need,) = (each for each in plan.machine.needs if each.name == "processors")
    assert need.need <= need.have == 4


@given(st.integers(2, 200), st.integers(1, 8), st.floats(10, 1e5))
def test_the_needed_processors_feed_the_rate(vcpus, accelerators, wanted):
    able = processor_rate(NodeHost(vcpus, accelerators), IMAGE, wanted)
    assert needed_vcpus(NodeHost(vcpus, accelerators), IMAGE, min(able, wanted), wanted) <= vcpus


def test_a_service_that_its_host_feeds_slowly_keeps_its_pin_and_its_limit_of_replicas():
    """Both were exceeded without a word."""
    (two,) = served(RESNET.format(3000, ""), nodes=", nodes: 2").fits
    assert (two.candidate.nodes, [r.reason for r in two.overruled]) == (2, [Reason.PINNED_NODES])
    (few,) = served(RESNET.format(3000, ", max_replicas: 4")).fits
    assert [(r.limit, r.reason, r.have) for r in few.overruled] == [(Limit.THROUGHPUT, Reason.REPLICA_LIMIT, 4)]


def test_economics_of_a_service_have_the_rate_that_its_host_feeds():
    """A g6e.xlarge took 6,034 images/s in economics and 529 in its plan."""
    spec = read(f"api_version: rackwright/v1\nname: t\nworkloads: [{RESNET.format(3000, '')}]\ninfra: {{any_of: [{AWS}]}}")
    found = plan(RESNET.format(3000, ""), AWS)
    made = economics_of(spec, found, Catalog.default())
    by_name = {machine.name: machine for machine in Catalog.default().machines}
    for row in made.comparison:
        if row.runs and not row.replica.accelerator.startswith("CPU"):
            m = by_name[row.machine]
            most = 0.8 * (m.vcpus - NODE_ASSUMPTIONS.system_vcpus) / (110e3 / 20e6)
            on_machine = row.replica.on_machine(m.accelerator_count)
            assert row.replica.planned_requests_per_s * on_machine <= most * 1.001, row.machine
            assert row.replica.requests_per_s.p50 > 0


def test_tokenizers_limit_encoders():
    """Half a million tokens per second and vCPU: 512 tokens take 1.024 ms of one."""
    batch = served(BERT.format("batch", "data: {samples: 1e8}"), "p5.4xlarge").chosen
    text = SampleWork(512 / 0.5e6)
    full = batch.speed.samples_per_s if batch.speed.input_s is None else None
    assert host_rate(NodeHost(4, 1, worker_vcpus=1), text, 1e6).samples_per_s == pytest.approx(3 / (512 / 0.5e6), rel=0.01)
    assert full is None or full <= host_rate(NodeHost(16, 1, worker_vcpus=1), text, full).samples_per_s
    small, large = (served(BERT.format("batch", "data: {samples: 1e8}"), name).chosen for name in ("g6e.xlarge", "g6e.4xlarge"))
    assert small.speed.samples_per_s <= large.speed.samples_per_s


def test_a_batch_reads_its_samples_over_the_baseline_of_its_network():
    """One machine read them from its disk. g6e.xlarge: 2.5 Gbit/s are 312.5 MB/s, 31 samples/s of 10 MB each."""
    job = "{name: label, kind: batch, model: {base: resnet-50}, image: {size: 224}, data: {samples: 1e6, size: 10 TB}}"
    machine, work = Catalog.default().machine("g6e.48xlarge"), decoding(10e6, trains=False)
    fit = served(job, "g6e.48xlarge").chosen
    sent = machine.sustained_network_bytes_per_s / 10e6
    decoded = host_rate(NodeHost(machine.vcpus, 8, worker_vcpus=1), work, 1e6).samples_per_s
    assert fit.speed.samples_per_s == pytest.approx(min(sent, decoded), rel=0.01)
