"""The rate of a candidate that its hosts can feed, where that is lower than the rate of its accelerators.

A run becomes slower, a service needs more machines.
"""

import math
from dataclasses import replace

from rackwright.catalog.rows import Accelerator, Machine
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import Job, ServingJob
from rackwright.sizing.node.host_rate import HostRate, host_rate, processor_rate
from rackwright.sizing.node.host_work import HostWork
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.search.outcome import Outcome

IDLE_SHARE = 0.05
"""Lowest idle share of the processors with which a wait is computed: pinned machines can be too few."""


def fed_by_host(offer: Offer, nodes: int, outcome: Outcome, work: HostWork) -> tuple[Outcome, Note | None]:
    """The outcome of a run that ends at the rate that its hosts feed, and what limits it; unchanged where its accelerators do."""
    speed, machine = outcome.speed, offer.machine
    rate = speed.samples_per_s
    if machine.kind == "cpu" or not rate or outcome.work_s is None or not work.has_samples:
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


def fed_machine(machine: Machine, accelerator: Accelerator | None, samples_per_s: float, work: HostWork) -> HostRate:
    """What one machine of a service feeds. samples_per_s: of one of its accelerators alone."""
    wanted = samples_per_s * max(machine.accelerator_count, 1)
    return host_rate(work.host(machine, accelerator, 1), work.sample, wanted) if work.has_samples else HostRate(wanted)


def decoding_s(machine: Machine, accelerator: Accelerator | None, per_s: float, samples_per_s: float, work: HostWork) -> float:
    """Seconds that the processors of a machine work on one sample, with the wait for them: service time over the idle share.

    per_s: samples per second of the machine. samples_per_s: of one of its accelerators alone.
    """
    wanted = samples_per_s * max(machine.accelerator_count, 1)
    able = processor_rate(work.host(machine, accelerator, 1), work.sample, wanted)
    return work.sample.vcpu_s / max(1 - per_s / able, IDLE_SHARE) if able else work.sample.vcpu_s


def host_reserve_s(job: Job, work: HostWork) -> float:
    """Seconds of the latency goal that the search leaves to the processors: the work on a sample, and a wait as long at half their use.

    0 for jobs without such a goal, and where the reserve would take most of it: the goal then fails with the numbers of the accelerators.
    """
    if not isinstance(job, ServingJob) or job.ends or not job.ttft_s or not work.has_samples:
        return 0.0
    reserve = 2 * work.sample.vcpu_s
    return reserve if 2 * reserve < job.ttft_s else 0.0


def accelerator_job(job: Job, work: HostWork) -> Job:
    """The job with the part of its latency goal that is left to the accelerators."""
    if not (reserve := host_reserve_s(job, work)):
        return job
    assert isinstance(job, ServingJob)
    assert job.ttft
    return replace(job, ttft=(job.ttft[0] - reserve, job.ttft[1]))


def _against_whole_goal(rejection: Rejection, reserve_s: float) -> Rejection:
    """A rejection by the accelerators' part of the goal, with the reserve in both numbers."""
    if rejection.limit is not Limit.LATENCY or rejection.need is None or rejection.have is None:
        return rejection
    p50 = rejection.p50 if rejection.p50 is None else rejection.p50 + reserve_s * 1000
    return replace(rejection, need=rejection.need + reserve_s * 1000, have=rejection.have + reserve_s * 1000, p50=p50)


def served_by_hosts(found: Outcome, job: Job, machine: Machine, accelerator: Accelerator | None, work: HostWork, a: Assumptions) -> Outcome:
    """The outcome of a service with the work of its hosts: their seconds in both latencies, and more machines where their rate needs them.

    Machines that are added for their hosts have a replica on every accelerator. Other outcomes stay as they are.
    """
    if reserve := host_reserve_s(job, work):
        found = replace(found, rejections=tuple(_against_whole_goal(rejection, reserve) for rejection in found.rejections))
    s, each = found.speed, machine.accelerator_count
    if not isinstance(job, ServingJob) or job.ends or found.rejections or not s.samples_per_s or not each or not work.has_samples:
        return found
    rate, alone_s, fed = s.samples_per_s, work.sample.vcpu_s, fed_machine(machine, accelerator, s.samples_per_s, work)
    found = _with_hosts(found, job, machine, fed, a)
    host_s = decoding_s(machine, accelerator, job.rate / max(found.nodes, 1), rate, work)
    speed = replace(
        found.speed, ttft_s=s.ttft_s and s.ttft_s + host_s, ttft_p50_s=s.ttft_p50_s and s.ttft_p50_s + host_s,
        unloaded_s=s.unloaded_s and s.unloaded_s + alone_s,
    )  # fmt: skip
    late = ()
    if job.ttft_s and speed.ttft_s and speed.ttft_s > job.ttft_s:
        late = (Rejection(Limit.LATENCY, speed.ttft_s * 1000, job.ttft_s * 1000, "ms", Reason.HOST_LATENCY, amount=host_s * 1000),)
    return replace(found, speed=speed, rejections=(*found.rejections, *late))


def _with_hosts(found: Outcome, job: ServingJob, machine: Machine, fed: HostRate, a: Assumptions) -> Outcome:
    """The outcome with the machines whose hosts feed the peak rate within the planned utilisation. The rates are those that hosts feed."""
    s, each = found.speed, machine.accelerator_count
    if fed.term is None or not s.samples_per_s:
        return found
    nodes = max(math.ceil(job.rate / (fed.samples_per_s * a.max_utilisation)), found.nodes)
    replicas = max(nodes * each if nodes > found.nodes else 0, found.replicas)
    rate = min(fed.samples_per_s * nodes / replicas, s.samples_per_s)
    if rate == s.samples_per_s and nodes == found.nodes:
        return found
    values = {"part": str(fed.term), "samples_per_s": fed.samples_per_s, "wanted_per_s": s.samples_per_s * each, "machine": machine.name}
    added = (Note(NoteKind.HOST_LIMIT_OF_SERVICE, values),) if nodes > found.nodes else ()
    many = Rejection(Limit.THROUGHPUT, replicas, job.max_replicas, "replicas", Reason.REPLICA_LIMIT)
    return replace(
        found, speed=replace(s, samples_per_s=rate, units_per_s=rate * replicas * job.sample.units), nodes=nodes, replicas=replicas,
        max_replicas=max(replicas, found.max_replicas), notes=(*found.notes, *added),
        rejections=(many,) if job.max_replicas is not None and replicas > job.max_replicas else (),
    )  # fmt: skip
