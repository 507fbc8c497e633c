"""Notes about the accelerators of a candidate: number format, share of a device, limit at the maximum size."""

from collections.abc import Iterator
from fractions import Fraction

from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.offer import Offer


def number_format_notes(offer: Offer, precision: str, trains: bool) -> Iterator[Note]:
    """Notes about the number format and the share of a device."""
    m, accelerator = offer.machine, offer.accelerator
    if accelerator and precision == "fp16" and not accelerator.supports("bf16"):
        yield Note(NoteKind.FP16_TRAINING if trains else NoteKind.FP16_SERVING, {"accelerator": accelerator.name})
    if accelerator and m.accelerator_fraction < 1:
        share = str(Fraction(m.accelerator_fraction).limit_denominator(64))
        yield Note(NoteKind.DEVICE_SHARE, {"machine": m.name, "share": share, "accelerator": accelerator.name})
    if accelerator and (sharing := m.sharing):
        values = {"strategy": sharing.strategy, "profile": sharing.profile, "parts": sharing.parts, "accelerator": accelerator.name}
        shares = {"memory": sharing.memory_share, "compute": sharing.compute_share}
        yield Note(NoteKind.TIME_SLICED if sharing.strategy == "time-slicing" else NoteKind.SHARED_ACCELERATOR, values | shares)


def scaled_beyond_limit(accelerators: int, limit: int | None) -> Iterator[Note]:
    """A note about a maximum number of replicas with more accelerators than `limits.accelerators`, which holds for the planned number.

    accelerators: at the maximum size.
    """
    if limit is not None and accelerators > limit:
        yield Note(NoteKind.ACCELERATORS_AT_MAXIMUM, {"most": accelerators, "limit": limit})


def slice_notes(offer: Offer) -> Iterator[Note]:
    """The network between TPU slices: its published rate, or that it is not published."""
    if offer.slices > 1 and offer.slice_rate:
        yield Note(NoteKind.SLICE_RATE, {"slices": offer.slices, "gb_s": offer.slice_rate / 1e9})
    elif offer.slices > 1:
        yield Note(NoteKind.SLICE_RATE_UNKNOWN, {"accelerator": offer.machine.accelerator or ""})
