"""The rate of a candidate that its hosts can feed, where that is lower than the rate of its accelerators."""

from dataclasses import replace

from rackwright.sizing.node.host_rate import host_rate
from rackwright.sizing.node.host_work import HostWork
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.search.outcome import Outcome


def fed_by_host(offer: Offer, nodes: int, outcome: Outcome, work: HostWork) -> tuple[Outcome, Note | None]:
    """The outcome of a run that ends at the rate that its hosts feed, and what limits it; unchanged where its accelerators do."""
    speed, machine = outcome.speed, offer.machine
    rate = speed.samples_per_s
    if machine.kind == "cpu" or not rate or outcome.work_s is None or not (work.sample.vcpu_s or work.sample.read_bytes):
        return outcome, None
    found = host_rate(work.host(machine, offer.accelerator, nodes), work.sample, rate / nodes)
    if found.term is None:
        return outcome, None
    fed = found.samples_per_s * nodes
    slower = rate / fed
    slowed = replace(
        speed,
        samples_per_s=fed,
        tokens_per_s=speed.tokens_per_s and speed.tokens_per_s / slower,
        requests_per_s=speed.requests_per_s and speed.requests_per_s / slower,
        units_per_s=speed.units_per_s and speed.units_per_s / slower,
        step_s=speed.step_s and speed.step_s * slower,
        input_s=speed.step_s and speed.step_s * (slower - 1),
        mfu=speed.mfu and speed.mfu / slower,
    )
    limit = Note(NoteKind.HOST_LIMIT, {"part": str(found.term), "samples_per_s": fed, "wanted_per_s": rate, "machine": machine.name})
    return replace(outcome, speed=slowed, work_s=outcome.work_s * slower), limit
