"""What each option of a server changes: the chosen replica with it and without it, at the same traffic."""

from dataclasses import replace
from datetime import date

import numpy as np

from rackwright.catalog.read import Catalog
from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.serving import memory, throughput
from rackwright.estimator.serving.iteration import iteration_seconds, prefill_seconds
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.calibrated import calibrated
from rackwright.sizing.inputs.workload_inputs import workload_inputs
from rackwright.sizing.job import ServingJob
from rackwright.sizing.metrics import OptionEffect, OptionValue, ReplicaFigures
from rackwright.sizing.offers.node_counts import searchable_fleet
from rackwright.sizing.plan import Fit
from rackwright.sizing.search.search import weight_format
from rackwright.sizing.search.serving.best_serving import highest_rates
from rackwright.sizing.search.serving.disaggregation import pooled
from rackwright.sizing.search.serving.replicas import LOWEST_RATE, ServingLayouts, serving_layouts
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.selection.ranking import identity
from rackwright.spec.base import Part
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Batch, Serve

OPTIONS = (
    "quantization", "kv_dtype", "prefix_cache_hit_rate", "speculation", "chunked_prefill", "max_batched_tokens", "disaggregation",
)  # fmt: skip
"""Keys of the spec that change memory, latency or rate of a model server."""


def option_effects(spec: Spec, fit: Fit, catalog: Catalog, a: Assumptions, today: date) -> tuple[OptionEffect, ...]:
    """The effect of each option that the spec sets, on the layout of a fit; empty where no text is generated, and on CPUs."""
    w = spec.workload
    given = _given(w) if isinstance(w, (Serve, Batch)) else {}
    if not isinstance(w, (Serve, Batch)) or not given:
        return ()
    job, target = workload_inputs(w, a, catalog).job, _target(spec, fit, catalog, a, today)
    if not isinstance(job, ServingJob) or not job.generates or target is None:
        return ()
    c, with_all = calibrated(spec), _figures(job, fit, target, a, calibrated(spec))

    def without(key: str) -> ReplicaFigures:
        default = type(w).model_fields[key].default if given[key] is not True else False  # chunked prefill is the server's default
        plain = w.model_copy(update={key: default})
        other = workload_inputs(plain, a, catalog).job
        return _figures(other, fit, target, a, c) if isinstance(other, ServingJob) else with_all

    searched = {}
    if given.get("disaggregation") == "auto" and (prefill := fit.speed.prefill_replicas):
        searched["disaggregation"] = {"prefill": prefill, "decode": fit.candidate.replicas - prefill}
    return tuple(OptionEffect(key, value, without(key), with_all, searched.get(key, {})) for key, value in given.items())


def _given(w: Serve | Batch) -> dict[str, OptionValue]:
    """Options that differ from their default -> the value of the spec."""
    known = type(w).model_fields
    set_here = {key: getattr(w, key) for key in OPTIONS if key in known and getattr(w, key) != known[key].default}
    return {key: value.model_dump() if isinstance(value, Part) else value for key, value in set_here.items()}


def _target(spec: Spec, fit: Fit, catalog: Catalog, a: Assumptions, today: date) -> Target | None:
    fleet, chosen = searchable_fleet(spec, catalog, a, today), fit.candidate
    for entry in fleet.entries:
        for _, target in entry.counts:
            if identity(entry.offer.candidate(chosen.nodes, chosen.parallelism, chosen.precision)) == identity(chosen):
                return fleet.targets[target]
    return None


def _figures(job: ServingJob, fit: Fit, target: Target, a: Assumptions, c: Calibration) -> ReplicaFigures:
    """The replica of a fit with the options of a job, at the traffic per replica of the fit."""
    layout, count, machines = fit.candidate.parallelism, fit.candidate.replicas, TargetArrays.of((target,))
    if job.pools and fit.speed.prefill_replicas:
        job = replace(job, pools=(fit.speed.prefill_replicas, count - fit.speed.prefill_replicas))
    job = replace(job, tensor=layout.tensor, pipeline=layout.pipeline, min_replicas=1, max_replicas=None)
    formats = [weight_format(job, target)]
    s = serving_layouts(job, machines, formats, a, c)
    terms = memory.serving_memory(s.case, s.pool)
    ttft_s = tpot_s = None
    if job.ends:
        rate = throughput.offline_tokens_per_s(s.case, c.of("offline", throughput.OfflineCoefficients), s.pool) / job.output_tokens
    else:
        rate = highest_rates(job, machines, formats, a, c)[1]
        plain = s.at_median(machines, c)
        load = (pooled(plain, a.max_utilisation, np.array([True]))[0] if job.pools else plain).loaded(float(count), a.max_utilisation)
        if load.carries[0]:
            ttft_s, tpot_s = float(load.ttft_s[0]), float(load.tpot_s[0]) if job.has_later_tokens else None
    return ReplicaFigures(
        weights_bytes=_first(terms.weights), activations_bytes=_first(terms.activations),
        kv_tokens=int(_first(memory.kv_tokens(s.case, s.pool))), ttft_s=ttft_s, tpot_s=tpot_s,
        pause_s=_pause_s(s), requests_per_s=float(rate[0]) if rate[0] > LOWEST_RATE else None,
    )  # fmt: skip


def _pause_s(s: ServingLayouts) -> float:
    """Longest pause between two tokens of an answer: an iteration that also computes a prompt at p95, or the part of it that it holds.
    Disaggregated replicas compute prompts elsewhere."""
    job, alone = s.job, _first(iteration_seconds(s.case, s.decode, 1.0))
    if job.pools:
        return alone
    part = min(job.input_p95, _first(s.case.batched_tokens)) if job.is_chunked else job.input_p95
    return alone + _first(prefill_seconds(s.case, s.decode, part))


def _first(values: object) -> float:
    return float(np.ravel(np.asarray(values))[0])
