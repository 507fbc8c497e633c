"""Cost and revenue of serving per request, per million tokens, over load and over a month. Numbers in, numbers out.

Does not depend on the catalog or the spec. Unknown amounts are None: without a price no cost, without a revenue neither break-even nor
pay-back time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from rackwright.sizing.assumptions import OWN, assumed
from rackwright.sizing.search.serving.replicas import lognormal_sigma
from rackwright.units import HOUR, MONTH_H

QUANTILES = 199
"""Number of equally likely load levels of a month."""


@dataclass(frozen=True)
class TrafficAssumptions:
    """Assumptions about traffic and cold starts."""

    month_h: float = assumed(MONTH_H, "h", "average month")
    peak_to_mean: float = assumed(2.5, "busiest hour over mean", f"{OWN}: where mean_requests_per_second is not given")
    boot_s: float = assumed(150, "s", f"{OWN}: a machine from request to ready node, drivers included")
    image_bytes: float = assumed(10e9, "bytes pulled", f"{OWN}: a serving image with CUDA, compressed")
    pull_bytes_per_s: float = assumed(250e6, "bytes/s", f"{OWN}: pull and unpack of a container image")
    weights_bytes_per_s: float = assumed(1e9, "bytes/s", f"{OWN}: weights from a bucket into the accelerator, one node")
    engine_s: float = assumed(60, "s", f"{OWN}: an engine compiles, captures graphs, warms up")


TRAFFIC_ASSUMPTIONS = TrafficAssumptions()


@dataclass(frozen=True)
class ServiceCost:
    """Rate and price of a service.

    requests_per_s: of one replica within its goals, reserve included. usd_per_hour: of one machine, which holds `copies`
    replicas, or of the machines of one replica that spans several; on machines that workloads share, the part of this one.
    output_tokens: of a request, 0 where none are generated. least: minimum replicas, 0 for scale to zero. max_replicas: None for no limit.
    """

    requests_per_s: float
    usd_per_hour: float | None
    output_tokens: float = 0.0
    least: int = 1
    copies: int = 1
    max_replicas: int | None = None

    def replicas(self, requests_per_s: float) -> int:
        """Number of replicas for a load; the minimum without traffic."""
        if requests_per_s <= 0:
            return self.least
        return max(math.ceil(requests_per_s / self.requests_per_s * (1 - 1e-12)), self.least, 1)

    def usd_an_hour(self, requests_per_s: float) -> float | None:
        return self.machines_usd(self.replicas(requests_per_s))

    def machines_usd(self, replicas: int) -> float | None:
        """US dollars per hour of the machines that hold so many replicas."""
        return None if self.usd_per_hour is None else math.ceil(replicas / self.copies) * self.usd_per_hour

    @property
    def least_machines(self) -> int:
        """Minimum number of machines while there is traffic."""
        return math.ceil(max(self.least, 1) / self.copies)

    def usd_per_request(self, requests_per_s: float) -> float | None:
        """US dollars per request; None without a price or without traffic."""
        usd = self.usd_an_hour(requests_per_s)
        return None if usd is None or requests_per_s <= 0 else usd / (requests_per_s * HOUR)

    def usd_per_million_tokens(self, requests_per_s: float) -> float | None:
        return per_million(self.usd_per_request(requests_per_s), self.output_tokens)

    @property
    def full_requests_per_s(self) -> float:
        """Highest load of the replicas that the minimum machines hold, within the limit of replicas."""
        room = self.copies * self.least_machines
        return self.requests_per_s * (room if self.max_replicas is None else min(room, max(self.max_replicas, self.least)))

    @property
    def full_usd_per_request(self) -> float | None:
        """US dollars per request at full utilisation, the lowest possible cost."""
        return self.usd_per_request(self.full_requests_per_s)


def per_million(usd_per_request: float | None, output_tokens: float) -> float | None:
    """US dollars per million output tokens; the cost of the prompt is included."""
    return None if usd_per_request is None or output_tokens <= 0 else usd_per_request / output_tokens * 1e6


@dataclass(frozen=True)
class LoadPoint:
    """Cost at one load. share: utilisation of the replicas."""

    requests_per_s: float
    replicas: int
    share: float
    usd_per_hour: float | None
    usd_per_request: float | None
    usd_per_million_tokens: float | None


def point(s: ServiceCost, rate: float) -> LoadPoint:
    n = s.replicas(rate)
    share = rate / (n * s.requests_per_s) if n else 0.0
    return LoadPoint(rate, n, share, s.usd_an_hour(rate), s.usd_per_request(rate), s.usd_per_million_tokens(rate))


def curve(s: ServiceCost, highest: float, points: int = 60) -> tuple[LoadPoint, ...]:
    """Load points from 2 % of one replica to `highest` requests/s, on a logarithmic axis, with both sides of every step."""
    low, high = s.requests_per_s / 50, max(highest, s.requests_per_s)
    rates = {low * (high / low) ** (i / (points - 1)) for i in range(points)}
    steps = range(max(s.least, 1), min(s.replicas(high), 24))
    rates |= {s.requests_per_s * n for n in steps} | {s.requests_per_s * n * 1.000001 for n in steps}
    return tuple(point(s, rate) for rate in sorted(r for r in rates if r <= high))


def busy_loads(mean: float, p95: float, idle_share: float) -> tuple[float, ...]:
    """Equally likely loads of the busy hours: lognormal, capped at `p95`, with `mean` as the mean over all hours, idle hours included.

    A mean that `p95` and `idle_share` do not allow is reduced.
    """
    busy = min(mean / (1 - idle_share), p95) if idle_share < 1 else 0.0
    if busy <= 0:
        return ()
    sigma, normal = lognormal_sigma(busy, p95), NormalDist()
    shape = [math.exp(sigma * normal.inv_cdf((i + 0.5) / QUANTILES)) for i in range(QUANTILES)]
    low, high = 0.0, p95 / shape[0]
    for _ in range(60):
        middle = (low + high) / 2
        enough = sum(min(middle * x, p95) for x in shape) >= busy * QUANTILES
        low, high = (low, middle) if enough else (middle, high)
    return tuple(min(high * x, p95) for x in shape)


def cold_start_s(weights_bytes: float, network_bytes_per_s: float | None = None, t: TrafficAssumptions = TRAFFIC_ASSUMPTIONS) -> float:
    """Seconds from zero machines to the first response. network_bytes_per_s: baseline of a machine, where lower."""
    network = network_bytes_per_s or math.inf
    pull, read = min(t.pull_bytes_per_s, network), min(t.weights_bytes_per_s, network)
    return t.boot_s + t.image_bytes / pull + weights_bytes / read + t.engine_s


@dataclass(frozen=True)
class Month:
    """Machine cost of an average month in US dollars.

    follows: with autoscaling. fixed: with the replicas of p95 all the time. kept_warm: with autoscaling and at least one replica.
    mean_replicas: of `follows`, over all hours.
    """

    mean_replicas: float
    follows_usd: float | None
    fixed_usd: float | None
    kept_warm_usd: float | None
    cold_start_s: float


def month(s: ServiceCost, mean: float, p95: float, idle_share: float, start_s: float, t: TrafficAssumptions = TRAFFIC_ASSUMPTIONS) -> Month:
    """idle_share: share of hours without traffic. start_s: of a cold start."""
    loads = busy_loads(mean, p95, idle_share)
    idle = idle_share if loads else 1.0

    def over_hours(value: Callable[[float], float], nothing: float) -> float:
        return idle * nothing + (1 - idle) * sum(map(value, loads)) / (len(loads) or 1)

    def cost(service: ServiceCost) -> float | None:
        if service.usd_per_hour is None:
            return None
        return over_hours(lambda x: service.usd_an_hour(x) or 0.0, service.machines_usd(service.least) or 0.0) * t.month_h

    fixed = s.usd_an_hour(p95)
    return Month(
        mean_replicas=over_hours(lambda x: float(s.replicas(x)), float(s.least)),
        follows_usd=cost(s),
        fixed_usd=None if fixed is None else fixed * t.month_h,
        kept_warm_usd=cost(replace(s, least=max(s.least, 1))),
        cold_start_s=start_s,
    )


@dataclass(frozen=True)
class Returns:
    """Revenue, margin and pay-back; None where not reached or unknown.

    break_even_requests_per_s: lowest traffic whose revenue covers its machines. pays_month_s: time until the revenue of a month covers
    its machines. pay_back_s: time until the margin covers the investment.
    """

    usd_per_request: float
    earned_usd_per_month: float
    margin_usd_per_month: float | None
    break_even_requests_per_s: float | None
    pays_month_s: float | None
    investment_usd: float | None = None
    pay_back_s: float | None = None


def break_even_requests_per_s(s: ServiceCost, earned_usd_per_request: float) -> float | None:
    """Lowest load whose revenue covers the machines; above it a further replica may need more traffic."""
    full = s.full_usd_per_request
    if s.usd_per_hour is None or full is None or full > earned_usd_per_request * (1 + 1e-12):
        return None
    return s.least_machines * s.usd_per_hour / (HOUR * earned_usd_per_request)


def returns(
    s: ServiceCost,
    earned_usd_per_request: float | None,
    mean: float,
    cost_usd: float | None,
    investment: float | None,
    t: TrafficAssumptions = TRAFFIC_ASSUMPTIONS,
) -> Returns | None:
    """Returns of a service, None without a revenue. cost_usd: machines of a month at the mean traffic."""
    if earned_usd_per_request is None:
        return None
    earned = mean * HOUR * t.month_h * earned_usd_per_request
    margin = None if cost_usd is None else earned - cost_usd
    pays = None if cost_usd is None or earned <= 0 or cost_usd > earned else cost_usd / earned * t.month_h * HOUR
    back = None if investment is None or margin is None or margin <= 0 else investment / margin * t.month_h * HOUR
    first = break_even_requests_per_s(s, earned_usd_per_request)
    return Returns(earned_usd_per_request, earned, margin, first, pays, investment, back)


def cheapest_first(costs: Sequence[float | None]) -> list[int]:
    """Indexes in order of cost; unknown costs last, in their order."""
    return sorted(range(len(costs)), key=lambda i: (costs[i] is None, costs[i] or 0.0, i))
