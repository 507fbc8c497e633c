"""Fine-tuning objectives: sequences, models and rollouts per sample.

Sources: DPO (arXiv 2305.18290), reward models and PPO (arXiv 2203.02155), GRPO (arXiv 2402.03300), rollouts by an inference engine on the
same accelerators (HybridFlow, arXiv 2409.19256).
"""

from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.sizing.inputs.model_of_spec import architecture_of
from rackwright.sizing.job import PAIRED, SFT, Objective, ServingJob
from rackwright.spec.workload import Finetune
from rackwright.spec.workload_parts import Rollout

REFERENCE, OLD_POLICY, VALUES = 1.0, 1.0, 1.0
"""Forward passes per sequence: log probabilities of the reference and of the policy before the step, and the value model's estimates."""
PPO_MODELS = 2.0
"""Trained models: policy and value model, which is assumed to have the size of the policy."""


def objective_of(w: Finetune, n: ModelDimensions, batch: int) -> Objective:
    """batch: samples per optimizer step. With an adapter the reference is the frozen base, which is in memory already."""
    if w.objective == "sft":
        return SFT
    reference = 0.0 if w.adapter.type != "none" else n.trunk
    if w.objective in PAIRED:
        has_reference = w.objective == "dpo"
        return Objective(w.objective, 2, 1.0, reference * has_reference, REFERENCE * has_reference)
    rollout = w.rollout
    assert rollout, "S-145 requires it"
    frozen, passes = reference * rollout.reference, OLD_POLICY + REFERENCE * rollout.reference
    if rollout.reward_model:
        scorer = model_dimensions(architecture_of(rollout.reward_model)[0])
        frozen, passes = frozen + scorer.trunk, passes + scorer.matmul / max(n.matmul, 1.0)
    is_ppo = w.objective == "ppo"
    return Objective(
        name=w.objective,
        sequences=rollout.generations,
        trained_models=PPO_MODELS if is_ppo else 1.0,
        frozen_parameters=frozen,
        forward_passes=passes + VALUES * is_ppo,
        rollouts=_rollouts(rollout, n, batch),
        steps=(w.data.samples or 0.0) * w.data.epochs / batch,
    )


def rollout_tokens(rollout: Rollout) -> tuple[float, int]:
    """Tokens of a prompt with its answer: the mean, and those of the longest that are trained on (p95)."""
    both = rollout.input_tokens, rollout.output_tokens
    return sum(tokens.mean for tokens in both), round(sum(tokens.p95 or tokens.mean for tokens in both))


def _rollouts(rollout: Rollout, n: ModelDimensions, batch: int) -> ServingJob:
    """The answers of one step, which all end before it."""
    tokens, answer = rollout.input_tokens, rollout.output_tokens
    return ServingJob(
        network=n,
        generates=True,
        precision="auto",
        kv_element=2.0,
        engine=engine_family("vllm", "serve").family,
        input_tokens=tokens.mean,
        input_p95=max(tokens.p95 or tokens.mean, tokens.mean),
        output_tokens=answer.mean,
        longest=rollout_tokens(rollout)[1],
        cached_share=1 - 1 / rollout.generations,  # answers to one prompt share its cache
        rate=0.0,
        requests=float(batch * rollout.generations),
        ttft=None,
        tpot=None,
    )
