"""Economics of a serving spec: cost over load and over a month, revenue, and the same service on other accelerators."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import TypeAdapter

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.sizing.assumptions import DEFAULT, Assumptions, listed
from rackwright.sizing.calibrated import calibrated
from rackwright.sizing.economics import formulas
from rackwright.sizing.economics.comparison import ACCELERATORS, ComparisonRow, compare, list_sales, on_cpu, replicas_by_machine, target_of
from rackwright.sizing.economics.formulas import TRAFFIC_ASSUMPTIONS, LoadPoint, Month, Returns, ServiceCost
from rackwright.sizing.economics.replica import Replica, of_fit, replicas_on
from rackwright.sizing.inputs.inference_inputs import inference_inputs
from rackwright.sizing.inputs.model_of_spec import architecture_of
from rackwright.sizing.job import ServingJob
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.node.host_work import HostWork
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.sharing import machine_of
from rackwright.sizing.plan import Assumption, Fit, SizingPlan
from rackwright.sizing.rejection import Rejection
from rackwright.sizing.unit import UNITS
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve

MONTHS_COMPARED = 8
"""Number of fits whose month is compared with that of the chosen one."""
HOST_ASSUMPTIONS = {
    "diffusion": ("encode_s", "inference_worker_vcpus", "system_vcpus", "diffusion_bytes"),
    "vision": ("inference_decode_bytes_per_s", "inference_worker_vcpus", "system_vcpus", "vision_bytes", "decoded_per_byte"),
    "encoder": ("tokens_per_s", "inference_worker_vcpus", "system_vcpus"),
    "llm": ("tokens_per_s", "inference_worker_vcpus", "system_vcpus"),
}
"""Kind of model -> assumptions about the hosts of its services; of language models those that compute embeddings."""
MIN_SAVING = 0.05
"""Share of the monthly cost below which a saving is not reported."""


@dataclass(frozen=True)
class FieldReport:
    """Published measurement of a similar service: how many cards of each kind equal one TPU chip."""

    service: str
    ratios: tuple[tuple[str, float], ...]
    tpu: str
    ours: tuple[tuple[str, float | None], ...]
    source: str
    as_of: str = "not dated"


REPORTED = (("NVIDIA T4", 8.0), ("NVIDIA L4", 3.0))
REPORT_SOURCE = "published field report of an SDXL + LoRA service; the TPU generation is not stated"
REPORT_TPU = "TPU v5e"
"""TPU generation of our own estimate."""


@dataclass(frozen=True)
class Economics:
    """Economics of the chosen machines.

    unit: what the service sells, in lots of `sizing.unit.UNITS` with `requests_per_lot` requests. mean, p95: requests/s. mean_point,
    p95_point, full_point: cost at these loads and at the highest load of the minimum machines. curve: cost over load. revenue: None where
    the spec states none. overruled: goals that pinned machines break. prefill_replicas: of the planned replicas of a disaggregated
    service, which has no autoscaling and no comparison; None for other services. shared_with: further workloads on its machines, whose
    cost is not part of these economics. `wording.plan_text` fills in warnings.
    """

    spec: str
    model: str
    unit: Literal["token", "image", "request", "audio-second", "document"]
    machine: str
    service: ServiceCost
    mean_requests_per_s: float
    p95_requests_per_s: float
    idle_share: float
    mean_point: LoadPoint
    p95_point: LoadPoint
    full_point: LoadPoint
    curve: tuple[LoadPoint, ...]
    month: Month
    revenue: Returns | None
    comparison: tuple[ComparisonRow, ...]
    report: FieldReport | None
    assumptions: tuple[Assumption, ...]
    evidence: str
    warnings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    overruled: tuple[Rejection, ...] = ()
    requests_per_lot: float = 1.0
    prefill_replicas: int | None = None
    shared_with: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data with null for unknown values."""
        return TypeAdapter(Economics).dump_python(self, mode="json")


def economics_of(spec: Spec, plan: SizingPlan, catalog: Catalog, a: Assumptions = DEFAULT) -> Economics | None:
    """Economics of the chosen fit; None where nothing fits. Raises UserError for a workload that does not serve."""
    w, fit = _serving(spec), plan.chosen
    if fit is None:
        return None
    job, c, kind = serving_job(w, a), calibrated(spec), architecture_of(w.model)[0].kind
    work = HostWork.of(spec, plan.facts, catalog)
    services = _services(w, job, plan.fits[:MONTHS_COMPARED], catalog, a, c, work)
    s, p95 = services[0], job.rate
    mean = w.mean_requests_per_second or p95 / TRAFFIC_ASSUMPTIONS.peak_to_mean
    months = _months(w, plan, services, mean, p95, catalog)
    earned = w.revenue_per_request
    if earned is None and w.revenue is not None and job.generates:
        earned = w.revenue * job.output_tokens
    names = [name for name in ACCELERATORS if query.accelerator(catalog, name)]
    return Economics(
        spec=spec.name,
        model=plan.facts.model,
        unit=cast(Any, plan.facts.unit),
        requests_per_lot=UNITS[plan.facts.unit].lot / plan.facts.units_per_request,
        machine=fit.candidate.label,
        service=s,
        mean_requests_per_s=mean,
        p95_requests_per_s=p95,
        idle_share=w.idle,
        mean_point=formulas.point(s, mean),
        p95_point=formulas.point(s, p95),
        full_point=formulas.point(s, s.full_requests_per_s),
        curve=formulas.curve(s, p95 if job.pools else max(1.5 * p95, 2 * s.full_requests_per_s)),
        month=months[0],
        revenue=formulas.returns(s, earned, mean, months[0].follows_usd, w.investment),
        comparison=() if job.pools else compare(job, catalog, names, plan.fits, a, c, work),
        report=_field_report(job, catalog, a, c) if kind == "diffusion" else None,
        assumptions=_assumptions(w, kind, services, work, a),
        evidence=fit.evidence,
        notes=(*_cheaper(months, plan.fits), *_notes(w, s, job)),
        overruled=fit.overruled,
        prefill_replicas=fit.speed.prefill_replicas,
        shared_with=tuple(name for name in _sharing_workloads(fit) if name != w.name),
    )


def serving_job(w: Serve, a: Assumptions = DEFAULT) -> ServingJob:
    """The service of a workload as the search of its plan takes it."""
    job = inference_inputs(w, a).job
    assert isinstance(job, ServingJob)
    return job


def _serving(spec: Spec) -> Serve:
    w = spec.workload
    if isinstance(w, Serve):
        return w
    at = At() / "workloads" / 0 / "kind"
    problem = Problem("E-kind", f"economics needs kind: serve, not {w.kind}", at, "use `rackwright plan` for the cost of a run")
    raise UserError([problem], spec.name)


def _services(
    w: Serve, job: ServingJob, fits: Sequence[Fit], catalog: Catalog, a: Assumptions, c: Calibration, work: HostWork
) -> tuple[ServiceCost, ...]:
    """Rate and price of a replica of each fit, in order."""
    machines = [machine_of(fit.candidate, catalog) for fit in fits]
    found = replicas_by_machine(job, machines, catalog, a, c, work)
    services = []
    for fit, machine in zip(fits, machines, strict=True):
        replicas = found.get(machine.device_key) or [r for r in [on_cpu(job, machine, a)] if r]
        services.append(_service(w, job, fit, of_fit(fit, replicas, job) if replicas else None))
    return tuple(services)


def _service(w: Serve, job: ServingJob, fit: Fit, replica: Replica | None) -> ServiceCost:
    """Cost of a fit. The replicas of pinned machines that miss a goal have no rate: they share the traffic.

    The pools of a disaggregated service are searched together for the peak, so their replicas are all planned ones at every load. On
    machines that workloads share, each pays for the part of its planned replicas, as in the plan.
    """
    c, rate = fit.candidate, replica.planned_requests_per_s if replica and not job.pools else None
    copies = max(c.devices_per_node // c.parallelism.accelerators, 1)
    copies = max(replica.on_machine(c.devices_per_node), 1) if replica and replica.host_requests_per_s else copies
    machines = math.ceil(c.parallelism.accelerators / c.devices_per_node)
    usd = None if c.price_usd_per_hour is None else c.price_usd_per_hour * machines
    if _sharing_workloads(fit):
        copies = min(copies, c.replicas)
        usd = None if fit.usd_per_hour is None else fit.usd_per_hour / math.ceil(c.replicas / copies)
    tokens = job.output_tokens if job.generates else 0.0
    least = c.replicas if job.pools else 0 if w.scale_to_zero else w.min_replicas
    return ServiceCost(rate or job.rate / c.replicas, usd, tokens, least, copies, w.max_replicas)


def _sharing_workloads(fit: Fit) -> tuple[str, ...]:
    """Names of the workloads whose replicas share the machines of a fit; empty for machines of one workload."""
    return fit.candidate.sharing.workloads if fit.candidate.sharing else ()


def _months(w: Serve, plan: SizingPlan, services: Sequence[ServiceCost], mean: float, p95: float, catalog: Catalog) -> list[Month]:
    """A month of each service, of the fits of the plan in order. mean, p95: requests/s."""
    nodes = (catalog.machine(fit.candidate.machine) for fit in plan.fits)
    starts = (formulas.cold_start_s(plan.facts.weights_bytes, node.sustained_network_bytes_per_s) for node in nodes)
    return [formulas.month(service, mean, p95, w.idle, start_s) for service, start_s in zip(services, starts, strict=False)]


def _field_report(job: ServingJob, catalog: Catalog, a: Assumptions, c: Calibration) -> FieldReport:
    """Ratios of full rates without a latency goal, because the published report states none."""
    names = (REPORT_TPU, *(name for name, _ in REPORTED))
    targets = {name: t for name in names for sale in list_sales(catalog, name)[:1] if (t := target_of(sale.machine, catalog))}
    found = replicas_on(replace(job, ttft=None), tuple(targets.values()), a, c)
    rate = {name: found[t][0].planned_requests_per_s for name, t in targets.items()}
    tpu = rate.get(REPORT_TPU)
    ours = tuple((name, tpu / other if tpu and (other := rate.get(name)) else None) for name, _ in REPORTED)
    return FieldReport("SDXL + LoRA", REPORTED, REPORT_TPU, ours, REPORT_SOURCE)


def _assumptions(w: Serve, kind: str, services: Sequence[ServiceCost], work: HostWork, a: Assumptions) -> tuple[Assumption, ...]:
    """The assumptions behind the numbers of these economics. kind: of the model; services: their cost; work: of their hosts."""
    used = {"max_utilisation", "boot_s", "image_bytes", "pull_bytes_per_s", "weights_bytes_per_s", "engine_s"}
    used |= {"denoising_passes"} if kind == "diffusion" and not (w.image and w.image.steps) else set()
    used |= {"peak_to_mean"} if w.mean_requests_per_second is None else set()
    used |= {"month_h"} if w.revenue is not None or w.revenue_per_request is not None or services[0].usd_per_hour is not None else set()
    found = [item for item in (*a.listed("serving"), *listed(TRAFFIC_ASSUMPTIONS)) if item.name in used]
    hosts = HOST_ASSUMPTIONS.get(kind, ()) if work.has_samples else ()
    return (*{item.name: item for item in found}.values(), *(item for item in listed(NODE_ASSUMPTIONS) if item.name in hosts))


def _cheaper(months: Sequence[Month], fits: Sequence[Fit]) -> Iterator[Note]:
    """A fit that can be built and costs less with autoscaling than the first one. months: of the first fits, in order.

    The plan is sized for p95, where machines with several replicas cost no more.
    """
    chosen, pairs = months[0].follows_usd, zip(fits[1:], months[1:], strict=False)
    costs = ((m.follows_usd, fit.candidate.label) for fit, m in pairs if m.follows_usd is not None and not fit.not_buildable)
    usd, name = min(costs, default=(0.0, ""))
    if name and chosen is not None and usd < chosen * (1 - MIN_SAVING):
        yield Note(NoteKind.CHEAPER_WITH_AUTOSCALING, {"machines": name, "usd": usd, "saved_usd": chosen - usd})


def _notes(w: Serve, s: ServiceCost, job: ServingJob) -> Iterator[Note]:
    if job.pools:
        yield Note(NoteKind.POOLS_NOT_SCALED)
    if s.usd_per_hour is None:
        yield Note(NoteKind.MACHINES_UNPRICED)
    if w.max_replicas is not None and s.replicas(job.rate) > w.max_replicas:
        yield Note(NoteKind.TRAFFIC_ABOVE_MAX_REPLICAS, {"replicas": s.replicas(job.rate), "max_replicas": w.max_replicas})
    if w.revenue is not None and not job.generates:
        yield Note(NoteKind.REVENUE_PER_TOKEN)
    if w.revenue is None and w.revenue_per_request is None:
        yield Note(NoteKind.NO_REVENUE)
    elif w.investment is None:
        yield Note(NoteKind.NO_INVESTMENT)
    if w.idle and not w.scale_to_zero:
        yield Note(NoteKind.REPLICAS_IN_IDLE_HOURS)
