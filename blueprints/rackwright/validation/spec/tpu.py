"""S-55, S-250 to S-252: TPU slices in the places of a spec."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import TpuSlice
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.infra import Pin
from rackwright.validation.spec.places import mode_of
from rackwright.validation.spec.registry import SpecContext, rule

PLAN_TPUS = "https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus"
QUEUED = "https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest"
SLICE_NAME = re.compile(r"(?P<version>[a-z]+[0-9]+[a-z]*)-(?P<size>[0-9]+)")
"""Accelerator type of the TPU API or of xpk: `v4-32`, `v5p-128`, `v6e-8`."""


@rule("S-55", link=PLAN_TPUS)
def topology_exists(context: SpecContext) -> Iterator[Violation]:
    """A pinned topology must exist for the pinned TPU type; its slices must have as many hosts as the pin has nodes."""
    for at, place in context.places:
        pin = place.pin
        if pin is None or pin.instance not in context.catalog.machine_by_name:
            continue
        slices = context.catalog.slices_by_machine.get(pin.instance, ())
        if not slices:
            for key in ("topology", "slices"):
                if getattr(pin, key):
                    message = f"{quote(pin.instance)} is not a TPU machine and has no {key}"
                    yield Violation(at / "pin" / key, "leave it out", message, about_key=True)
        elif pin.topology:
            yield from _topology(at / "pin", pin, slices)
        else:
            yield from _hosts(at / "pin", pin, slices)


def _topology(at: At, pin: Pin, slices: tuple[TpuSlice, ...]) -> Iterator[Violation]:
    chosen = next((piece for piece in slices if piece.topology == pin.topology), None)
    if chosen is None:
        near = nearest_slice(_chips(pin.topology or ""), slices)
        most = max(slices, key=lambda piece: piece.chips)
        message = f"{pin.instance} has no topology {pin.topology} ({_chips(pin.topology or ''):,} chips)"
        fix = f"use {near.topology} ({near.chips:,} chips), the nearest; the largest is {most.topology} ({most.chips:,} chips)"
        yield Violation(at / "topology", fix, message)
        return
    count, hosts = pin.slices or 1, f"{chosen.hosts} host{'s' * (chosen.hosts > 1)}"
    if pin.nodes and pin.nodes != chosen.hosts * count:
        many = f"{count} slices of {pin.topology} have {chosen.hosts * count} hosts" if count > 1 else f"A {pin.topology} slice has {hosts}"
        more = f", or set slices: {pin.nodes // chosen.hosts}" if pin.nodes % chosen.hosts == 0 and count == 1 else ""
        yield Violation(at / "nodes", f"set {chosen.hosts * count}{more}", f"{many}; nodes is {pin.nodes}")
    if count > 1 and not chosen.multi_host:
        message = f"Topology {pin.topology} has one host; slices that train together have several"
        yield Violation(at / "slices", "use a topology with several hosts", message)


def _hosts(at: At, pin: Pin, slices: tuple[TpuSlice, ...]) -> Iterator[Violation]:
    sizes = list(dict.fromkeys(piece.hosts for piece in slices if piece.listed))
    if pin.slices:
        yield Violation(at / "slices", f"add such as topology: {slices[-1].topology}", "`slices` is set without `topology`", about_key=True)
    elif pin.nodes and pin.nodes not in sizes:
        message = f"No slice of {pin.instance} has {pin.nodes} hosts; the largest has {max(piece.chips for piece in slices):,} chips"
        yield Violation(at / "nodes", f"set one of {', '.join(map(str, sizes))}", message)


# Slice names of v4 and v5p count TensorCores, of which a chip has two; those of v5e and v6e count chips.
@rule("S-250", link="https://cloud.google.com/tpu/docs/supported-tpu-configurations")
def machine_is_no_slice_name(context: SpecContext) -> Iterator[Violation]:
    """A pinned TPU is given by its host type and topology, not by the accelerator type of the TPU API."""
    for at, place in context.places:
        if place.pin and (named := slice_name(place.pin.instance, context.catalog)):
            name, near = named.name, named.nearest
            message = f"{quote(name)} is an accelerator type of the TPU API with {named.chips:,} chips ({named.counts})"
            if near.chips != named.chips:
                message += f"; {near.generation} has no slice of that size, and its largest has {named.largest:,} chips"
            yield Violation(at / "pin" / "instance", f"set instance: {near.gke_machine_type}, topology: {near.topology}", message)


@rule("S-251", link=QUEUED)
def queued_capacity_is_flex_start(context: SpecContext) -> Iterator[Violation]:
    """Queued provisioning obtains flex-start machines, so every capacity entry of its place is flex-start."""
    for at, place in context.places:
        others = [mode for mode in map(mode_of, (*place.capacity.ordered, *place.capacity.fallback)) if mode != "flex-start"]
        if place.capacity.queued and others:
            message = f"`queued` is for flex-start machines; this place also lists {', '.join(dict.fromkeys(others))}"
            yield Violation(at / "capacity" / "queued", "set capacity: {ordered: [flex-start], queued: true}", message, about_key=True)
        elif place.capacity.queued and not context.spec.is_training:
            message = (
                f"Queued provisioning is for jobs, which end; workload {context.spec.workload.name} is of kind {context.spec.workload.kind}"
            )
            yield Violation(at / "capacity" / "queued", "leave it out", message, about_key=True)


# The provider's TPU VM names no reservation, and its queued resource has no spot mode, service account, script, label or disk.
@rule("S-252", link="https://github.com/hashicorp/terraform-provider-google/issues/24153")
def tpu_is_no_box(context: SpecContext) -> Iterator[Violation]:
    """A box has GPUs or CPUs; TPU VMs and queued resources of the TPU API are not built, slices on GKE are."""
    for _, place in context.places:
        if context.spec.blueprint.kind == "box" and place.pin and (pieces := context.catalog.slices_by_machine.get(place.pin.instance)):
            one = next((piece.topology for piece in pieces if piece.hosts == 1), pieces[0].topology)
            kind = "tpu-pod" if context.spec.is_training else "inference-fleet"
            message = f"A box on {place.pin.instance} would be a TPU VM, which this release does not build"
            yield Violation(At() / "blueprint" / "kind", f"set {kind}, with such as topology: {one} in the pin", message)
            return


class SliceName(NamedTuple):
    """An accelerator type of the TPU API. counts: what its number counts. nearest: the slice with its chips, else the nearest."""

    name: str
    chips: int
    counts: str
    nearest: TpuSlice
    largest: int


def slice_name(name: str, catalog: Catalog) -> SliceName | None:
    """The slice of an accelerator type; None for other names."""
    match = SLICE_NAME.fullmatch(name)
    if match is None:
        return None
    rows = [row for row in catalog.slices if match["version"] in (row.tpu_api_version, row.xpk_type.partition("-")[0])]
    if not rows:
        return None
    cores = next(row.tensorcores // row.chips for row in rows)
    by_cores = any(row.xpk_type == f"{match['version']}-{row.tensorcores}" and cores > 1 for row in rows)
    chips = int(match["size"]) // (cores if by_cores else 1)
    counts = f"the number counts TensorCores, {cores} per chip" if by_cores else "the number counts chips"
    exact = next((row for row in rows if name in (row.tpu_api_type, row.xpk_type)), None)
    return SliceName(name, chips, counts, exact or nearest_slice(chips, rows), max(row.chips for row in rows))


def nearest_slice(chips: int, slices: Iterable[TpuSlice]) -> TpuSlice:
    """The slice with the nearest number of chips; of equal ones the one in Google's lists."""
    return min(slices, key=lambda piece: (abs(piece.chips - chips), not piece.listed))


def _chips(topology: str) -> int:
    product = 1
    for side in topology.split("x"):
        product *= int(side)
    return product
