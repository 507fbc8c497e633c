"""TPU slices that train together: which are searched, what their network costs, and what is said about it."""

import pytest
from rackwright.sizing.note import NoteKind

from tests.sizing.helpers import plan

RUN = (
    "{name: job, kind: pretrain, model: {base: gemma-2-9b}, sequence_length: 4096, global_batch_size: 256, "
    "data: {tokens: 20e9, packed: true, size: 80 GB}}"
)


def pinned(machine: str, topology: str, slices: int):
    pin = f"pin: {{instance: {machine}, topology: {topology}, slices: {slices}}}"
    return plan(RUN, f"{{cloud: gcp, project: my-project, regions: [us-central1], {pin}}}").chosen


@pytest.mark.parametrize(("machine", "topology"), [("ct6e-standard-4t", "4x4"), ("ct5p-hightpu-4t", "4x4x4")])
def test_two_slices_are_faster_than_one_and_slower_than_twice_as_fast(machine, topology):
    one, two = pinned(machine, topology, 1), pinned(machine, topology, 2)
    assert (two.candidate.slices, two.candidate.nodes) == (2, 2 * one.candidate.nodes)
    assert one.speed.step_s / 2 < two.speed.step_s < one.speed.step_s


def test_the_published_rate_between_slices_is_named():
    (note,) = [note for note in pinned("ct6e-standard-4t", "4x4", 2).notes if note.kind is NoteKind.SLICE_RATE]
    assert note.values == {"slices": 2, "gb_s": 12.5}


def test_without_a_published_rate_the_interval_is_wider_and_says_so():
    one, two = pinned("ct5p-hightpu-4t", "4x4x4", 1), pinned("ct5p-hightpu-4t", "4x4x4", 2)
    assert NoteKind.SLICE_RATE_UNKNOWN in {note.kind for note in two.notes}
    assert two.duration_s.p90 / two.duration_s.p50 > one.duration_s.p90 / one.duration_s.p50


def test_one_slice_is_pinned_by_its_topology_alone():
    pin = "pin: {instance: ct6e-standard-4t, topology: 16x16}"
    chosen = plan(RUN, f"{{cloud: gcp, project: my-project, regions: [us-central1], {pin}}}").chosen
    assert chosen.candidate.slices == 1
