"""Machines of a service whose CPUs decode the images of its requests. Numbers in, numbers out. `host_limits` slows runs down."""

import math
from dataclasses import replace

from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import ServingJob
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS, NodeAssumptions, decoded_images_per_s
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.search.outcome import Outcome


def with_decoding_machines(
    found: Outcome, job: object, vcpus: int | None, per_node: int, a: Assumptions, b: NodeAssumptions = NODE_ASSUMPTIONS
) -> Outcome:
    """The outcome with the machines whose CPUs decode the peak rate, each with all of its replicas, where they are more.

    vcpus, per_node: vCPUs and accelerators of one machine.
    """
    serves = isinstance(job, ServingJob) and not job.ends
    if not serves or not job.sample.image_bytes or not vcpus or found.speed.samples_per_s is None or found.rejections:
        return found
    each = decoded_images_per_s(vcpus, per_node, job.sample.image_bytes, False, b)
    need = math.ceil(job.rate / (each * a.max_utilisation))
    if need <= found.nodes:
        return found
    replicas, s = need * per_node, found.speed
    units = s.units_per_s and each * need * job.sample.units
    note = Note(NoteKind.INPUT_PIPELINE, {"vcpus": vcpus * need, "images_per_s": each * need, "accelerator_images_per_s": job.rate})
    return replace(
        found, speed=replace(s, units_per_s=units), nodes=need, replicas=replicas, max_replicas=max(replicas, found.max_replicas),
        notes=(*found.notes, note),
    )  # fmt: skip
