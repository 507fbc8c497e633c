"""What the host of a node feeds to its accelerators: the lowest of processors, storage and link, and the candidates that it slows down."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import Catalog
from rackwright.report.terminal.explain import _speed_rows
from rackwright.sizing.metrics import Speed
from rackwright.sizing.node.host_rate import Host, HostTerm, SampleWork, decoding, host_rate
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import WorkloadFacts
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
    found = host_rate(Host(vcpus=46, accelerators=8), IMAGE, 6711)
    assert found.samples_per_s == pytest.approx(45 / (0.011 + 16 / 6711))
    assert found.samples_per_s == pytest.approx(6711 / 2, rel=0.005)
    assert found.term is HostTerm.PROCESSORS


def test_enough_processors_leave_the_rate():
    assert host_rate(Host(91, 8), IMAGE, 6711) == host_rate(Host(None, 8), IMAGE, 6711)
    assert (host_rate(Host(91, 8), IMAGE, 6711).samples_per_s, host_rate(Host(91, 8), IMAGE, 6711).term) == (6711, None)


def test_the_lowest_term_limits():
    """A baseline of 2.5 Gbit/s reads 312.5 MB/s / 110 kB = 2,841 images/s, a link of 25 GB/s takes 25e9 / 1.1e6 = 22,727."""
    read = Host(192, 8, 312.5e6, HostTerm.NETWORK, 25e9)
    assert host_rate(read, IMAGE, 6711).samples_per_s == pytest.approx(2840.9, abs=0.1)
    assert host_rate(read, IMAGE, 6711).term is HostTerm.NETWORK
    assert host_rate(replace(read, storage=HostTerm.DISK), IMAGE, 6711).term is HostTerm.DISK
    link = Host(4096, 1, 1e12, HostTerm.DISK, 25e9)
    assert host_rate(link, IMAGE, 50_000).samples_per_s == pytest.approx(22_727, abs=1)
    assert host_rate(link, IMAGE, 50_000).term is HostTerm.LINK


def test_text_and_unpublished_rates_limit_nothing():
    assert host_rate(Host(1, 8), SampleWork(), 100).term is None
    assert host_rate(Host(None, 8, None), IMAGE, 1e9).term is None


@given(st.integers(2, 256), st.integers(1, 16), st.floats(1, 1e5))
def test_a_host_never_speeds_up_and_more_processors_never_slow_down(vcpus, accelerators, wanted):
    few, many = (host_rate(Host(count, accelerators), IMAGE, wanted).samples_per_s for count in (vcpus, 2 * vcpus))
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
