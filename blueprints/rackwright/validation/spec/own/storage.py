"""S-202, S-203: storage of own servers for checkpoints."""

from collections.abc import Iterator

from rackwright.diagnostics.rule import Violation
from rackwright.spec.workload import TRAINING
from rackwright.validation.spec.registry import SpecContext, rule


@rule("S-202")
def checkpoint_storage_is_unambiguous(context: SpecContext) -> Iterator[Violation]:
    """Checkpoints on own servers require one storage that is faster than the others, or `checkpoint.storage`."""
    for at, workload in context.each(*TRAINING):
        if workload.checkpoint.uri or workload.checkpoint.storage:
            continue
        for _, place in context.places:
            inventory = context.inventory(place)
            fastest = [entry.name for entry in inventory.fastest_storage] if inventory else []
            if len(fastest) > 1:
                message = f"The inventory has {len(fastest)} storages for checkpoints that may be equally fast: {', '.join(fastest)}"
                yield Violation(at / "checkpoint", f"such as checkpoint: {{storage: {fastest[0]}}}", message)


@rule("S-203")
def checkpoint_storage_exists(context: SpecContext) -> Iterator[Violation]:
    """`checkpoint.storage` must name a shared storage of the inventory, and cannot be combined with `checkpoint.uri`."""
    for at, workload in context.each(*TRAINING):
        named, where = workload.checkpoint.storage, at / "checkpoint" / "storage"
        if named is None:
            continue
        if workload.checkpoint.uri:
            message = f"Both `storage` ({named}) and `uri` ({workload.checkpoint.uri}) are set"
            yield Violation(where, "leave one of them out", message, about_key=True)
        for _, place in context.places:
            inventory = context.inventory(place)
            names = [entry.name for entry in inventory.shared_storage] if inventory else []
            if named not in names:
                listed = (
                    f"the inventory's shared storage is {', '.join(names)}" if names else "the place has no shared storage in an inventory"
                )
                fix = f"use {' or '.join(names)}" if names else "leave it out"
                yield Violation(where, fix, f"`storage` is {named}; {listed}")
