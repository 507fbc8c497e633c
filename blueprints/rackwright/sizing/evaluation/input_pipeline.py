"""Decoding and augmentation of images on the CPUs of a node, which limit the rate of its accelerators. Numbers in, numbers out."""

import math
from dataclasses import replace

from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob, TrainingJob
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS, NodeAssumptions, decoded_images_per_s
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.search.outcome import UNKNOWN, Outcome, Spread


def with_input_pipeline(
    found: Outcome, job: object, vcpus: int | None, per_node: int, nodes: int, a: Assumptions, b: NodeAssumptions = NODE_ASSUMPTIONS
) -> Outcome:
    """The outcome at the rate at which the CPUs of `nodes` machines decode images, where that is below the rate of the accelerators.

    vcpus, per_node: vCPUs and accelerators of one machine. A run takes longer; a service gets more machines.
    """
    if not isinstance(job, (TrainingJob, ServingJob)) or not job.sample.image_bytes or not vcpus or found.speed.samples_per_s is None:
        return found
    training = isinstance(job, TrainingJob)
    each = decoded_images_per_s(vcpus, per_node, job.sample.image_bytes, training, b)
    if isinstance(job, ServingJob) and not job.ends:
        return _more_machines(found, job, each, per_node, vcpus, a)
    rate, limit = found.speed.samples_per_s, each * nodes
    if rate <= limit or found.work_s is None:
        return found
    slower, s = rate / limit, found.speed
    speed = replace(
        s, samples_per_s=limit, step_s=s.step_s and s.step_s * slower, mfu=s.mfu and s.mfu / slower,
        requests_per_s=s.requests_per_s and s.requests_per_s / slower, units_per_s=s.units_per_s and s.units_per_s / slower,
    )  # fmt: skip
    spread = Spread(min(found.band.low, UNKNOWN.low), max(found.band.high, UNKNOWN.high))
    note = Note(NoteKind.INPUT_PIPELINE, {"vcpus": vcpus * nodes, "images_per_s": limit, "accelerator_images_per_s": rate})
    return replace(found, speed=speed, work_s=found.work_s * slower, band=spread, notes=(*found.notes, note))


def _more_machines(found: Outcome, job: ServingJob, each: float, per_node: int, vcpus: int, a: Assumptions) -> Outcome:
    """Machines whose CPUs decode the peak rate, each with all of its replicas."""
    need = math.ceil(job.rate / (each * a.max_utilisation))
    if need <= found.nodes or found.rejections:
        return found
    replicas, s = need * per_node, found.speed
    units = s.units_per_s and each * need * job.sample.units
    note = Note(NoteKind.INPUT_PIPELINE, {"vcpus": vcpus * need, "images_per_s": each * need, "accelerator_images_per_s": job.rate})
    return replace(
        found, speed=replace(s, units_per_s=units), nodes=need, replicas=replicas, max_replicas=max(replicas, found.max_replicas),
        notes=(*found.notes, note),
    )  # fmt: skip
