"""One service on many accelerators: the cheapest replica within the latency goals, at full utilisation.

Accelerators of the plan have its machines, layouts and prices; the others the lowest on-demand list price in any region. Rates come from
the search.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Machine, Offering
from rackwright.clouds import profile
from rackwright.estimator.calibration.coefficients import Calibration, calibration
from rackwright.estimator.config import accelerators
from rackwright.estimator.result import PredictionInterval
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.economics.formulas import cheapest_first, per_million
from rackwright.sizing.economics.replica import Replica, cpu_replica, fed_replica, of_fit, replicas_on
from rackwright.sizing.job import ServingJob
from rackwright.sizing.node.host_work import NO_WORK, HostWork
from rackwright.sizing.offers.node_counts import target
from rackwright.sizing.offers.offer import CPU, core_of
from rackwright.sizing.offers.sharing import machine_of
from rackwright.sizing.plan import Fit
from rackwright.sizing.rejection import Limit, Reason, Rejection, model_size_rejection
from rackwright.sizing.search.cpu_only import CpuMachine
from rackwright.sizing.search.cpu_roofline import LARGEST_PARAMETERS
from rackwright.sizing.search.target import Target
from rackwright.units import HOUR

ACCELERATORS = (
    "NVIDIA T4", "NVIDIA L4", "NVIDIA L40S", "NVIDIA A100 40GB SXM4", "NVIDIA A100 80GB SXM4", "NVIDIA H100 80GB SXM5",
    "TPU v5e", "TPU v6e (Trillium)",
)  # fmt: skip


@dataclass(frozen=True)
class ComparisonRow:
    """A replica and its price; None where no price is published or the replica is not possible.

    usd_per_hour: of the replica, its share of the machine. usd_per_request, usd_per_million_tokens: interval of the cost at full
    utilisation; planned_*: at the planned rate, by which rows are ordered. rank: in the plan, None for a list price outside it.
    unsupported, not_buildable: why this release cannot build it, by its accelerator and by the stack of its rank.
    """

    replica: Replica
    machine: str
    region: str
    usd_per_hour: float | None
    price_as_of: str
    price_source: str
    usd_per_request: PredictionInterval | None
    usd_per_million_tokens: PredictionInterval | None
    planned_usd_per_request: float | None = None
    planned_usd_per_million_tokens: float | None = None
    capacity: str = ""
    rank: int | None = None
    unsupported: tuple[Rejection, ...] = ()
    not_buildable: str | None = None

    @property
    def runs(self) -> bool:
        return self.replica.requests_per_s is not None


@dataclass(frozen=True)
class Sale:
    """A machine at its price in one place. fit, rank: of the plan, None for a list price."""

    machine: Machine
    region: str
    capacity: str
    usd_per_hour: float | None
    price_as_of: str = ""
    price_source: str = ""
    fit: Fit | None = None
    rank: int | None = None


def compare(
    job: ServingJob,
    catalog: Catalog,
    names: Sequence[str] = ACCELERATORS,
    fits: Sequence[Fit] = (),
    a: Assumptions = DEFAULT,
    c: Calibration | None = None,
    work: HostWork = NO_WORK,
) -> tuple[ComparisonRow, ...]:
    """Cheapest first, then rows without a price, then accelerators on which the service is not possible.

    fits: of the plan, in order of rank; the accelerator of the first has only that fit. work: of the hosts.
    """
    sales = {name: list_sales(catalog, name) for name in names} | _plan_sales(fits, catalog)
    found = replicas_by_machine(job, (sale.machine for some in sales.values() for sale in some), catalog, a, c or calibration(), work)
    rows = [_cheapest(name, some, found, job) for name, some in sales.items() if name != CPU]
    rows += list(_cpu_rows(job, catalog, sales.get(CPU, ()), a))
    order = cheapest_first([row.planned_usd_per_request for row in rows])
    return tuple(sorted((rows[i] for i in order), key=lambda row: not row.runs))


def replicas_by_machine(
    job: ServingJob, machines: Iterable[Machine], catalog: Catalog, a: Assumptions, c: Calibration, work: HostWork
) -> dict[str, tuple[Replica, ...]]:
    """Replicas of a service by `device_key` of the machine, at the rates that its host feeds; none where facts of its accelerator are
    missing."""
    targets = {m.device_key: (m, t) for m in machines if (t := target_of(m, catalog, a))}
    found = replicas_on(job, [t for _, t in targets.values()], a, c)

    def fed(replica: Replica, m: Machine) -> Replica:
        return fed_replica(replica, m, query.accelerator(catalog, replica.accelerator), work, a)

    return {name: tuple(fed(replica, m) for replica in found[t]) for name, (m, t) in targets.items()}


def target_of(machine: Machine, catalog: Catalog, a: Assumptions = DEFAULT) -> Target | None:
    """Search target of one machine; None where facts of its accelerator are not published."""
    row = query.accelerator(catalog, machine.accelerator) if machine.accelerator else None
    if row is None or accelerators.of(row, catalog) is None:
        return None
    chips = machine.accelerator_count if machine.kind == "tpu" else 0
    return target(machine, row, 1, catalog, chips, int(bool(chips)), a)


def list_sales(catalog: Catalog, accelerator: str) -> list[Sale]:
    """Machines with whole accelerators of a name, on demand, each in its cheapest region."""
    whole = (m for m in catalog.machines if m.accelerator == accelerator and m.accelerator_fraction == 1 and m.accelerator_count)
    return [sale for m in whole if (sale := cheapest(catalog, m))]


def cheapest(catalog: Catalog, m: Machine) -> Sale | None:
    """The lowest published on-demand price of a machine; without one no price; None where it is not sold on demand."""
    found = _on_sale(catalog, m)
    o = min(found, key=lambda o: (o.price_usd_per_hour is None, o.price_usd_per_hour or 0.0, o.region), default=None)
    return Sale(m, o.region, str(o.capacity), o.price_usd_per_hour, o.price_as_of, o.price_source) if o else None


def _on_sale(catalog: Catalog, m: Machine) -> list[Offering]:
    """Offerings of the machine, one per published price; one without a price where none is published."""
    mode = CapacityMode.ON_DEMAND
    if not m.orderable or profile(m.cloud).is_owned or mode not in m.capacity_modes:
        return []
    sku = m.accelerator if m.kind == "tpu" and m.accelerator else m.name
    regions = [row.region or "" for row in catalog.prices_by_sku.get((sku, mode), ())] or [""]
    return [query.offer(catalog, m, region, mode) for region in regions]


def _plan_sales(fits: Sequence[Fit], catalog: Catalog) -> dict[str, list[Sale]]:
    """Machines of the plan by accelerator: of the chosen accelerator the chosen machine, of the others those with a price."""
    found: dict[str, list[Sale]] = {}
    for rank, fit in enumerate(fits, 1):
        o = fit.candidate
        machine = machine_of(o, catalog) if query.machine(catalog, o.machine) else None
        is_other = o.accelerator != fits[0].candidate.accelerator and o.price_usd_per_hour is not None
        if machine and (rank == 1 or is_other):
            sale = Sale(machine, o.region, o.capacity, o.price_usd_per_hour, o.price_as_of, o.price_source, fit, rank)
            found.setdefault(o.accelerator, []).append(sale)
    return found


def _cheapest(name: str, sales: Sequence[Sale], found: dict[str, tuple[Replica, ...]], job: ServingJob) -> ComparisonRow:
    """The replica with the lowest cost per request among the machines of an accelerator; without a price the fastest per accelerator."""
    rows = []
    for sale in sales:
        replicas = found.get(sale.machine.device_key, ())
        rows += [priced(replica, sale, job) for replica in ([of_fit(sale.fit, replicas, job)] if sale.fit and replicas else replicas)]
    if not rows:
        reason = Reason.UNPUBLISHED if sales else Reason.REGIONS_UNKNOWN
        missing = Rejection(Limit.DATA, reason=reason, subject="compute rate")
        return ComparisonRow(Replica(name, 1, rejections=(missing,)), "", "", None, "", "", None, None)
    return min(rows, key=_order)


def _order(row: ComparisonRow) -> tuple:
    """Possible before impossible, stacks that can be built, priced ones, cheapest, nearest to their limits, with fewest accelerators."""
    r, cost = row.replica, row.planned_usd_per_request
    distance = max((x.distance for x in r.rejections), default=1.0)
    speed = (r.planned_requests_per_s or 0.0) / max(r.accelerators, 1)
    usable = (not row.runs, bool(row.not_buildable), cost is None)
    return (*usable, cost or 0.0, distance, -speed, r.accelerators, row.rank or 0, row.machine, row.region)


def priced(made: Replica, sale: Sale, job: ServingJob) -> ComparisonRow:
    """The cost of a replica: its share of a machine, or its machines."""
    m, rate = sale.machine, made.planned_requests_per_s
    on_machine = made.on_machine(m.accelerator_count)
    machines = 1 / on_machine if on_machine else made.accelerators / m.accelerator_count
    usd = None if sale.usd_per_hour is None else sale.usd_per_hour * machines
    known = usd is not None and rate is not None and made.requests_per_s is not None
    each = made.requests_per_s.inverse(usd / HOUR) if known else None
    planned, out = usd / HOUR / rate if known else None, job.output_tokens if job.generates else 0.0
    tokens = PredictionInterval(each.p10 / out * 1e6, each.p50 / out * 1e6, each.p90 / out * 1e6, each.n) if each and out else None
    serves_not = (Rejection(Limit.BLUEPRINT, reason=Reason.TPU_SERVING),) if m.kind == "tpu" else ()
    return ComparisonRow(
        replica=made,
        machine=m.name,
        region=sale.region,
        usd_per_hour=usd,
        price_as_of=sale.price_as_of,
        price_source=sale.price_source,
        usd_per_request=each,
        usd_per_million_tokens=tokens,
        planned_usd_per_request=planned,
        planned_usd_per_million_tokens=per_million(planned, out),
        capacity=sale.capacity,
        rank=sale.rank,
        unsupported=serves_not,
        not_buildable=sale.fit.not_buildable if sale.fit else None,
    )


def _cpu_rows(job: ServingJob, catalog: Catalog, sales: Sequence[Sale], a: Assumptions) -> Iterator[ComparisonRow]:
    """The cheapest CPU machine that serves the model, or the reason why none can."""
    sales = sales or [sale for m in catalog.machines if core_of(m) and m.vcpus and m.memory_bytes and (sale := cheapest(catalog, m))]
    made = [(sale, replica) for sale in sales if (replica := on_cpu(job, sale.machine, a))]
    rows = [priced(of_fit(sale.fit, [replica], job) if sale.fit else replica, sale, job) for sale, replica in made]
    yield from sorted(rows, key=_order)[:1]


def on_cpu(job: ServingJob, m: Machine, a: Assumptions) -> Replica | None:
    """A replica on a whole CPU machine; None where the rates of its cores are not published."""
    core, active = core_of(m), job.network.active
    if core is None or not (m.vcpus and m.memory_bytes):
        return None
    if job.generates and active > LARGEST_PARAMETERS:  # the reason on every CPU machine
        return Replica(CPU, 0, rejections=(model_size_rejection(active, LARGEST_PARAMETERS),))
    return cpu_replica(job, f"{CPU}, {m.vcpus} vCPU of {m.family}", CpuMachine(core, m.vcpus, m.memory_bytes), a)
