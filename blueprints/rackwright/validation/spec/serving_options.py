"""S-149, S-162, S-163: options of model servers."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation
from rackwright.spec.workload import Batch, Serve
from rackwright.validation.spec.registry import SpecContext, rule

GROUPED = ("awq", "gptq")
MAX_ACCEPTANCE = 0.9
"""Accepted share of draft tokens above which a value is doubtful. Drafts of smaller models reach 0.5 to 0.9
(arXiv 2211.17192, section 4.2)."""


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
