"""S-149, S-162 to S-166, S-210: options of model servers."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.estimator.serving.speculation import MAX_ACCEPTANCE
from rackwright.spec.workload import Batch, Serve
from rackwright.spec.workload_parts import Disaggregation
from rackwright.validation.spec.registry import SpecContext, rule

GROUPED = ("awq", "gptq")
CARRIED = ("kv_dtype", "speculation", "chunked_prefill", "max_batched_tokens")
"""Options that are arguments of the server."""


@rule("S-149")
def draft_model_has_a_size(context: SpecContext) -> Iterator[Violation]:
    """`draft_model` and `draft_share`, its size, are set together."""
    for at, workload in context.each(Serve, Batch):
        if (speculation := workload.speculation) and bool(speculation.draft_model) != bool(speculation.draft_share):
            given, missing = ("draft_model", "draft_share") if speculation.draft_model else ("draft_share", "draft_model")
            fix = "such as draft_share: 15 %" if missing == "draft_share" else "name the draft model, or leave draft_share out"
            yield Violation(at / "speculation" / given, fix, f"`{given}` is set without `{missing}`", about_key=True)


@rule("S-163", Level.WARNING)
def acceptance_is_plausible(context: SpecContext) -> Iterator[Violation]:
    """The accepted share of draft tokens should be at most 90 %."""
    for at, workload in context.each(Serve, Batch):
        speculation = workload.speculation
        if speculation and speculation.acceptance > MAX_ACCEPTANCE:
            given, highest = f"{speculation.acceptance:.0%}", f"{MAX_ACCEPTANCE:.0%}"
            message = f"An acceptance of {given} is above {highest}, the highest that is published for draft models"
            fix = "measure it on your requests: accepted over proposed draft tokens of the server's metrics"
            yield Violation(at / "speculation" / "acceptance", fix, message)


@rule("S-162")
def grouped_weights_multiply_in_sixteen_bit(context: SpecContext) -> Iterator[Violation]:
    """Weights of awq and gptq are multiplied in 16 bit; `precision` must be auto, bf16 or fp16."""
    for at, workload in context.each(Serve, Batch):
        if workload.quantization in GROUPED and workload.precision not in ("auto", "bf16", "fp16"):
            message = f"Weights in {workload.quantization} are multiplied in 16 bit; precision is {workload.precision}"
            fix = f"set auto; or leave {workload.quantization} out and set quantization: {workload.precision}"
            yield Violation(at / "precision", fix, message)


@rule("S-164", Level.WARNING, stage=Stage.BUILD)
def own_arguments_have_the_options(context: SpecContext) -> Iterator[Violation]:
    """`run.args` replaces the arguments of the server, so it must contain those of the options in the spec."""
    for at, workload in context.each(Serve):
        fields = type(workload).model_fields
        given = [key for key in CARRIED if getattr(workload, key) != fields[key].default]
        if workload.run.args and given:
            message = f"`args` replaces the server's arguments; plan and bill count with {', '.join(given)}, which it must set"
            yield Violation(at / "run" / "args", "add their arguments, or leave args out", message, about_key=True, blocks_update=False)


@rule("S-165")
def pools_are_within_the_replicas(context: SpecContext) -> Iterator[Violation]:
    """The replicas of `disaggregation` together must be at least min_replicas and at most max_replicas."""
    for at, workload in context.each(Serve):
        pools = workload.disaggregation
        if isinstance(pools, Disaggregation):
            total, least, most = pools.prefill + pools.decode, workload.min_replicas, workload.max_replicas
            limit = "min_replicas" if total < least else "max_replicas" if most is not None and total > most else ""
            if limit:
                message = f"{pools.prefill} prefill and {pools.decode} decode replicas are {total}; {limit} is {getattr(workload, limit)}"
                yield Violation(at / "disaggregation", f"set {limit} to {total}, or auto", message)


@rule("S-166")
def whole_prompts_fill_the_batch(context: SpecContext) -> Iterator[Violation]:
    """Without chunked prefill an iteration holds the longest request, so max_batched_tokens must not be below max_context."""
    for at, workload in context.each(Serve, Batch):
        tokens, longest = workload.max_batched_tokens, workload.max_context
        if workload.chunked_prefill is False and tokens and longest and tokens < longest:
            message = f"max_batched_tokens ({tokens:,}) is below max_context ({longest:,}), and chunked_prefill is false"
            yield Violation(at / "max_batched_tokens", f"set {longest} or more, or leave it out", message)


@rule("S-210", Level.WARNING, link="https://docs.vllm.ai/en/v0.27.0/configuration/optimization/")
def whole_prompts_are_not_supported_officially(context: SpecContext) -> Iterator[Violation]:
    """vLLM does not officially support generation without chunked prefill."""
    for at, workload in context.each(Serve):
        if workload.chunked_prefill is False:
            message = "vLLM does not officially support generation without chunked prefill; it may stop or answer incorrectly"
            fix = "leave it out, and set max_batched_tokens to the longest prompt: prompts are then computed whole"
            yield Violation(at / "chunked_prefill", fix, message)
