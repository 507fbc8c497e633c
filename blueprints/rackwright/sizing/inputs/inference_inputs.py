"""A service or a batch of the spec as numbers for the formulas."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.launch_flags import allocated_rank
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.estimator.serving.speculation import ACCEPTANCE_RANGE, speculation_fields
from rackwright.estimator.serving.transcript import TOKENS_PER_SECOND
from rackwright.sizing.assumptions import OWN, Assumptions
from rackwright.sizing.inputs.model_of_spec import architecture_of, weights_size
from rackwright.sizing.inputs.sample import ScaledNetwork, generates_text, request_sample
from rackwright.sizing.job import ServingJob, WorkloadInputs, weight_bytes
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Assumption, WorkloadFacts
from rackwright.spec.workload import Batch, Serve
from rackwright.spec.workload_parts import Disaggregation, Speculation, Tokens

COMPILED = Assumption("engine", "torch.compile", "", OWN)
"""Engine of networks that generate no text: faster than eager kernels, slower than TensorRT."""
SPECULATION_SOURCE = "arithmetic (arXiv 2211.17192, eq. 1); no published run calibrates it"
SGLANG = Assumption("engine", "sglang", "", "coefficients shared with vLLM, which most measured runs used: measure before you rely on it")
INT8_SCALE_BYTES = 4.0
GROUPED = {"awq": "int4", "gptq": "int4"}
"""Quantization methods whose weights have 4 bits and a 16-bit scale per group of 128."""


def inference_inputs(w: Serve | Batch, a: Assumptions) -> WorkloadInputs:
    """Raises UserError when the model is not in the catalog, or its description is wrong."""
    architecture, name = architecture_of(w.model)
    n = model_dimensions(architecture)
    generates, scaled = generates_text(w, architecture), request_sample(w, architecture, n, a)
    assumed = [*scaled.assumed, *(() if generates else (COMPILED,)), *((SGLANG,) if w.engine == "sglang" else ())]
    longest = w.max_context or _longest(w, n, generates, a, assumed)
    given, answer = w.input_tokens or Tokens(mean=max(n.sample_tokens, 1)), w.output_tokens or Tokens(mean=1)
    job = ServingJob(
        network=scaled.network,
        generates=generates,
        precision=w.precision if w.quantization == "auto" else GROUPED.get(w.quantization, w.quantization),
        products=w.precision,
        native=architecture.weights_format,
        engine=engine_family("vllm" if w.engine == "auto" else w.engine, "serve").family,
        input_tokens=given.mean,
        input_p95=max(given.p95 or given.mean, given.mean),
        output_tokens=answer.mean,
        longest=max(longest, 1),
        rate=0.0,
        requests=w.samples if isinstance(w, Batch) else 0.0,
        ttft=None,
        tpot=None,
        tensor=w.parallelism.tensor,
        pipeline=w.parallelism.pipeline,
        sample=scaled.sample,
        batch_size=w.batch_size,
        **_server_options(w, n),
    )
    if w.speculation:
        assumed.append(_acceptance(w.speculation))
    if isinstance(w, Serve):
        job = _service(w, job, a)
        if w.requests_per_second is None:
            assumed.append(Assumption("requests_per_second", f"{_rate(w, a):.4g}", "requests/s", "users / user_request_interval_s"))
    facts = _inference_facts(w, name, job, scaled, longest)
    return WorkloadInputs(job, facts, tuple(assumed), tuple(_inference_notes(w, architecture, job)))


def _server_options(w: Serve | Batch, n: ModelDimensions) -> dict[str, Any]:
    """Fields of the job that options of the model server set."""
    return {
        "kv_element": kv_element(w.kv_dtype, n),
        "cached_share": w.prefix_cache_hit_rate,
        "speculation": _speculation(w.speculation),
        "is_chunked": w.chunked_prefill is not False,
        "batched_tokens": w.max_batched_tokens,
    }


def kv_element(numbers: str, n: ModelDimensions) -> float:
    """Bytes per cached value. int8 keeps a 32-bit scale per token and head (vLLM, int8_per_token_head)."""
    return {"fp8": 1.0, "int8": 1.0 + INT8_SCALE_BYTES / (n.head_dim or INT8_SCALE_BYTES)}.get(numbers, 2.0)


def _service(w: Serve, job: ServingJob, a: Assumptions) -> ServingJob:
    """The job with the traffic, the goals and the replicas of a service."""
    goal = w.latency or w.ttft
    adapters = {"loras": w.loras.count, "lora_rank": _memory_rank(w.engine, w.loras.rank)} if w.loras else {}
    return replace(
        job,
        rate=_rate(w, a),
        ttft=(goal.target, goal.percentile) if goal else None,
        tpot=(w.tpot.target, w.tpot.percentile) if w.tpot and job.output_tokens > 1 else None,
        min_replicas=w.min_replicas,
        max_replicas=w.max_replicas,
        latency_key="latency" if w.latency else "ttft",
        pools=_pools(w.disaggregation),
        **adapters,
    )


def _memory_rank(engine: str, rank: int) -> int:
    """The rank for which the server allocates memory: SGLang that of the adapters, vLLM the next one that it supports."""
    return rank if engine == "sglang" else allocated_rank(rank)


def _pools(d: Disaggregation | str | None) -> tuple[int, int] | None:
    return (d.prefill, d.decode) if isinstance(d, Disaggregation) else (0, 0) if d else None


def _speculation(s: Speculation | None) -> tuple[tuple[str, float], ...]:
    return tuple(speculation_fields(s.draft, s.acceptance, s.draft_share).items()) if s else ()


def _acceptance(s: Speculation) -> Assumption:
    return Assumption(
        "speculation", f"{s.acceptance:g}", f"accepted share of drafts, {ACCEPTANCE_RANGE:g} either way at p10 and p90", SPECULATION_SOURCE
    )


def _inference_facts(w: Serve | Batch, name: str, job: ServingJob, scaled: ScaledNetwork, longest: int) -> WorkloadFacts:
    sample = scaled.sample
    return WorkloadFacts(
        name=w.name,
        kind=w.kind,
        model=name,
        parameters=job.network.total,
        active_parameters=job.network.active,
        sequence_length=longest if job.generates or sample.unit == "document" else 0,
        tokens=job.requests * (job.input_tokens + job.output_tokens) if job.generates else 0.0,
        unit=sample.unit,
        units=job.requests * sample.units,
        units_per_request=sample.units,
        sample=scaled.described,
        dataset_bytes=0.0 if isinstance(w, Serve) else w.data.size or 0.0,
        weights_bytes=weights_size(w.model) or weight_bytes(job.network, job.native if job.precision == "auto" else job.precision),
    )


def _longest(w: Serve | Batch, n: ModelDimensions, generates: bool, a: Assumptions, assumed: list[Assumption]) -> int:
    """Tokens of the longest request, where max_context is not set."""
    usual = sum(tokens.p95 or tokens.mean for tokens in (w.input_tokens, w.output_tokens) if tokens) or w.sequence_length or 0
    value = max(int(min(usual * a.request_margin, n.max_context or usual * a.request_margin)), 1) if generates else max(int(usual), 1)
    if generates:
        assumed.append(Assumption("max_context", str(value), "tokens", "default: request_margin x p95 of input and output"))
    return value


def _inference_notes(w: Serve | Batch, architecture: Architecture, job: ServingJob) -> Iterator[Note]:
    n = job.network
    if job.generates and n.max_context and job.longest > n.max_context:
        yield Note(NoteKind.REQUESTS_TOO_LONG, {"tokens": job.longest, "positions": n.max_context})
    if isinstance(w, Serve) and not (w.latency or w.ttft or w.tpot):
        yield Note(NoteKind.NO_LATENCY_GOAL, {"keys": "ttft, tpot" if job.generates else "latency"})
    if job.generates and not job.has_later_tokens and not (isinstance(w, Serve) and w.tpot):
        yield Note(NoteKind.ONE_TOKEN_ANSWERS)
    if job.generates and n.is_moe:
        yield Note(NoteKind.EXPERTS_UNCALIBRATED)
    if architecture.kind == "diffusion":
        yield Note(NoteKind.DIFFUSION_PASSES, {"passes": job.sample.passes * job.sample.guidance})
    if architecture.kind == "speech":
        yield Note(NoteKind.AUDIO_PASS, {"tokens_per_s": TOKENS_PER_SECOND})


def _rate(w: Serve, a: Assumptions) -> float:
    if w.requests_per_second is not None:
        return w.requests_per_second
    return (w.users or 1.0) / a.user_request_interval_s
