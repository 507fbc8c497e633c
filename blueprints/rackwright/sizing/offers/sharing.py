"""Divisions of a machine's accelerators that the spec and the catalog allow."""

from collections.abc import Iterator
from typing import get_args

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, Machine, MigProfile, Sharing
from rackwright.catalog.sharing import MAX_MPS_CLIENTS, Strategy, equal_parts, mig_parts
from rackwright.clouds import supports
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.plan import Candidate
from rackwright.spec.blueprint import Sharing as SharingChoice
from rackwright.spec.blueprint import SharingOptions
from rackwright.spec.inventory import ServerGroup
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve

AUTO: tuple[Strategy, ...] = ("mig", "mps")
"""Strategies of `sharing: auto`: those that limit the memory of each replica."""
SEARCHED_PARTS = (2, 3, 4, 6, 8)
"""Replicas per accelerator that are searched for MPS and time-slicing."""


def options_of(choice: SharingChoice) -> tuple[SharingOptions, ...]:
    """The strategies that `blueprint.sharing` allows, with their options."""
    if isinstance(choice, SharingOptions):
        return (choice,)
    named = {"auto": AUTO, "none": ()}.get(choice, tuple(s for s in get_args(Strategy) if s == choice))
    return tuple(SharingOptions(strategy=strategy) for strategy in named)


def profiles_of(accelerator: str, catalog: Catalog) -> tuple[MigProfile, ...]:
    """MIG profiles of an accelerator, those that divide it first; empty where it cannot be divided."""
    return tuple(row for row in catalog.mig_profiles if row.accelerator == accelerator)


def divided_machines(machine: Machine, accelerator: Accelerator | None, spec: Spec, catalog: Catalog, a: Assumptions) -> Iterator[Machine]:
    """The machine with its accelerators divided in each way that the spec allows, for services on NVIDIA GPUs.

    A division leaves each replica the vCPUs that its server needs.
    """
    whole = machine.kind == "gpu" and machine.accelerator_fraction == 1 and accelerator is not None and accelerator.vendor == "NVIDIA"
    memory = accelerator.memory_bytes if accelerator else None
    if not (whole and accelerator and memory and isinstance(spec.workload, Serve) and supports(machine.cloud, "serve.sharing")):
        return
    for options in options_of(spec.blueprint.sharing):
        for sharing in _divisions(options, accelerator.name, catalog):
            if (machine.vcpus or 0) >= a.sharing_vcpus * machine.accelerator_count * sharing.parts:
                yield machine.divided(sharing, machine.accelerator_memory_bytes or memory)


def already_divided(machine: Machine, accelerator: Accelerator | None, group: ServerGroup, catalog: Catalog) -> Machine | None:
    """The machine of a group whose GPUs are divided by MIG; None for whole GPUs, and for a profile that they lack (S-189)."""
    profile = group.gpus.mig if group.gpus else None
    rows = profiles_of(accelerator.name, catalog) if accelerator and profile else ()
    row = next((row for row in rows if row.profile == profile), None)
    return machine.divided(mig_parts(row), machine.accelerator_memory_bytes or 0.0) if row else None


def _divisions(options: SharingOptions, accelerator: str, catalog: Catalog) -> Iterator[Sharing]:
    count = options.replicas_per_accelerator
    if options.strategy != "mig":
        most = MAX_MPS_CLIENTS if options.strategy == "mps" else count or 0
        yield from (equal_parts(options.strategy, parts) for parts in ((count,) if count else SEARCHED_PARTS) if not count or parts <= most)
        return
    for row in profiles_of(accelerator, catalog):
        if row.instances > 1 and options.profile in (None, row.profile) and (count is None or count == row.instances):
            yield mig_parts(row)


def machine_of(candidate: Candidate, catalog: Catalog) -> Machine:
    """The machine of a candidate, with its accelerators divided as the candidate divides them."""
    machine = catalog.machine(candidate.machine)
    return (
        machine.divided(candidate.sharing, candidate.accelerator_memory_bytes / candidate.sharing.memory_share)
        if candidate.sharing
        else machine
    )
