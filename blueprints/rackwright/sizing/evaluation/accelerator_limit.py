"""`limits.accelerators` at the maximum size of a service."""

from collections.abc import Iterator

from rackwright.sizing.note import Note, NoteKind


def scaled_beyond_limit(accelerators: int, limit: int | None) -> Iterator[Note]:
    """A note about a maximum number of replicas with more accelerators than `limits.accelerators`, which holds for the planned number.

    accelerators: at the maximum size.
    """
    if limit is not None and accelerators > limit:
        yield Note(NoteKind.ACCELERATORS_AT_MAXIMUM, {"most": accelerators, "limit": limit})
