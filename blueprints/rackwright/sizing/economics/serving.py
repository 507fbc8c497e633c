"""Economics of a serving spec: cost over load and over a month, revenue, and the same service on other accelerators."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import TypeAdapter

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.sizing.assumptions import DEFAULT, Assumptions, listed
from rackwright.sizing.calibrated import calibrated
from rackwright.sizing.economics import formulas
from rackwright.sizing.economics.comparison import ACCELERATORS, ComparisonRow, compare
from rackwright.sizing.economics.formulas import TRAFFIC_ASSUMPTIONS, LoadPoint, Month, Returns, ServiceCost
from rackwright.sizing.economics.replica import ServiceRequest, replica
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Assumption, Fit, SizingPlan
from rackwright.sizing.workload_inputs import architecture_of
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve

MONTHS_COMPARED = 8
"""Number of fits whose month is compared with that of the chosen one."""
MIN_SAVING = 0.05
"""Share of the monthly cost below which a saving is not reported."""
ESTIMATOR_ENGINES = {"tensorrt-llm": "trtllm"}
"""Names of engines in the estimator, where they differ."""


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

    unit: what the service sells. mean, p95: requests/s. mean_point, p95_point, full_point: cost at these loads and at the highest load of
    the minimum machines. curve: cost over load. revenue: None where the spec states none. `wording.plan_text` fills in warnings.
    """

    spec: str
    model: str
    unit: Literal["token", "image", "request"]
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

    def as_json(self) -> dict[str, Any]:
        """Plain data with null for unknown values."""
        return TypeAdapter(Economics).dump_python(self, mode="json")


def economics_of(spec: Spec, plan: SizingPlan, catalog: Catalog, a: Assumptions = DEFAULT) -> Economics | None:
    """Economics of the chosen fit; None where nothing fits. Raises UserError for a workload that does not serve."""
    w, fit = _serving(spec), plan.chosen
    if fit is None:
        return None
    request = replace(service_request(w, a), calibrated=calibrated(spec))
    s, evidence = _service(w, request, fit, catalog)
    p95 = fit.speed.requests_per_s or 0.0
    mean = w.mean_requests_per_second or p95 / TRAFFIC_ASSUMPTIONS.peak_to_mean
    full = s.requests_per_s * s.copies * s.least_machines

    def month_of(other: Fit) -> Month:
        return formulas.month(_service(w, request, other, catalog)[0], mean, p95, w.idle, plan.facts.weights_bytes)

    earned = w.revenue_per_request
    if earned is None and w.revenue is not None and request.generates:
        earned = w.revenue * (w.output_tokens.mean if w.output_tokens else 0.0)
    month = month_of(fit)
    rows = comparison(request, catalog, (*ACCELERATORS, fit.candidate.accelerator))
    return Economics(
        spec=spec.name,
        model=plan.facts.model,
        unit="token" if request.generates else "image" if request.architecture.kind == "diffusion" else "request",
        machine=fit.candidate.label,
        service=s,
        mean_requests_per_s=mean,
        p95_requests_per_s=p95,
        idle_share=w.idle,
        mean_point=formulas.point(s, mean),
        p95_point=formulas.point(s, p95),
        full_point=formulas.point(s, full),
        curve=formulas.curve(s, max(1.5 * p95, 2 * full)),
        month=month,
        revenue=formulas.returns(s, earned, mean, month.follows_usd, w.investment),
        comparison=rows,
        report=_field_report(rows) if request.architecture.kind == "diffusion" else None,
        assumptions=_assumptions(w, request, a),
        evidence=evidence,
        notes=(*_cheaper(month, {f.candidate.label: month_of(f) for f in plan.fits[1:MONTHS_COMPARED]}), *_notes(w, s, request, p95)),
    )


def comparison(request: ServiceRequest, catalog: Catalog, accelerators: Sequence[str] = ACCELERATORS) -> tuple[ComparisonRow, ...]:
    """Comparison on each accelerator, once."""
    return compare(request, catalog, tuple(dict.fromkeys(accelerators)))


def service_request(w: Serve, a: Assumptions = DEFAULT) -> ServiceRequest:
    """The service of a workload in the numbers of the estimator."""
    architecture, name = architecture_of(w.model)
    first: Any = next((p for p in (w.quantization, w.precision) if p != "auto"), architecture.weights_format)
    return ServiceRequest(
        model=name if w.model.base else dict(w.model.architecture or {}),
        architecture=architecture,
        tokens=tuple(tokens.mean if tokens else 1.0 for tokens in (w.input_tokens, w.output_tokens)),
        numbers=first,
        kv_numbers=None if w.kv_dtype == "auto" else w.kv_dtype,
        engine="vllm" if w.engine == "auto" else ESTIMATOR_ENGINES.get(w.engine, w.engine),
        passes=a.denoising_passes if architecture.kind == "diffusion" else 1.0,
        max_context=w.max_context,
        ttft_s=w.ttft.target if w.ttft else None,
        tpot_s=w.tpot.target if w.tpot else None,
        cached_share=w.prefix_cache_hit_rate,
        loras=w.loras.count if w.loras else 0,
        lora_rank=w.loras.rank if w.loras else 16,
        reserve=a.max_utilisation,
        max_sequences=a.max_sequences,
    )


def _serving(spec: Spec) -> Serve:
    w = spec.workload
    if isinstance(w, Serve):
        return w
    at = At() / "workloads" / 0 / "kind"
    problem = Problem("E-kind", f"economics needs kind: serve, not {w.kind}", at, "use `rackwright plan` for the cost of a run")
    raise UserError([problem], spec.name)


def _service(w: Serve, request: ServiceRequest, fit: Fit, catalog: Catalog) -> tuple[ServiceCost, str]:
    """Rate of a replica by the estimator, bounded so that the planned replicas are sufficient and one fewer is not."""
    c, p = fit.candidate, fit.candidate.parallelism
    found = replica(request, c.accelerator, catalog, p.tensor, p.pipeline)
    peak, rate = fit.speed.requests_per_s or 0.0, found.requests_per_s.p50 * request.reserve if found.requests_per_s else 0.0
    enough = peak / c.replicas
    too_few = peak / (c.replicas - 1) * (1 - 1e-9) if c.replicas > max(w.min_replicas, 1) else math.inf
    rate = min(max(rate, enough), too_few)
    min_replicas = 0 if w.scale_to_zero else w.min_replicas
    copies = max(c.accelerators_per_node // max(p.tensor * p.pipeline, 1), 1)
    service = ServiceCost(rate, c.price_usd_per_hour, request.tokens[1] if request.generates else 0.0, min_replicas, copies)
    return service, found.evidence or fit.evidence


def _field_report(rows: tuple[ComparisonRow, ...]) -> FieldReport:
    rate = {r.replica.accelerator: r.replica.requests_per_s.p50 for r in rows if r.replica.requests_per_s}
    tpu = rate.get(REPORT_TPU)
    ours = tuple((name, tpu / rate[name] if tpu and name in rate else None) for name, _ in REPORTED)
    return FieldReport("SDXL + LoRA", REPORTED, REPORT_TPU, ours, REPORT_SOURCE)


def _assumptions(w: Serve, request: ServiceRequest, a: Assumptions) -> tuple[Assumption, ...]:
    unused = {"denoising_passes"} if request.generates else set()
    unused |= {"peak_to_mean"} if w.mean_requests_per_second is not None else set()
    shared = (item for item in a.listed("serving") if item.name in ("max_utilisation", "denoising_passes"))
    return tuple(item for item in (*shared, *listed(TRAFFIC_ASSUMPTIONS)) if item.name not in unused)


def _cheaper(chosen: Month, others: Mapping[str, Month]) -> Iterator[Note]:
    """A fit that costs less with autoscaling. The plan is sized for p95, where machines with several replicas cost no more."""
    cheapest = min(((m.follows_usd, name) for name, m in others.items() if m.follows_usd is not None), default=None)
    if cheapest and chosen.follows_usd is not None and cheapest[0] < chosen.follows_usd * (1 - MIN_SAVING):
        usd, name = cheapest
        yield Note(NoteKind.CHEAPER_WITH_AUTOSCALING, {"machines": name, "usd": usd, "saved_usd": chosen.follows_usd - usd})


def _notes(w: Serve, s: ServiceCost, request: ServiceRequest, p95: float) -> Iterator[Note]:
    if s.usd_per_hour is None:
        yield Note(NoteKind.MACHINES_UNPRICED)
    if w.max_replicas is not None and s.replicas(p95) > w.max_replicas:
        yield Note(NoteKind.TRAFFIC_ABOVE_MAX_REPLICAS, {"replicas": s.replicas(p95), "max_replicas": w.max_replicas})
    if w.revenue is not None and not request.generates:
        yield Note(NoteKind.REVENUE_PER_TOKEN)
    if w.revenue is None and w.revenue_per_request is None:
        yield Note(NoteKind.NO_REVENUE)
    elif w.investment is None:
        yield Note(NoteKind.NO_INVESTMENT)
    if w.idle and not w.scale_to_zero:
        yield Note(NoteKind.REPLICAS_IN_IDLE_HOURS)
