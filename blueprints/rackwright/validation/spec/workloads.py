"""S-10..S-29: fields of one workload that must agree."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.workload import TRAINING, Batch, Custom, Finetune, Serve
from rackwright.validation.spec.registry import SpecContext, rule

SOURCES = ("base", "config", "architecture")


@rule("S-10")
def one_model(context: SpecContext) -> Iterator[Violation]:
    """A model must be exactly one of `base`, `config` and `architecture`."""
    for at, workload in context.workloads:
        given = [source for source in SOURCES if getattr(workload.model, source) is not None]
        if len(given) > 1:
            yield Violation(at / "model" / given[1], f"`{given[0]}` is given too: keep one", about_key=True)
        elif not given and not isinstance(workload, Custom):
            yield Violation(at / "model", "such as {base: llama-3.1-8b}")


@rule("S-11")
def one_amount_of_data(context: SpecContext) -> Iterator[Violation]:
    """data must have exactly one of `tokens` and `samples`."""
    for at, workload in context.each(*TRAINING):
        if (workload.data.tokens is None) == (workload.data.samples is None):
            fix = "such as {samples: 10000, tokens_per_sample: 500}, or {tokens: 20e9}"
            yield Violation(at / "data", fix if workload.data.tokens is None else "keep one of the two")


@rule("S-12")
def sample_length_needs_samples(context: SpecContext) -> Iterator[Violation]:
    """tokens_per_sample says how long `samples` are; it means nothing with `tokens`."""
    for at, workload in context.each(*TRAINING):
        if workload.data.tokens is not None and workload.data.tokens_per_sample is not None:
            yield Violation(at / "data" / "tokens_per_sample", "leave it out, or give `samples` in place of `tokens`", about_key=True)


@rule("S-13")
def adapter_fields_suit_type(context: SpecContext) -> Iterator[Violation]:
    """rank and targets belong to lora and qlora, virtual_tokens to p-tuning."""
    needs = {"rank": ("lora", "qlora"), "targets": ("lora", "qlora"), "virtual_tokens": ("p-tuning",)}
    for at, workload in context.each(Finetune):
        for key, types in needs.items():
            if key in workload.adapter.model_fields_set and workload.adapter.type not in types:
                fix = f"leave it out, or set type to {' or '.join(types)}; it is {workload.adapter.type}"
                yield Violation(at / "adapter" / key, fix, about_key=True)


@rule("S-14")
def qlora_is_four_bits(context: SpecContext) -> Iterator[Violation]:
    """qlora can hold its frozen weights in nf4 only."""
    for at, workload in context.each(Finetune):
        if workload.adapter.type == "qlora" and workload.precision not in ("auto", "nf4"):
            yield Violation(at / "precision", "leave it at auto, or set adapter.type to lora")


@rule("S-15")
def few_bits_are_for_frozen_weights(context: SpecContext) -> Iterator[Violation]:
    """Nothing can be trained in int8 or four bits: only the frozen weights of qlora are held so, in nf4."""
    for at, workload in context.each(*TRAINING):
        frozen = isinstance(workload, Finetune) and workload.adapter.type == "qlora"
        if workload.precision in ("nf4", "fp4", "int8") and not frozen:
            yield Violation(at / "precision", "one of auto, fp32, bf16, fp16, fp8; or adapter.type qlora")


@rule("S-16")
def one_measure_of_traffic(context: SpecContext) -> Iterator[Violation]:
    """A serve workload must have exactly one of `requests_per_second` and `users`."""
    for at, workload in context.each(Serve):
        if (workload.requests_per_second is None) == (workload.users is None):
            if workload.users is None:
                yield Violation(at, "such as requests_per_second: 10")
            else:
                yield Violation(at / "users", "`requests_per_second` is given too: keep one", about_key=True)


@rule("S-17")
def fewest_replicas_below_most(context: SpecContext) -> Iterator[Violation]:
    """min_replicas must not be more than max_replicas."""
    for at, workload in context.each(Serve):
        if workload.max_replicas is not None and workload.min_replicas > workload.max_replicas:
            key = "min_replicas" if "min_replicas" in workload.model_fields_set else "max_replicas"
            yield Violation(at / key, f"min is {workload.min_replicas}, max is {workload.max_replicas}")


@rule("S-18")
def zero_is_said_twice(context: SpecContext) -> Iterator[Violation]:
    """scale_to_zero must go with min_replicas 0, and 0 with scale_to_zero."""
    for at, workload in context.each(Serve):
        if workload.scale_to_zero != (workload.min_replicas == 0):
            key = "scale_to_zero" if workload.scale_to_zero else "min_replicas"
            yield Violation(at / key, "set min_replicas: 0" if workload.scale_to_zero else "set scale_to_zero: true, or min_replicas: 1")


@rule("S-19")
def p95_not_below_mean(context: SpecContext) -> Iterator[Violation]:
    """The length that one request in twenty exceeds must not be below the mean."""
    for at, workload in context.each(Serve, Batch):
        for key in ("input_tokens", "output_tokens"):
            tokens = getattr(workload, key)
            if tokens.p95 is not None and tokens.p95 < tokens.mean:
                yield Violation(at / key / "p95", f"mean is {tokens.mean:,g}, p95 is {tokens.p95:,g}: are they swapped?")


@rule("S-20", Level.WARNING)
def long_samples_are_cut(context: SpecContext) -> Iterator[Violation]:
    """Samples longer than a sequence are cut, unless packed data splits them."""
    for at, workload in context.each(*TRAINING):
        mean, length = workload.data.tokens_per_sample, workload.sequence_length
        if mean and length and mean > length and not workload.data.packed:
            yield Violation(at / "sequence_length", f"{mean:,g} tokens in the mean: raise it, or set data.packed: true")


@rule("S-21")
def requests_fit_the_context(context: SpecContext) -> Iterator[Violation]:
    """A mean request, input and output together, must fit in max_context."""
    for at, workload in context.each(Serve, Batch):
        if workload.max_context:
            need = workload.input_tokens.mean + workload.output_tokens.mean
            if need > workload.max_context:
                yield Violation(at / "max_context", f"needs {need:,g} tokens, has {workload.max_context:,}")


@rule("S-22", Level.WARNING)
def long_requests_fit_the_context(context: SpecContext) -> Iterator[Violation]:
    """Requests longer than max_context are refused by the server."""
    for at, workload in context.each(Serve, Batch):
        if workload.max_context:
            long = [tokens.p95 or tokens.mean for tokens in (workload.input_tokens, workload.output_tokens)]
            mean = workload.input_tokens.mean + workload.output_tokens.mean
            if mean <= workload.max_context < sum(long):
                fix = f"p95 of input and output add up to {sum(long):,g} tokens, {workload.max_context:,} fit"
                yield Violation(at / "max_context", fix)


@rule("S-23", Level.WARNING)
def first_token_takes_longer(context: SpecContext) -> Iterator[Violation]:
    """The first token takes longer than any later one: ttft should not be below tpot."""
    for at, workload in context.each(Serve):
        if workload.ttft and workload.tpot and workload.ttft.target < workload.tpot.target:
            yield Violation(at / "ttft" / "target", "are the two swapped?")


@rule("S-65")
def one_revenue(context: SpecContext) -> Iterator[Violation]:
    """Income is given per token or per request, not both."""
    for at, workload in context.each(Serve):
        if workload.revenue is not None and workload.revenue_per_request is not None:
            yield Violation(at / "revenue_per_request", "`revenue` is given too: keep one", about_key=True)


@rule("S-66")
def mean_traffic_below_the_busiest(context: SpecContext) -> Iterator[Violation]:
    """The mean over all hours must not be above the busiest hour."""
    for at, workload in context.each(Serve):
        mean, most = workload.mean_requests_per_second, workload.requests_per_second
        if mean is not None and most is not None and mean > most:
            yield Violation(at / "mean_requests_per_second", f"mean is {mean:,g}, busiest hour {most:,g}: are they swapped?")
