"""Predictions for one training or serving case: formulas, fitted coefficients, corrections and residuals. Scalars only, not arrays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from rackwright.estimator.calibration.coefficients import Calibration, FittedModel, ResidualQuantiles
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.result import MemoryTerms, StepTerms, scale_terms
from rackwright.estimator.serving import decode, first_token, throughput
from rackwright.estimator.serving import memory as serving_memory
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.iteration import DecodeCoefficients
from rackwright.estimator.serving.speculation import rate_quantiles, time_quantiles
from rackwright.estimator.training import adapter_memory, memory, step, tpu_step


def correction_factor(model: FittedModel, case: TrainingCase | ServingCase, c: Calibration) -> float:
    """Return the factor from the user's measured runs that multiplies the model's prediction; 1 without such runs."""
    return c.factor(model.name, model.classes(case), str(case.chip.evidence_group))


def residuals_of(model: FittedModel, case: TrainingCase | ServingCase, c: Calibration) -> ResidualQuantiles:
    """Return the residuals of the case's class. Prior only when no run used this group of accelerators."""
    return c.residual(model.name, model.classes(case), str(case.chip.evidence_group))


def timing_case(case: TrainingCase) -> TrainingCase:
    """Return the case with the sequence length that is computed, soft prompts and padding included."""
    if not case.mean_length and not case.virtual_tokens:
        return case
    return replace(case, sequence=float(case.padded_tokens) + case.virtual_tokens)


@dataclass(frozen=True)
class TrainingPrediction:
    """Step time and memory of one training case. memory_model: the module whose formulas apply; coefficients: those of that module."""

    case: TrainingCase
    step: StepTerms
    memory: MemoryTerms
    step_residuals: ResidualQuantiles
    memory_residuals: ResidualQuantiles
    memory_model: ModuleType
    coefficients: object

    @classmethod
    def of(cls, case: TrainingCase, c: Calibration) -> "TrainingPrediction":
        """Predict one training case."""
        timing = tpu_step if case.chip.is_tpu else step
        memory_model = adapter_memory if adapter_memory.is_applicable(case) else memory
        step_fit, memory_fit = timing.MODELS[0], memory_model.MODELS[0]
        k = c.of(memory_fit.name, memory_fit.kind)
        terms = memory_model.adapter_memory(case, k) if memory_model is adapter_memory else memory_model.training_memory(case, k)
        seconds = timing.step_seconds(timing_case(case), c.of(step_fit.name, step_fit.kind))
        return cls(
            case=case,
            step=scale_terms(seconds, 1 / correction_factor(step_fit, case, c)),
            memory=scale_terms(terms, correction_factor(memory_fit, case, c)),
            step_residuals=residuals_of(step_fit, case, c),
            memory_residuals=c.residual(memory_fit.name, memory_fit.classes(case)),
            memory_model=memory_model,
            coefficients=k,
        )

    @property
    def model_flops(self) -> float:
        """FLOPs of one step over its unpadded tokens, without recomputation."""
        n, passes, tokens = self.case.network, self.case.passes, self.sample_tokens
        return (passes * n.matmul + attention_flops(n, tokens)) * self.case.step_tokens * tokens / self.case.sequence

    @property
    def sample_tokens(self) -> float:
        """Mean tokens per sequence without padding."""
        return float(self.case.mean_tokens)

    def stage(self, index: int) -> MemoryTerms:
        """Return the memory terms of one pipeline stage, counted from 0."""
        terms: Callable[..., MemoryTerms] = getattr(self.memory_model, "adapter_memory", None) or self.memory_model.training_memory
        return terms(self.case, self.coefficients, stage=float(index))

    def max_micro_batch(self, limit_bytes: float) -> int:
        """Return the largest micro-batch whose peak memory stays within `limit_bytes`; 0 when none does."""
        return _max_fitting(lambda b: self._peak(micro_batch=float(b)) <= limit_bytes)

    def max_context_tokens(self, limit_bytes: float) -> int:
        """Return the longest sequence that fits with one sequence per micro-batch, a multiple of the context-parallel group."""
        group = max(int(self.case.context), 1)
        return _max_fitting(lambda x: self._peak(micro_batch=1.0, mean_length=0.0, sequence=float(x * group)) <= limit_bytes) * group

    def _peak(self, **changes: float) -> float:
        return float(self.memory_model.peak_bytes(replace(self.case, **changes), self.coefficients))


@dataclass(frozen=True)
class ServingPrediction:
    """Latency, throughput and KV cache of one deployment.

    memory, kv_tokens, running, max_context: per replica; output_tokens_per_s: all replicas. can_start: the cache holds the longest
    request; sustains_rate: the queue stays finite at the offered rate; running: requests in flight.
    """

    case: ServingCase
    memory: MemoryTerms
    can_start: bool
    sustains_rate: bool
    is_offline: bool
    running: float
    ttft_s: float
    tpot_s: float
    output_tokens_per_s: float
    kv_tokens: float
    max_context: float
    ttft_residuals: ResidualQuantiles
    tpot_residuals: ResidualQuantiles
    rate_residuals: ResidualQuantiles
    kv_residuals: ResidualQuantiles
    calibrated: Calibration

    @classmethod
    def of(cls, case: ServingCase, c: Calibration) -> "ServingPrediction":
        """Predict one deployment that runs prompts and answers on the same accelerators."""
        tpot, ttft = decode.MODELS
        rate, kv = throughput.MODELS[0], serving_memory.MODELS[0]
        k, k_first = c.of(tpot.name, tpot.kind), c.of(ttft.name, ttft.kind)
        k_cache, k_offline = c.of(kv.name, kv.kind), c.of(rate.name, rate.kind)
        is_offline = case.concurrency == float("inf") and not case.rate
        running, places = float(decode.running_requests(case, k)), float(throughput.max_running_requests(case))
        loaded = replace(case, concurrency=running) if is_offline else case
        token_s = float(decode.decode_seconds(loaded, k)) * correction_factor(tpot, case, c)
        first_s = float(first_token.first_token_seconds(loaded, DecodeCoefficients(), k_first, running)) * correction_factor(ttft, case, c)
        if is_offline:
            output = float(throughput.offline_tokens_per_s(case, k_offline)) * correction_factor(rate, case, c)
        elif case.open_loop:
            output = float(case.output) * min(float(case.rate), places / _stay_s(case, k))
        else:
            output = float(throughput.closed_loop_tokens_per_s(case, first_s, token_s))
        # the queue of an open loop stays finite when prefill has spare time and the requests in flight fit (Little's law)
        busy, in_flight = float(case.rate) * float(decode.prefill_seconds(case, k)), float(case.rate) * _stay_s(case, k)
        is_stable = busy <= first_token.MAX_PREFILL_UTILIZATION and in_flight <= places
        return cls(
            case=case,
            **_cache_fields(case, k_cache),
            can_start=serving_memory.can_serve(case, k_cache, _longest_request_tokens(case)),
            sustains_rate=is_offline or not case.open_loop or is_stable,
            is_offline=is_offline,
            running=running,
            ttft_s=first_s,
            tpot_s=token_s,
            output_tokens_per_s=output * case.replicas,
            ttft_residuals=residuals_of(ttft, case, c),
            tpot_residuals=time_quantiles(residuals_of(tpot, case, c), case),
            rate_residuals=rate_quantiles(residuals_of(rate if is_offline else tpot, case, c), case),
            kv_residuals=c.residual(kv.name, kv.classes(case)),
            calibrated=c,
        )

    def disaggregated(self, prefill: ServingCase, decoding: ServingCase) -> "ServingPrediction":
        """Return the prediction for separate prefill and decode pools. Memory and cache are those of the decode pool.

        In a closed loop the time to first token is the rest of a request's cycle after its output tokens (Little's law).
        """
        c, (tpot, ttft), kv = self.calibrated, decode.MODELS, serving_memory.MODELS[0]
        k, k_cache = c.of(tpot.name, tpot.kind), c.of(kv.name, kv.kind)
        answers = replace(decoding, cached_share=1.0)
        full = replace(answers, open_loop=0.0)
        pair = throughput.disaggregated_rates(prefill, full, lambda x: decode.prefill_seconds(x, k), lambda x: decode.decode_seconds(x, k))
        offered, running = float(decoding.rate * decoding.replicas), float(decode.running_requests(answers, k))
        if decoding.open_loop:
            token_s = float(decode.decode_seconds(answers, k))
            prompt_s = float(decode.prefill_seconds(prefill, k))
            busy = min(float(prefill.rate) * prompt_s, first_token.MAX_PREFILL_UTILIZATION)
            queue_s = prompt_s * busy / (2 * (1 - busy))  # mean wait for a prefill replica under random arrivals (M/D/1)
            first_s = float(pair.ttft_s) + (queue_s + token_s - float(pair.tpot_s))
            rate = min(offered, float(pair.requests_per_s))
        else:
            token_s = float(pair.tpot_s)
            rate, first_s = _closed_loop_rate(decoding, pair, running)
        pools = (replace(prefill, output=1.0, concurrency=1.0), decoding)
        return replace(
            self,
            case=decoding,
            **_cache_fields(decoding, k_cache),
            can_start=all(serving_memory.can_serve(x, k_cache, _longest_request_tokens(x)) for x in pools),
            sustains_rate=not decoding.open_loop or offered <= float(pair.requests_per_s),
            running=running,
            ttft_s=first_s * correction_factor(ttft, decoding, c),
            tpot_s=token_s * correction_factor(tpot, decoding, c),
            output_tokens_per_s=rate * float(decoding.output),
            is_offline=False,
        )


def _cache_fields(case: ServingCase, k: serving_memory.CacheCoefficients) -> dict[str, Any]:
    """Return the memory terms, the cache capacity and the longest context of one replica."""
    tokens, longest = serving_memory.kv_tokens(case, k), serving_memory.max_context_tokens(case, k)
    return {"memory": serving_memory.serving_memory(case, k), "kv_tokens": float(tokens), "max_context": float(longest)}


def _stay_s(case: ServingCase, k: DecodeCoefficients) -> float:
    """Return the seconds a request stays in a full replica, prompt included."""
    decoding_s = float(case.output) * float(decode.decode_seconds(replace(case, open_loop=0.0), k))
    return float(decode.prefill_seconds(case, k)) + decoding_s


def _closed_loop_rate(decoding: ServingCase, pair: throughput.DisaggregatedRates, running: float) -> tuple[float, float]:
    """Return requests per second and seconds to the first token of a disaggregated deployment with a fixed number of requests in flight."""
    rate, first_s = float(pair.requests_per_s), float(pair.ttft_s)
    if decoding.concurrency == float("inf"):
        return rate, first_s
    in_flight, writing_s = float(decoding.concurrency * decoding.replicas), float(decoding.output - 1) * float(pair.tpot_s)
    unqueued_rate = in_flight / (first_s + writing_s)
    is_unqueued = pair.bottleneck == "decode" and running >= decoding.concurrency * (1 - 1e-9)
    rate = unqueued_rate if is_unqueued else min(rate, unqueued_rate)
    return rate, max(first_s, in_flight / rate - writing_s)


def _longest_request_tokens(case: ServingCase) -> float:
    """Return the tokens of the longest request that the server accepts."""
    return float(max(case.max_context, case.input + case.output))


def _max_fitting(fits: Callable[[int], bool], limit: int = 2**40) -> int:
    """Return the largest whole number for which `fits` is true; 0 when it is false for 1. `fits` must be monotonic."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= limit and fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
