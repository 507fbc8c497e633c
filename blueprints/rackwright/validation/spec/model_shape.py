"""S-24..S-34: the model against how it is trained, spread and served."""

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
    """Workloads whose architecture can be told; S-24 reports the others."""
    for at, workload in context.workloads:
        try:
            architecture = architecture_of(workload.model, context.folder)
        except ConfigError:
            continue
        if architecture is not None:
            yield at, workload, architecture


@rule("S-24")
def model_can_be_told(context: SpecContext) -> Iterator[Violation]:
    """The model must be in the catalog, or its description readable."""
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
def text_needs_a_length(context: SpecContext) -> Iterator[Violation]:
    """Samples of a language model must have a length: `samples` needs `tokens_per_sample`."""
    for at, workload, architecture in known(context):
        text = isinstance(workload, TRAINING) and architecture.kind == "llm"
        if text and workload.data.samples is not None and workload.data.tokens is None and workload.data.tokens_per_sample is None:
            yield Violation(at / "data" / "samples", "add tokens_per_sample: the mean is enough", about_key=True)


@rule("S-26", Level.WARNING)
def trained_within_its_context(context: SpecContext) -> Iterator[Violation]:
    """Training beyond the model's context needs its positions extended."""
    for at, workload, architecture in known(context):
        limit = architecture.max_context
        if isinstance(workload, TRAINING) and limit and workload.sequence_length and workload.sequence_length > limit:
            yield Violation(at / "sequence_length", f"{limit:,} tokens or less, or extend the positions in your trainer")


@rule("S-27")
def served_within_its_context(context: SpecContext) -> Iterator[Violation]:
    """A model cannot be served beyond its context."""
    for at, workload, architecture in known(context):
        limit = architecture.max_context
        if isinstance(workload, (Serve, Batch)) and limit and workload.max_context and workload.max_context > limit:
            yield Violation(at / "max_context", f"{limit:,} tokens at most")


@rule("S-28")
def parallelism_divides_the_model(context: SpecContext) -> Iterator[Violation]:
    """tensor must divide the attention heads, expert the experts, and pipeline not exceed the layers."""
    for at, workload, architecture in known(context):
        pins = workload.parallelism
        if pins.tensor and architecture.heads and architecture.heads % pins.tensor:
            yield Violation(at / "parallelism" / "tensor", f"{_divisors(architecture.heads)}: the model has {architecture.heads} heads")
        if pins.pipeline and architecture.layers and pins.pipeline > architecture.layers:
            yield Violation(at / "parallelism" / "pipeline", f"at most {architecture.layers}, its layers")
        experts = architecture.experts
        if pins.expert and pins.expert > 1 and (not experts or experts % pins.expert):
            fix = f"{_divisors(experts)}: the model has {experts} experts" if experts else "leave it out: the model has no experts"
            yield Violation(at / "parallelism" / "expert", fix)


@rule("S-29")
def micro_batch_divides_the_batch(context: SpecContext) -> Iterator[Violation]:
    """micro_batch must divide global_batch_size."""
    for at, workload in context.each(*TRAINING):
        micro, batch = workload.parallelism.micro_batch, workload.global_batch_size
        if micro and batch and batch % micro:
            yield Violation(at / "parallelism" / "micro_batch", f"{_divisors(batch, 16)}: global_batch_size is {batch:,}")


@rule("S-30")
def parallelism_within_the_limit(context: SpecContext) -> Iterator[Violation]:
    """One copy of the model must fit in the accelerators that the organisation allows."""
    most = context.spec.limits.accelerators
    for at, workload in context.workloads:
        pins = workload.parallelism
        need = (pins.tensor or 1) * (pins.pipeline or 1) * (pins.context or 1)
        if most and need > most:
            yield Violation(at / "parallelism", f"tensor x pipeline x context is {need:,}; limits.accelerators is {most:,}")


@rule("S-31", Level.WARNING)
def data_lasts_a_step(context: SpecContext) -> Iterator[Violation]:
    """The data should hold at least one optimizer step."""
    for at, workload in context.each(*TRAINING):
        data, batch, length = workload.data, workload.global_batch_size, workload.sequence_length
        tokens = data.tokens or (data.samples or 0) * (data.tokens_per_sample or 0)
        if batch and length and tokens and tokens * data.epochs < batch * length:
            yield Violation(at / "global_batch_size", f"one step takes {batch * length:,} tokens, the data has {tokens * data.epochs:,g}")


def _divisors(number: int, most: int = 64) -> str:
    return "one of " + ", ".join(str(n) for n in range(1, min(number, most) + 1) if number % n == 0)
