"""S-145 to S-148, S-150, S-160 and S-161: objectives of fine-tuning."""

from collections.abc import Iterator

from rackwright.catalog.models.architecture import ConfigError
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.model import architecture_of
from rackwright.spec.workload import Finetune
from rackwright.validation.spec.registry import SpecContext, rule
from rackwright.validation.spec.workload.model_shape import known

GENERATES = ("grpo", "ppo")


@rule("S-145")
def rollouts_suit_the_objective(context: SpecContext) -> Iterator[Violation]:
    """`rollout` is required for objectives grpo and ppo, and not valid for others."""
    for at, workload in context.each(Finetune):
        generates = workload.objective in GENERATES
        if generates and workload.rollout is None:
            fix = "such as rollout: {generations: 8, input_tokens: {mean: 300}, output_tokens: {mean: 1500, p95: 4000}}"
            message = f"Objective {workload.objective} is trained on answers that it generates; `rollout` is not set"
            yield Violation(at / "objective", fix, message)
        if workload.rollout and not generates:
            message = f"Objective {workload.objective} generates no answers"
            yield Violation(at / "rollout", "leave it out, or set objective to grpo or ppo", message, about_key=True)


@rule("S-146")
def samples_of_rollouts_are_prompts(context: SpecContext) -> Iterator[Violation]:
    """The data of grpo and ppo is a number of prompts; their lengths are those of `rollout`."""
    for at, workload in context.each(Finetune):
        if workload.objective in GENERATES:
            for key in ("tokens", "tokens_per_sample"):
                if getattr(workload.data, key) is not None:
                    fix = "set data.samples, the number of prompts" if key == "tokens" else "leave it out"
                    yield Violation(at / "data" / key, fix, f"`{key}` has no effect with `rollout`", about_key=True)


@rule("S-150")
def sequences_hold_the_answers(context: SpecContext) -> Iterator[Violation]:
    """sequence_length and the context of the model must hold a prompt with its answer: the 95th percentiles, else the means."""
    for at, workload, architecture in known(context):
        if not isinstance(workload, Finetune) or workload.rollout is None:
            continue
        both = workload.rollout.input_tokens, workload.rollout.output_tokens
        need, limit = sum(tokens.p95 or tokens.mean for tokens in both), architecture.max_context
        if workload.sequence_length and workload.sequence_length < need:
            message = f"A prompt with its answer has {need:,.0f} tokens; sequence_length is {workload.sequence_length:,}"
            yield Violation(at / "sequence_length", f"set {need:.0f} or more, or leave it out", message)
        if limit and need > limit:
            message = f"A prompt with its answer has {need:,.0f} tokens, more than the model's context of {limit:,}"
            yield Violation(at / "rollout", "shorten the answers, or choose a model with a longer context", message)


@rule("S-147")
def objectives_need_a_language_model(context: SpecContext) -> Iterator[Violation]:
    """Objectives other than sft, and p-tuning, require a language model."""
    for at, workload, architecture in known(context):
        if not isinstance(workload, Finetune) or architecture.kind == "llm":
            continue
        if workload.objective != "sft":
            yield Violation(at / "objective", "set sft", f"Objective {workload.objective} requires a language model")
        if workload.adapter.type == "p-tuning" and architecture.kind != "encoder":
            yield Violation(at / "adapter" / "type", "set lora", "p-tuning trains a prompt of a language model")


@rule("S-148")
def adapter_variant_suits_type(context: SpecContext) -> Iterator[Violation]:
    """Adapter variants are variants of lora and qlora."""
    for at, workload in context.each(Finetune):
        if workload.adapter.variant != "plain" and workload.adapter.type not in ("lora", "qlora"):
            message = f"Variant {workload.adapter.variant} is not valid for adapter type {workload.adapter.type}"
            yield Violation(at / "adapter" / "variant", "leave it out, or set type to lora or qlora", message)


@rule("S-160")
def reward_model_reads_text(context: SpecContext) -> Iterator[Violation]:
    """The reward model of `rollout` scores text, so it must be a language model."""
    for at, workload in context.each(Finetune):
        scorer = workload.rollout.reward_model if workload.rollout else None
        try:
            architecture = architecture_of(scorer, context.folder) if scorer else None
        except ConfigError as error:
            yield Violation(at / "rollout" / "reward_model", "`rackwright catalog models` lists models", str(error))
            continue
        if scorer and architecture is None:
            message = f"The reward model {quote(scorer.base or '')} is not in the model catalog"
            yield Violation(at / "rollout" / "reward_model", "`rackwright catalog models` lists models", message)
        elif architecture and architecture.kind != "llm":
            message = f"The reward model scores text and must be a language model; this is of kind {architecture.kind}"
            fix = "name a language model, or leave it out: the reward is then a function on the CPU"
            yield Violation(at / "rollout" / "reward_model", fix, message)


@rule("S-161")
def answers_are_not_packed(context: SpecContext) -> Iterator[Violation]:
    """Pairs and generated answers are padded; `data.packed: true` applies to objective sft."""
    for at, workload in context.each(Finetune):
        if workload.objective != "sft" and workload.data.packed and "packed" in workload.data.model_fields_set:
            message = f"`packed: true` has no effect: objective {workload.objective} pads each answer to the longest of its micro-batch"
            yield Violation(at / "data" / "packed", "set it to false, or leave it out", message, about_key=True)
