"""S-24..S-31: the model compared with its training data, parallelism and context."""

from collections.abc import Iterator

from rackwright.catalog.models.architecture import Architecture, ConfigError
from rackwright.catalog.models.library import nearest
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.model import architecture_of
from rackwright.spec.workload import TRAINING, Batch, Serve, Workload
from rackwright.validation.spec.registry import SpecContext, rule


def known(context: SpecContext) -> Iterator[tuple[At, Workload, Architecture]]:
    """Workloads with a known architecture; S-24 reports the others."""
    for at, workload in context.workloads:
        try:
            architecture = architecture_of(workload.model, context.folder)
        except ConfigError:
            continue
        if architecture is not None:
            yield at, workload, architecture


@rule("S-24")
def model_is_known(context: SpecContext) -> Iterator[Violation]:
    """The model must be in the catalog, or have a readable description."""
    for at, workload in context.workloads:
        model = workload.model
        try:
            architecture = architecture_of(model, context.folder)
        except ConfigError as error:
            place = at / "model" / ("config" if model.config is not None else "architecture")
            yield Violation(place / error.field if model.config is None and error.field else place, message=str(error))
            continue
        if architecture is None and model.base is not None:
            near = nearest(model.base)
            fix = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else "`rackwright catalog models` lists them"
            yield Violation(at / "model" / "base", fix, f"{quote(model.base)} is not in the model catalog")


@rule("S-25")
def samples_need_length(context: SpecContext) -> Iterator[Violation]:
    """`samples` of a language model require `tokens_per_sample`."""
    for at, workload, architecture in known(context):
        text = isinstance(workload, TRAINING) and architecture.kind == "llm" and not getattr(workload, "rollout", None)
        if text and workload.data.samples is not None and workload.data.tokens is None and workload.data.tokens_per_sample is None:
            message = "`samples` is set without `tokens_per_sample`"
            yield Violation(at / "data" / "samples", "add tokens_per_sample, the mean length", message, about_key=True)


@rule("S-26", Level.WARNING)
def sequence_fits_context(context: SpecContext) -> Iterator[Violation]:
    """A sequence_length above the model's context requires extended positions."""
    for at, workload, architecture in known(context):
        limit = architecture.max_context
        if isinstance(workload, TRAINING) and limit and workload.sequence_length and workload.sequence_length > limit:
            message = f"sequence_length ({workload.sequence_length:,}) exceeds the model's context of {limit:,} tokens"
            yield Violation(at / "sequence_length", f"set {limit} or less, or extend the positions in your trainer", message)


@rule("S-27")
def max_context_fits_model(context: SpecContext) -> Iterator[Violation]:
    """max_context must not exceed the model's context."""
    for at, workload, architecture in known(context):
        limit = architecture.max_context
        if isinstance(workload, (Serve, Batch)) and limit and workload.max_context and workload.max_context > limit:
            message = f"max_context ({workload.max_context:,}) exceeds the model's context of {limit:,} tokens"
            yield Violation(at / "max_context", f"set {limit} or less", message)


@rule("S-28")
def parallelism_divides_the_model(context: SpecContext) -> Iterator[Violation]:
    """`tensor` must divide the attention heads, `expert` the experts; `pipeline` must not exceed the layers."""
    for at, workload, architecture in known(context):
        pins = workload.parallelism
        if pins.tensor and architecture.heads and architecture.heads % pins.tensor:
            message = f"tensor: {pins.tensor} does not divide the {architecture.heads} attention heads of the model"
            yield Violation(at / "parallelism" / "tensor", _divisors(architecture.heads), message)
        if pins.pipeline and architecture.layers and pins.pipeline > architecture.layers:
            message = f"pipeline: {pins.pipeline} exceeds the {architecture.layers} layers of the model"
            yield Violation(at / "parallelism" / "pipeline", f"set {architecture.layers} or less", message)
        experts = architecture.experts
        if pins.expert and pins.expert > 1 and (not experts or experts % pins.expert):
            message = f"expert: {pins.expert} does not divide the {experts} experts of the model" if experts else "The model has no experts"
            yield Violation(at / "parallelism" / "expert", _divisors(experts) if experts else "leave it out", message)


@rule("S-29")
def micro_batch_divides_the_batch(context: SpecContext) -> Iterator[Violation]:
    """`micro_batch` must divide global_batch_size."""
    for at, workload in context.each(*TRAINING):
        micro, batch = workload.parallelism.micro_batch, workload.global_batch_size
        if micro and batch and batch % micro:
            message = f"micro_batch: {micro} does not divide global_batch_size: {batch}"
            yield Violation(at / "parallelism" / "micro_batch", _divisors(batch, 16), message)


@rule("S-30")
def parallelism_within_the_limit(context: SpecContext) -> Iterator[Violation]:
    """tensor x pipeline x context must not exceed limits.accelerators."""
    limit = context.spec.limits.accelerators
    for at, workload in context.workloads:
        pins = workload.parallelism
        need = (pins.tensor or 1) * (pins.pipeline or 1) * (pins.context or 1)
        if limit and need > limit:
            message = f"tensor x pipeline x context is {need:,}; limits.accelerators is {limit:,}"
            yield Violation(at / "parallelism", "use fewer, or raise limits.accelerators", message)


@rule("S-31", Level.WARNING)
def data_fills_a_step(context: SpecContext) -> Iterator[Violation]:
    """The data should be enough for one optimizer step."""
    for at, workload in context.each(*TRAINING):
        data, batch, length = workload.data, workload.global_batch_size, workload.sequence_length
        tokens = data.tokens or (data.samples or 0) * (data.tokens_per_sample or 0)
        if batch and length and tokens and tokens * data.epochs < batch * length:
            message = f"One step takes {batch * length:,} tokens; the data has {tokens * data.epochs:,g}"
            yield Violation(at / "global_batch_size", "use a smaller batch, more epochs or more data", message)


def _divisors(number: int, limit: int = 64) -> str:
    return "one of " + ", ".join(str(n) for n in range(1, min(number, limit) + 1) if number % n == 0)
