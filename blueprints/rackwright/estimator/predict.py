"""Which formulas speak of a case, with their coefficients and the residuals of their class. One case, not arrays.

Residuals of a class count as evidence only for accelerator generations that were measured; any other is "prior only".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

from rackwright.estimator.calibration.coefficients import Calibration, FittedModel, Residuals
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.result import MemoryTerms, StepTerms, scale_terms
from rackwright.estimator.serving import decode, first_token, throughput
from rackwright.estimator.serving import memory as serving_memory
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.training import adapter_memory, memory, step, tpu_step

MAX_MICRO_BATCH_TERMS = 1000
"""Samples of a micro-batch beyond which its longest is taken to grow no more."""


def correction_factor(model: FittedModel, case: TrainingCase | ServingCase, c: Calibration) -> float:
    """What the user's own runs multiply a prediction with."""
    return c.factor(model.name, model.classes(case), str(case.chip.kin))


def residuals_of(model: FittedModel, case: TrainingCase | ServingCase, c: Calibration) -> Residuals:
    """Residuals of the case's class in that model."""
    return c.residual(model.name, model.classes(case), str(case.chip.kin))


def timing_case(case: TrainingCase) -> TrainingCase:
    """With the positions that are computed: soft prompts stand before every sequence, and padded samples of differing lengths are as long
    as the longest of their micro-batch (the mean of the largest of b exponential lengths is its harmonic number times the mean)."""
    longest = case.mean_length * sum(1 / i for i in range(1, min(int(case.micro_batch), MAX_MICRO_BATCH_TERMS) + 1))
    sequence = min(case.sequence, longest) if case.mean_length else case.sequence
    return case if sequence == case.sequence and not case.virtual_tokens else replace(case, sequence=sequence + case.virtual_tokens)


@dataclass(frozen=True)
class TrainingPrediction:
    """Step and memory of one training case."""

    case: TrainingCase
    step: StepTerms
    memory: MemoryTerms
    step_residuals: Residuals
    memory_residuals: Residuals
    memory_model: ModuleType
    coefficients: object

    @classmethod
    def of(cls, case: TrainingCase, c: Calibration) -> "TrainingPrediction":
        timing = tpu_step if case.chip.is_tpu else step
        room = adapter_memory if adapter_memory.is_applicable(case) else memory
        model, kept = timing.MODELS[0], room.MODELS[0]
        k = c.of(kept.name, kept.kind)
        terms = room.adapter_memory(case, k) if room is adapter_memory else room.training_memory(case, k)
        seconds = timing.step_seconds(timing_case(case), c.of(model.name, model.kind))
        seconds, terms = scale_terms(seconds, 1 / correction_factor(model, case, c)), scale_terms(terms, correction_factor(kept, case, c))
        return cls(case, seconds, terms, residuals_of(model, case, c), c.residual(kept.name, kept.classes(case)), room, k)

    @property
    def model_flops(self) -> float:
        """Of one step's real tokens, recompute not counted."""
        n, passes, tokens = self.case.network, self.case.passes, self.sample_tokens
        return (passes * n.matmul + attention_flops(n, tokens)) * self.case.step_tokens * tokens / self.case.sequence

    @property
    def sample_tokens(self) -> float:
        """Real ones, of the mean sample: padding trains nothing."""
        return float(min(self.case.mean_length or self.case.sequence, self.case.sequence))

    def stage(self, index: int) -> MemoryTerms:
        terms: Callable[..., MemoryTerms] = getattr(self.memory_model, "adapter_memory", None) or self.memory_model.training_memory
        return terms(self.case, self.coefficients, stage=float(index))

    def largest_micro_batch(self, limit_bytes: float) -> int:
        return _max_fitting(lambda b: self._peak(micro_batch=float(b)) <= limit_bytes)

    def largest_context(self, limit_bytes: float) -> int:
        """At one sequence a micro-batch; a multiple of the context-parallel group."""
        step = max(int(self.case.context), 1)
        return _max_fitting(lambda x: self._peak(micro_batch=1.0, mean_length=0.0, sequence=float(x * step)) <= limit_bytes) * step

    def _peak(self, **changed: float) -> float:
        return float(self.memory_model.peak_bytes(replace(self.case, **changed), self.coefficients))


@dataclass(frozen=True)
class ServingPrediction:
    """Latency, rate and cache of one deployment; per replica where not said, rates over all replicas. starts: with a cache that holds its
    longest request; sustains_rate: the rate it is offered, without a queue that never ends."""

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
    largest_context: float
    ttft_residuals: Residuals
    tpot_residuals: Residuals
    rate_residuals: Residuals
    kv_residuals: Residuals
    calibrated: Calibration

    @classmethod
    def of(cls, case: ServingCase, c: Calibration) -> "ServingPrediction":
        tpot, ttft = decode.MODELS
        rate, kv = throughput.MODELS[0], serving_memory.MODELS[0]
        k, first = c.of(tpot.name, tpot.kind), c.of(ttft.name, ttft.kind)
        pool, most = c.of(kv.name, kv.kind), c.of(rate.name, rate.kind)
        is_offline = case.concurrency == float("inf") and not case.rate
        running = float(decode.running_requests(case, k))
        loaded = replace(case, concurrency=running) if is_offline else case
        token_s = float(decode.decode_seconds(loaded, k)) * correction_factor(tpot, case, c)
        first_s = float(first_token.first_token_seconds(loaded, decode.DecodeCoefficients(), first, running)) * correction_factor(
            ttft, case, c
        )
        sustains_rate = True
        if is_offline:
            output = float(throughput.offline_tokens_per_s(case, most)) * correction_factor(rate, case, c)
        elif case.open_loop:
            prompt_s = float(decode.prefill_seconds(case, k))
            full = float(throughput.max_running_requests(case))
            stay_s = prompt_s + float(case.output) * float(decode.decode_seconds(replace(case, open_loop=0.0), k))
            sustains_rate = float(case.rate) * prompt_s <= first_token.MAX_PREFILL_UTILIZATION and float(case.rate) * stay_s <= full
            output = float(case.output) * min(float(case.rate), full / stay_s)
        else:
            output = float(throughput.closed_loop_tokens_per_s(case, first_s, token_s))
        latency = residuals_of(tpot, case, c)
        return cls(
            case, serving_memory.serving_memory(case, pool),
            serving_memory.can_serve(case, pool, _longest_request_tokens(case)), sustains_rate, is_offline, running, first_s, token_s, output * case.replicas, float(serving_memory.kv_tokens(case, pool)),
            float(serving_memory.max_context_tokens(case, pool)),
            residuals_of(ttft, case, c), latency, residuals_of(rate, case, c) if is_offline else latency,
            c.residual(kv.name, kv.classes(case)), c,
        )  # fmt: skip

    def disaggregated(self, prefill: ServingCase, decoding: ServingCase) -> "ServingPrediction":
        """The same, with prompts and answers on pools of their own; memory and cache are the decode pool's, which computes no prompts. In a
        closed loop what of a request's round its answer does not take is its first token's (Little)."""
        c, (tpot, ttft), kv = self.calibrated, decode.MODELS, serving_memory.MODELS[0]
        k, pool = c.of(tpot.name, tpot.kind), c.of(kv.name, kv.kind)
        answers = replace(decoding, cached_share=1.0)
        full = replace(answers, open_loop=0.0)
        pair = throughput.disaggregated_rates(prefill, full, lambda x: decode.prefill_seconds(x, k), lambda x: decode.decode_seconds(x, k))
        rate, token_s, first_s = float(pair.requests_per_s), float(pair.tpot_s), float(pair.ttft_s)
        offered, running = float(decoding.rate * decoding.replicas), float(decode.running_requests(answers, k))
        sustains_rate = not decoding.open_loop or offered <= rate
        if decoding.open_loop:
            prompt_s = float(decode.prefill_seconds(prefill, k))
            busy = min(float(prefill.rate) * prompt_s, first_token.MAX_PREFILL_UTILIZATION)
            token_s = float(decode.decode_seconds(answers, k))
            first_s += prompt_s * busy / (2 * (1 - busy)) + token_s - float(pair.tpot_s)
            rate = min(offered, rate)
        elif decoding.concurrency != float("inf"):
            asked, writing_s = float(decoding.concurrency * decoding.replicas), float(decoding.output - 1) * token_s
            alone = asked / (first_s + writing_s)
            idle = pair.bottleneck == "decode" and running >= decoding.concurrency * (1 - 1e-9)
            rate = alone if idle else min(rate, alone)
            first_s = max(first_s, asked / rate - writing_s)
        both = [
            serving_memory.can_serve(x, pool, _longest_request_tokens(x)) for x in (replace(prefill, output=1.0, concurrency=1.0), decoding)
        ]
        return replace(
            self, case=decoding, memory=serving_memory.serving_memory(decoding, pool), can_start=all(both), sustains_rate=sustains_rate,
            running=running, kv_tokens=float(serving_memory.kv_tokens(decoding, pool)),
            largest_context=float(serving_memory.max_context_tokens(decoding, pool)), ttft_s=first_s * correction_factor(ttft, decoding, c),
            tpot_s=token_s * correction_factor(tpot, decoding, c), output_tokens_per_s=rate * float(decoding.output), is_offline=False,
        )  # fmt: skip


def _longest_request_tokens(case: ServingCase) -> float:
    """Tokens of the longest request that the server promises to hold."""
    return float(max(case.max_context, case.input + case.output))


def _max_fitting(fits: Callable[[int], bool], limit: int = 2**40) -> int:
    """0 when not even 1 fits; by doubling, then halving: `fits` never turns true again once false."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= limit and fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
