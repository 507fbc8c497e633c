"""A training plan equals the estimate of the same configuration: memory on its pessimistic side, time at its median."""

from collections.abc import Iterator
from typing import Any

import pytest
from rackwright.estimator.config.jsonl import parse_configuration
from rackwright.estimator.estimate import estimate
from rackwright.sizing.inputs.training_recipe import ADAPTERS, FULL
from rackwright.sizing.plan import Fit

from tests.sizing.helpers import AWS, finetune, plan

SHARDS = ("none", "zero1", "zero2", "zero3")


def alone(fits: tuple[Fit, ...], most: int = 5) -> Iterator[Fit]:
    """One machine of each kind: for several, sizing uses the links of the catalog, and the estimate those of the vendor's server."""
    kinds = {f.candidate.machine: f for f in reversed(fits) if f.candidate.nodes == 1}
    yield from [kinds[name] for name in sorted(kinds)][:most]


def same(fit: Fit, base: str, adapter: str) -> dict[str, Any]:
    """The chosen layout as a line of `rackwright estimate`. A plan assumes the expert load of measured routers."""
    c, p = fit.candidate, fit.candidate.parallelism
    layout = {"tensor": p.tensor, "pipeline": p.pipeline, "virtual": p.virtual, "context": p.context, "expert": p.expert, "data": p.data}
    return {
        "kind": "training", "model": base, "sequence": 4096, "micro_batch": p.micro_batch, "global_batch": 64, "recompute": p.recompute,
        "routing": "real", "hardware": {"accelerator": c.accelerator, "count": c.accelerators, "per_node": c.accelerators_per_node},
        "layout": {**layout, "shard": SHARDS[p.zero_stage]}, "engine": {"name": FULL if adapter == "none" else ADAPTERS},
        **({} if adapter == "none" else {"adapter": {"type": adapter}}),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("base", "adapter"), [("llama-3.1-8b", "none"), ("llama-3.1-8b", "lora"), ("llama-3.1-70b", "qlora"), ("mixtral-8x7b", "qlora")]
)
def test_the_search_uses_the_formulas_of_the_estimator(base, adapter):
    fits = list(alone(plan(finetune(base, adapter), AWS).fits))
    assert fits
    for fit in fits:
        found = estimate(parse_configuration(same(fit, base, adapter)))
        assert fit.memory.total_bytes == pytest.approx(found.peak_memory_bytes.p90, rel=1e-3), fit.candidate.label
        assert fit.speed.tokens_per_s == pytest.approx(found.tokens_per_s.p50, rel=1e-3), fit.candidate.label


@pytest.mark.parametrize("objective", ["sft", "dpo"])
def test_a_step_of_padded_samples_is_that_of_their_mean_length(objective):
    """Samples of 1,000 tokens, 1.3 times that padded, in sequences of at most 4,096: a step takes 64 samples or pairs of 1,300 tokens."""
    spec = finetune(adapter="none", more=f"objective: {objective}").replace("epochs: 1", "epochs: 1, packed: false")
    for fit in alone(plan(spec, AWS).fits, 3):
        config = same(fit, "llama-3.1-8b", "none") | {"sequence": 1300} | ({"global_batch": 128} if objective == "dpo" else {})
        found, speed = estimate(parse_configuration(config)), fit.speed
        if objective == "sft":
            assert speed.step_s == pytest.approx(found.step_s.p50, rel=1e-3), fit.candidate.label
            assert speed.tokens_per_s == pytest.approx(found.tokens_per_s.p50, rel=1e-3), fit.candidate.label
        assert found.step_s.p50 <= speed.step_s * 1.001 <= 2 * found.step_s.p50, "the reference adds a third of the work"
        assert speed.samples_per_s * speed.step_s == pytest.approx(128 if objective == "dpo" else 64)
