"""One service on many accelerators: rate of a replica within the latency goals and its cost, at on-demand list prices.

Rates come from the estimator, prices are the lowest published price of each accelerator in any region.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Machine, Offering
from rackwright.clouds import profile
from rackwright.estimator.result import PredictionInterval
from rackwright.sizing.economics.formulas import cheapest_first, per_million
from rackwright.sizing.economics.replica import Replica, ServiceRequest, replica
from rackwright.sizing.job import weight_bytes
from rackwright.sizing.offers.offer import core_of
from rackwright.sizing.rejection import Limit, Reason, Rejection, latency_rejections, model_size_rejection
from rackwright.sizing.search import cpu_roofline
from rackwright.sizing.search.outcome import max_concurrency
from rackwright.units import GIB, HOUR

ACCELERATORS = (
    "NVIDIA T4", "NVIDIA L4", "NVIDIA L40S", "NVIDIA A100 40GB SXM4", "NVIDIA A100 80GB SXM4", "NVIDIA H100 80GB SXM5",
    "TPU v5e", "TPU v6e (Trillium)",
)  # fmt: skip


@dataclass(frozen=True)
class ComparisonRow:
    """A replica and its price; None where no price is published or the replica is not possible.

    usd_per_hour: of the replica, its share of the machine. usd_per_request, usd_per_million_tokens: at the planned utilisation.
    """

    replica: Replica
    machine: str
    region: str
    usd_per_hour: float | None
    price_as_of: str
    price_source: str
    usd_per_request: PredictionInterval | None
    usd_per_million_tokens: PredictionInterval | None

    @property
    def runs(self) -> bool:
        return self.replica.requests_per_s is not None


def compare(request: ServiceRequest, catalog: Catalog, accelerators: Sequence[str] = ACCELERATORS) -> tuple[ComparisonRow, ...]:
    """Cheapest first, then rows without a price, then accelerators on which the service is not possible."""
    rows = [_row(best_replica(request, name, catalog), name, request, catalog) for name in accelerators]
    rows += list(_cpu_rows(request, catalog))
    priced = cheapest_first([r.usd_per_request.p50 if r.usd_per_request else None for r in rows])
    return tuple(sorted((rows[i] for i in priced), key=lambda r: not r.runs))


def _row(made: Replica, name: str, request: ServiceRequest, catalog: Catalog) -> ComparisonRow:
    found = cheapest(catalog, lambda m: m.accelerator == name and m.accelerator_fraction == 1, made.accelerators)
    if found is None or found.price_usd_per_hour is None:
        return ComparisonRow(made, found.machine.name if found else "", "", None, "", "", None, None)
    shared = found.machine.accelerator_count // made.accelerators
    return priced(made, found, found.price_usd_per_hour / shared, request)


def priced(made: Replica, found: Offering, usd: float, request: ServiceRequest) -> ComparisonRow:
    """usd: per hour, of the replica."""
    rate, out = made.requests_per_s, request.tokens[1] if request.generates else 0.0
    each = None if rate is None else rate.inverse(usd / HOUR / request.reserve)
    tokens = (
        None
        if each is None or not out
        else PredictionInterval(*(per_million(v, out) or 0.0 for v in (each.p10, each.p50, each.p90)), each.n)
    )
    return ComparisonRow(made, found.machine.name, found.region, usd, found.price_as_of, found.price_source, each, tokens)


def cheapest(catalog: Catalog, fits: Callable[[Machine], bool], count: int = 1) -> Offering | None:
    """The on-demand offering with the lowest price for `count` accelerators in any region; None where no machine has that many."""
    found = [o for m in catalog.machines if fits(m) and m.accelerator_count >= count for o in _on_sale(catalog, m)]

    def share(o: Offering) -> float:
        return (o.price_usd_per_hour or 0.0) / (max(o.machine.accelerator_count // count, 1) if count else 1)

    return min(found, key=lambda o: (o.price_usd_per_hour is None, share(o), o.machine.name, o.region), default=None)


def _on_sale(catalog: Catalog, m: Machine) -> list[Offering]:
    """Offerings of the machine, one per published price; one without a price where none is published."""
    mode = CapacityMode.ON_DEMAND
    if not m.orderable or profile(m.cloud).is_owned or mode not in m.capacity_modes:
        return []
    sku = m.accelerator if m.kind == "tpu" and m.accelerator else m.name
    regions = [row.region or "" for row in catalog.prices_by_sku.get((sku, mode), ())] or [""]
    return [query.offer(catalog, m, region, mode) for region in regions]


def best_replica(request: ServiceRequest, accelerator: str, catalog: Catalog) -> Replica:
    """The replica with the fewest accelerators that holds the model and meets the goals."""
    sold = {m.accelerator_count for m in catalog.machines if m.accelerator == accelerator and m.orderable} or {1}
    found = replica(request, accelerator, catalog)
    for width in (2, 4, 8):
        if found.rejections and request.generates and width <= max(sold):
            found = replica(request, accelerator, catalog, width)
    return found


def _cpu_rows(request: ServiceRequest, catalog: Catalog) -> Iterator[ComparisonRow]:
    """The cheapest CPU machine that serves the model, or the reason why none can."""
    n, name = request.network, "CPU"
    if n.active > cpu_roofline.LARGEST_PARAMETERS:
        large = model_size_rejection(n.active, cpu_roofline.LARGEST_PARAMETERS)
        yield ComparisonRow(Replica(name, 0, rejections=(large,)), "", "", None, "", "", None, None)
        return
    found = []
    for m in catalog.machines:
        core = core_of(m)
        offer = cheapest(catalog, lambda other, m=m: other.name == m.name, 0) if core else None
        if core and offer and offer.price_usd_per_hour:
            found.append(priced(_cpu_replica(request, core, m), offer, offer.price_usd_per_hour, request))
    running = [r for r in found if r.usd_per_request]
    yield min(running or found, key=lambda r: (r.usd_per_request.p50 if r.usd_per_request else 0.0, r.machine))


def _cpu_replica(request: ServiceRequest, core: cpu_roofline.Core, m: Machine) -> Replica:
    """Replica on a whole CPU machine; the estimate holds within a factor 2 either way."""
    n, vcpus, name = request.network, m.vcpus or 0, f"CPU, {m.vcpus} vCPU of {m.family}"
    weights = weight_bytes(n, request.numbers)
    room = (m.memory_bytes or 0) * cpu_roofline.FREE_MEMORY - weights
    if room <= 0:
        have = (room + weights) / GIB
        return Replica(name, 0, rejections=(Rejection(Limit.HOST_MEMORY, weights / GIB, have, "GiB", Reason.CPU_MEMORY),))
    if not request.generates:
        flops = (n.flops_per_sample or 2.0 * n.matmul * request.tokens[0]) * request.passes
        taken = cpu_roofline.sample_seconds(core, vcpus, flops * (1 + request.lora_overhead), weights * request.passes)
        if late := latency_rejections(taken, None, request.ttft_s):
            return Replica(name, 0, rejections=late)
        return _cpu_estimate(name, 1 / taken, taken, None, 1)
    cache = (request.tokens[0] + request.tokens[1] / 2) * 2.0 * n.kv_heads * n.head_dim * 2.0 * n.layers

    def at(running: int) -> cpu_roofline.Rate:
        return cpu_roofline.generate(core, vcpus, n.active, weights, cache, request.tokens, running)

    def keeps(running: int) -> bool:
        r = at(running)
        return running * cache <= room and not latency_rejections(r.ttft_s, r.tpot_s, request.ttft_s, request.tpot_s)

    if not (maximum := max_concurrency(keeps)):
        return Replica(name, 0, rejections=latency_rejections(at(1).ttft_s, at(1).tpot_s, request.ttft_s, request.tpot_s))
    r = at(maximum)
    return _cpu_estimate(name, r.requests_per_s, r.ttft_s, r.tpot_s, maximum)


def _cpu_estimate(name: str, rate: float, ttft_s: float, tpot_s: float | None, running: int) -> Replica:
    return Replica(name, 0, PredictionInterval(rate / 2, rate, rate * 2), ttft_s, tpot_s, running, "prior only")
