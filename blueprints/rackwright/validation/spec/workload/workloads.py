"""S-10..S-23, S-65, S-66, S-135 to S-137: consistency of the fields of one workload."""

from collections.abc import Iterator

from rackwright.catalog.query import nearest
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.evaluation.transfers import location, named_buckets
from rackwright.spec.media import BatchData, BatchProgress
from rackwright.spec.workload import TRAINING, Batch, Custom, Finetune, Serve
from rackwright.spec.workload_parts import Checkpoint, Data
from rackwright.validation.spec.registry import SpecContext, rule

SOURCES = ("base", "config", "architecture")
MAX_PAUSED_SHARE = 0.05
"""Share of the training time that pauses of checkpoints may take; rackwright's choice 2026-11."""


@rule("S-10")
def model_has_one_source(context: SpecContext) -> Iterator[Violation]:
    """A model must be exactly one of `base`, `config` and `architecture`."""
    for at, workload in context.workloads:
        given = [source for source in SOURCES if getattr(workload.model, source) is not None]
        if len(given) > 1:
            yield Violation(at / "model" / given[1], "keep one", f"`{given[0]}` and `{given[1]}` are both set", about_key=True)
        elif not given and not isinstance(workload, Custom):
            yield Violation(at / "model", "such as {base: llama-3.1-8b}", "The model has none of `base`, `config` and `architecture`")


@rule("S-11")
def data_has_one_amount(context: SpecContext) -> Iterator[Violation]:
    """data must have exactly one of `tokens` and `samples`."""
    for at, workload in context.each(*TRAINING):
        if (workload.data.tokens is None) == (workload.data.samples is None):
            fix = "such as {samples: 10000, tokens_per_sample: 500}, or {tokens: 20e9}"
            neither = workload.data.tokens is None
            message = "Neither `tokens` nor `samples` is set" if neither else "`tokens` and `samples` are both set"
            yield Violation(at / "data", fix if neither else "keep one", message)


@rule("S-12")
def sample_length_needs_samples(context: SpecContext) -> Iterator[Violation]:
    """tokens_per_sample is the length of `samples`, and cannot be combined with `tokens`."""
    for at, workload in context.each(*TRAINING):
        if workload.data.tokens is not None and workload.data.tokens_per_sample is not None:
            message = "`tokens_per_sample` has no effect with `tokens`"
            yield Violation(at / "data" / "tokens_per_sample", "leave it out, or replace `tokens` by `samples`", message, about_key=True)


@rule("S-13")
def adapter_fields_suit_type(context: SpecContext) -> Iterator[Violation]:
    """`rank` and `targets` are valid for lora and qlora only, `virtual_tokens` for p-tuning only."""
    needs = {"rank": ("lora", "qlora"), "targets": ("lora", "qlora"), "virtual_tokens": ("p-tuning",)}
    for at, workload in context.each(Finetune):
        for key, types in needs.items():
            if key in workload.adapter.model_fields_set and workload.adapter.type not in types:
                message = f"`{key}` is not valid for adapter type {workload.adapter.type}"
                yield Violation(at / "adapter" / key, f"leave it out, or set type to {' or '.join(types)}", message, about_key=True)


@rule("S-14")
def qlora_is_four_bits(context: SpecContext) -> Iterator[Violation]:
    """qlora stores its frozen weights in nf4; no other precision is supported."""
    for at, workload in context.each(Finetune):
        if workload.adapter.type == "qlora" and workload.precision not in ("auto", "nf4"):
            message = f"qlora keeps its frozen weights in nf4; precision is {workload.precision}"
            yield Violation(at / "precision", "set auto, or adapter.type: lora", message)


@rule("S-15")
def training_precision_is_supported(context: SpecContext) -> Iterator[Violation]:
    """Training in int8, nf4, or fp4 with an adapter is not supported; only the frozen weights of qlora are in nf4."""
    for at, workload in context.each(*TRAINING):
        adapter = workload.adapter.type if isinstance(workload, Finetune) else "none"
        unsupported = ("nf4", "int8") if adapter == "none" else ("nf4", "int8", "fp4")
        if workload.precision in unsupported and adapter != "qlora":
            with_adapter = f" with adapter {adapter}" if workload.precision == "fp4" else ""
            message = f"Training in {workload.precision}{with_adapter} is not supported"
            yield Violation(at / "precision", "one of auto, fp32, bf16, fp16, fp8; or adapter.type qlora", message)


@rule("S-16")
def traffic_has_one_unit(context: SpecContext) -> Iterator[Violation]:
    """A serve workload must have exactly one of `requests_per_second` and `users`."""
    for at, workload in context.each(Serve):
        if (workload.requests_per_second is None) == (workload.users is None):
            if workload.users is None:
                yield Violation(at, "add requests_per_second: 10", "Neither `requests_per_second` nor `users` is set")
            else:
                yield Violation(at / "users", "keep one", "`requests_per_second` and `users` are both set", about_key=True)


@rule("S-17")
def replica_bounds_are_ordered(context: SpecContext) -> Iterator[Violation]:
    """min_replicas must not exceed max_replicas."""
    for at, workload in context.each(Serve):
        if workload.max_replicas is not None and workload.min_replicas > workload.max_replicas:
            key = "min_replicas" if "min_replicas" in workload.model_fields_set else "max_replicas"
            message = f"min_replicas ({workload.min_replicas}) exceeds max_replicas ({workload.max_replicas})"
            yield Violation(at / key, f"set max_replicas to {workload.min_replicas} or more", message)


@rule("S-18")
def scale_to_zero_matches_minimum(context: SpecContext) -> Iterator[Violation]:
    """scale_to_zero: true requires min_replicas: 0, and the other way round."""
    for at, workload in context.each(Serve):
        if workload.scale_to_zero != (workload.min_replicas == 0):
            key = "scale_to_zero" if workload.scale_to_zero else "min_replicas"
            fix = "set min_replicas: 0" if workload.scale_to_zero else "set scale_to_zero: true, or min_replicas: 1"
            message = f"scale_to_zero is {str(workload.scale_to_zero).lower()}, and min_replicas is {workload.min_replicas}"
            yield Violation(at / key, fix, message)


@rule("S-19")
def p95_not_below_mean(context: SpecContext) -> Iterator[Violation]:
    """The 95th percentile of a length must not be below its mean."""
    for at, workload in context.each(Serve, Batch):
        for key in ("input_tokens", "output_tokens"):
            tokens = getattr(workload, key)
            if tokens and tokens.p95 is not None and tokens.p95 < tokens.mean:
                message = f"p95 ({tokens.p95:,g}) is below the mean ({tokens.mean:,g})"
                yield Violation(at / key / "p95", "swap the two, or correct one", message)


@rule("S-20", Level.WARNING)
def long_samples_are_truncated(context: SpecContext) -> Iterator[Violation]:
    """Unpacked samples that are longer than sequence_length are truncated."""
    for at, workload in context.each(*TRAINING):
        mean, length = workload.data.tokens_per_sample, workload.sequence_length
        if mean and length and mean > length and not workload.data.packed:
            message = f"Samples have {mean:,g} tokens on average and are truncated to {length:,}"
            yield Violation(at / "sequence_length", f"set {mean:.0f} or more, or data.packed: true", message)


@rule("S-21")
def requests_fit_the_context(context: SpecContext) -> Iterator[Violation]:
    """max_context must hold an average request, input and output together."""
    for at, workload in context.each(Serve, Batch):
        if workload.max_context and workload.input_tokens and workload.output_tokens:
            need = workload.input_tokens.mean + workload.output_tokens.mean
            if need > workload.max_context:
                message = f"An average request has {need:,g} tokens; max_context is {workload.max_context:,}"
                yield Violation(at / "max_context", f"set {need:.0f} or more", message)


@rule("S-22", Level.WARNING)
def long_requests_fit_the_context(context: SpecContext) -> Iterator[Violation]:
    """The server refuses requests that are longer than max_context."""
    for at, workload in context.each(Serve, Batch):
        if workload.max_context and workload.input_tokens and workload.output_tokens:
            long = [tokens.p95 or tokens.mean for tokens in (workload.input_tokens, workload.output_tokens)]
            mean = workload.input_tokens.mean + workload.output_tokens.mean
            if mean <= workload.max_context < sum(long):
                message = (
                    f"Requests at p95 have {sum(long):,g} tokens; the server refuses those above max_context ({workload.max_context:,})"
                )
                yield Violation(at / "max_context", f"set {sum(long):.0f} or more", message)


@rule("S-23", Level.WARNING)
def ttft_exceeds_tpot(context: SpecContext) -> Iterator[Violation]:
    """The time to the first token (ttft) is normally above the time per later token (tpot)."""
    for at, workload in context.each(Serve):
        if workload.ttft and workload.tpot and workload.ttft.target < workload.tpot.target:
            yield Violation(at / "ttft" / "target", "swap the two, or correct one", "The ttft target is below the tpot target")


@rule("S-132", Level.WARNING)
def tpot_needs_later_tokens(context: SpecContext) -> Iterator[Violation]:
    """An answer of one token has no time per output token (TPOT)."""
    for at, workload in context.each(Serve):
        if workload.tpot and workload.output_tokens and workload.output_tokens.mean <= 1:
            message = (
                f"The tpot target has no effect: answers have {workload.output_tokens.mean:g} token, so only the first token has a time"
            )
            yield Violation(at / "tpot", "remove it, or set output_tokens.mean to the length of an answer", message, about_key=True)


@rule("S-65")
def revenue_has_one_unit(context: SpecContext) -> Iterator[Violation]:
    """Revenue is given per token or per request, not both."""
    for at, workload in context.each(Serve):
        if workload.revenue is not None and workload.revenue_per_request is not None:
            yield Violation(at / "revenue_per_request", "keep one", "`revenue` and `revenue_per_request` are both set", about_key=True)


@rule("S-66")
def mean_traffic_below_peak(context: SpecContext) -> Iterator[Violation]:
    """mean_requests_per_second must not exceed requests_per_second, the busiest hour."""
    for at, workload in context.each(Serve):
        mean, peak = workload.mean_requests_per_second, workload.requests_per_second
        if mean is not None and peak is not None and mean > peak:
            message = f"mean_requests_per_second ({mean:,g}) exceeds requests_per_second ({peak:,g})"
            yield Violation(at / "mean_requests_per_second", "swap the two, or correct one", message)


@rule("S-135")
def bucket_region_exists(context: SpecContext) -> Iterator[Violation]:
    """The region of a bucket is a region of the cloud of its URI."""
    for at, part in _buckets(context):
        bucket = location(part.uri, part.region)
        known = context.regions.get(bucket.cloud, []) if bucket else []
        if bucket and part.region and part.region not in known:
            near = ", ".join(nearest(part.region, known))
            fix = f"use {near}" if near else f"use a region of {bucket.cloud}, or leave it out"
            yield Violation(at / "region", fix, f"{bucket.cloud}, the cloud of {part.uri}, has no region {part.region} in the catalog")


@rule("S-136")
def bucket_region_belongs_to_a_bucket(context: SpecContext) -> Iterator[Violation]:
    """`region` is set for an existing bucket only; a bucket of the stack is in the region of its machines."""
    for at, part in _buckets(context):
        if part.region and location(part.uri, part.region) is None:
            message = "`region` is set without the `uri` of a bucket" if part.uri is None else f"{part.uri} is not a bucket of a cloud"
            yield Violation(at / "region", "remove it, or set the `uri` of a bucket", message)


@rule("S-137", Level.WARNING)
def checkpoints_are_not_too_frequent(context: SpecContext) -> Iterator[Violation]:
    """Checkpoints at `checkpoint.interval` should pause training for at most 5 % of its time."""
    shortest, pause_s = DEFAULT.checkpoint_pause_s / MAX_PAUSED_SHARE, DEFAULT.checkpoint_pause_s
    for at, workload in context.each(*TRAINING):
        interval = workload.checkpoint.interval
        if isinstance(interval, float) and interval < shortest:
            share = min(pause_s / interval, 1.0)
            message = f"A checkpoint every {interval:g} s with an assumed pause of {pause_s:g} s takes {share:.0%} of the time"
            yield Violation(at / "checkpoint" / "interval", f"set auto, or {shortest:g}s or more", message)


def _buckets(context: SpecContext) -> Iterator[tuple[At, Data | Checkpoint | BatchData | BatchProgress]]:
    for at, workload in context.workloads:
        yield from ((at / key, part) for key, part in named_buckets(workload).items())
