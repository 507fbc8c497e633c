"""S-10..S-29: fields of one workload that must agree."""

from collections.abc import Iterator

from rackwright.problems import Level
from rackwright.spec.checks.registry import Context, Finding, check
from rackwright.spec.workload import TRAINING, Batch, Custom, Finetune, Serve

SOURCES = ("base", "config", "architecture")


@check("S-10")
def one_model(context: Context) -> Iterator[Finding]:
    """A model must be exactly one of `base`, `config` and `architecture`."""
    for at, workload in context.workloads:
        given = [source for source in SOURCES if getattr(workload.model, source) is not None]
        if len(given) > 1:
            yield Finding(at / "model" / given[1], f"`{given[0]}` is given too: keep one", about_key=True)
        elif not given and not isinstance(workload, Custom):
            yield Finding(at / "model", "such as {base: llama-3.1-8b}")


@check("S-11")
def one_amount_of_data(context: Context) -> Iterator[Finding]:
    """data must have exactly one of `tokens` and `samples`."""
    for at, workload in context.each(*TRAINING):
        if (workload.data.tokens is None) == (workload.data.samples is None):
            fix = "such as {samples: 10000, tokens_per_sample: 500}, or {tokens: 20e9}"
            yield Finding(at / "data", fix if workload.data.tokens is None else "keep one of the two")


@check("S-12")
def sample_length_needs_samples(context: Context) -> Iterator[Finding]:
    """tokens_per_sample says how long `samples` are; it means nothing with `tokens`."""
    for at, workload in context.each(*TRAINING):
        if workload.data.tokens is not None and workload.data.tokens_per_sample is not None:
            yield Finding(at / "data" / "tokens_per_sample", "leave it out, or give `samples` in place of `tokens`", about_key=True)


@check("S-13")
def adapter_fields_suit_type(context: Context) -> Iterator[Finding]:
    """rank and targets belong to lora and qlora, virtual_tokens to p-tuning."""
    needs = {"rank": ("lora", "qlora"), "targets": ("lora", "qlora"), "virtual_tokens": ("p-tuning",)}
    for at, workload in context.each(Finetune):
        for key, types in needs.items():
            if key in workload.adapter.model_fields_set and workload.adapter.type not in types:
                fix = f"leave it out, or set type to {' or '.join(types)}; it is {workload.adapter.type}"
                yield Finding(at / "adapter" / key, fix, about_key=True)


@check("S-14")
def qlora_is_four_bits(context: Context) -> Iterator[Finding]:
    """qlora can hold its frozen weights in nf4 only."""
    for at, workload in context.each(Finetune):
        if workload.adapter.type == "qlora" and workload.precision not in ("auto", "nf4"):
            yield Finding(at / "precision", "leave it at auto, or set adapter.type to lora")


@check("S-15")
def few_bits_are_for_frozen_weights(context: Context) -> Iterator[Finding]:
    """Nothing can be trained in int8 or four bits: only the frozen weights of qlora are held so, in nf4."""
    for at, workload in context.each(*TRAINING):
        frozen = isinstance(workload, Finetune) and workload.adapter.type == "qlora"
        if workload.precision in ("nf4", "fp4", "int8") and not frozen:
            yield Finding(at / "precision", "one of auto, fp32, bf16, fp16, fp8; or adapter.type qlora")


@check("S-16")
def one_measure_of_traffic(context: Context) -> Iterator[Finding]:
    """A serve workload must have exactly one of `requests_per_second` and `users`."""
    for at, workload in context.each(Serve):
        if (workload.requests_per_second is None) == (workload.users is None):
            if workload.users is None:
                yield Finding(at, "such as requests_per_second: 10")
            else:
                yield Finding(at / "users", "`requests_per_second` is given too: keep one", about_key=True)


@check("S-17")
def fewest_replicas_below_most(context: Context) -> Iterator[Finding]:
    """min_replicas must not be more than max_replicas."""
    for at, workload in context.each(Serve):
        if workload.max_replicas is not None and workload.min_replicas > workload.max_replicas:
            key = "min_replicas" if "min_replicas" in workload.model_fields_set else "max_replicas"
            yield Finding(at / key, f"min is {workload.min_replicas}, max is {workload.max_replicas}")


@check("S-18")
def zero_is_said_twice(context: Context) -> Iterator[Finding]:
    """scale_to_zero must go with min_replicas 0, and 0 with scale_to_zero."""
    for at, workload in context.each(Serve):
        if workload.scale_to_zero != (workload.min_replicas == 0):
            key = "scale_to_zero" if workload.scale_to_zero else "min_replicas"
            yield Finding(at / key, "set min_replicas: 0" if workload.scale_to_zero else "set scale_to_zero: true, or min_replicas: 1")


@check("S-19")
def p95_not_below_mean(context: Context) -> Iterator[Finding]:
    """The length that one request in twenty exceeds must not be below the mean."""
    for at, workload in context.each(Serve, Batch):
        for key in ("input_tokens", "output_tokens"):
            tokens = getattr(workload, key)
            if tokens.p95 is not None and tokens.p95 < tokens.mean:
                yield Finding(at / key / "p95", f"mean is {tokens.mean:,g}, p95 is {tokens.p95:,g}: are they swapped?")


@check("S-20", Level.WARNING)
def long_samples_are_cut(context: Context) -> Iterator[Finding]:
    """Samples longer than a sequence are cut, unless packed data splits them."""
    for at, workload in context.each(*TRAINING):
        mean, length = workload.data.tokens_per_sample, workload.sequence_length
        if mean and length and mean > length and not workload.data.packed:
            yield Finding(at / "sequence_length", f"{mean:,g} tokens in the mean: raise it, or set data.packed: true")


@check("S-21")
def requests_fit_the_context(context: Context) -> Iterator[Finding]:
    """A mean request, input and output together, must fit in max_context."""
    for at, workload in context.each(Serve, Batch):
        if workload.max_context:
            need = workload.input_tokens.mean + workload.output_tokens.mean
            if need > workload.max_context:
                yield Finding(at / "max_context", f"needs {need:,g} tokens, has {workload.max_context:,}")


@check("S-22", Level.WARNING)
def long_requests_fit_the_context(context: Context) -> Iterator[Finding]:
    """Requests longer than max_context are refused by the server."""
    for at, workload in context.each(Serve, Batch):
        if workload.max_context:
            long = [tokens.p95 or tokens.mean for tokens in (workload.input_tokens, workload.output_tokens)]
            mean = workload.input_tokens.mean + workload.output_tokens.mean
            if mean <= workload.max_context < sum(long):
                fix = f"p95 of input and output add up to {sum(long):,g} tokens, {workload.max_context:,} fit"
                yield Finding(at / "max_context", fix)


@check("S-23", Level.WARNING)
def first_token_takes_longer(context: Context) -> Iterator[Finding]:
    """The first token takes longer than any later one: ttft should not be below tpot."""
    for at, workload in context.each(Serve):
        if workload.ttft and workload.tpot and workload.ttft.target < workload.tpot.target:
            yield Finding(at / "ttft" / "target", "are the two swapped?")


@check("S-65")
def one_revenue(context: Context) -> Iterator[Finding]:
    """Income is given per token or per request, not both."""
    for at, workload in context.each(Serve):
        if workload.revenue is not None and workload.revenue_per_request is not None:
            yield Finding(at / "revenue_per_request", "`revenue` is given too: keep one", about_key=True)


@check("S-66")
def mean_traffic_below_the_busiest(context: Context) -> Iterator[Finding]:
    """The mean over all hours must not be above the busiest hour."""
    for at, workload in context.each(Serve):
        mean, most = workload.mean_requests_per_second, workload.requests_per_second
        if mean is not None and most is not None and mean > most:
            yield Finding(at / "mean_requests_per_second", f"mean is {mean:,g}, busiest hour {most:,g}: are they swapped?")
