"""Training memory: properties, published peaks, largest batch and context."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.predict import TrainingPrediction
from rackwright.estimator.training.memory import MODELS, MemoryCoefficients, outside_bytes, peak_bytes, training_memory
from rackwright.estimator.training.states import device_parameters

from tests.estimator.memory_cases import GIB, PRIOR, case, network

FSDP = {"engine": "torchtitan", "zero_stage": 3.0, "weight_bytes": 4.0, "optimizer_bytes": 8.0}
PLAYBOOK = ModelDimensions(
    layers=32, hidden=4096, heads=32, kv_heads=32, head_dim=128, ffn=14336, vocab=131072, trunk=8.859e9, total=8.859e9,
    embedding=536.9e6, head=536.9e6, largest_block=243.3e6,
)  # fmt: skip
PUBLISHED = [
    ("torchtitan, 128 GPUs, compiled, selective", 62.0, "llama-3.1-8b",
     FSDP | {"sequence": 8192.0, "micro_batch": 2.0, "shards": 128.0, "recompute": 1.0}),
    ("torchtitan, 8 GPUs, 32k, full recompute", 83.9, "llama-3.1-8b",
     FSDP | {"sequence": 32768.0, "shards": 8.0, "recompute": 2.0}),
    ("nanotron playbook, t4, ZeRO-1 over 4", 58.3, PLAYBOOK,
     {"engine": "nanotron", "compiled": 0.0, "tensor": 4.0, "micro_batch": 4.0, "micro_batches": 16.0, "zero_stage": 1.0, "shards": 4.0,
      "gradient_bytes": 6.0}),
]  # fmt: skip


@pytest.mark.parametrize(("gib", "model", "said"), [row[1:] for row in PUBLISHED], ids=[row[0] for row in PUBLISHED])
def test_priors_predict_published_peaks_within_a_tenth(gib, model, said):
    """torchtitan's performance page of 2024-12 and the playbook's sweep: GiB reserved by the allocator."""
    assert peak_bytes(case(model, **said), PRIOR) / GIB == pytest.approx(gib, rel=0.1)


def test_the_reserve_is_a_share_of_what_is_allocated_and_a_constant():
    terms = training_memory(case(), PRIOR)
    assert terms.reserved == pytest.approx(PRIOR.reserved * (terms.total - terms.reserved) + PRIOR.reserved_gib * GIB)


cases = st.builds(
    lambda model, engine, t, p, v, shards, stage, recompute, b, m: case(
        model,
        engine=engine,
        tensor=t,
        pipeline=p,
        virtual=v,
        shards=shards,
        zero_stage=stage,
        recompute=recompute,
        micro_batch=b,
        micro_batches=m,
    ),
    model=st.sampled_from(["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "llama-3.2-1b"]),
    engine=st.sampled_from(["megatron", "torchtitan", "nanotron", "fsdp"]),
    t=st.sampled_from([1.0, 2.0, 8.0]),
    p=st.sampled_from([1.0, 2.0, 8.0]),
    v=st.sampled_from([1.0, 2.0]),
    shards=st.sampled_from([1.0, 8.0]),
    stage=st.sampled_from([0.0, 1.0, 2.0, 3.0]),
    recompute=st.sampled_from([0.0, 1.0, 2.0]),
    b=st.sampled_from([1.0, 4.0]),
    m=st.sampled_from([1.0, 32.0]),
)


@given(cases)
def test_no_term_is_negative_and_they_sum_to_the_peak(c):
    terms = training_memory(c, PRIOR)
    assert all(float(getattr(terms, f.name)) >= 0 for f in fields(terms))
    assert terms.total == pytest.approx(float(peak_bytes(c, PRIOR)))


@given(cases)
def test_the_fullest_stage_is_the_first_or_the_last(c):
    stages = [float(training_memory(c, PRIOR, stage=float(i)).total) for i in range(int(c.pipeline))]
    assert max(stages) == pytest.approx(float(peak_bytes(c, PRIOR)), rel=0.02)


@given(cases, st.sampled_from(["micro_batch", "sequence", "micro_batches"]))
def test_more_tokens_never_reduce_memory(c, field):
    more = replace(c, **{field: 2 * getattr(c, field)})
    assert peak_bytes(more, PRIOR) >= peak_bytes(c, PRIOR)


@given(cases, st.sampled_from(["tensor", "shards", "context"]))
def test_a_finer_split_never_adds_memory(c, field):
    """Except for the gathered units of stage 3, which a single accelerator does not need."""
    finer = replace(c, **{field: 2 * getattr(c, field)})
    if field == "shards" and c.zero_stage == 3 and c.shards == 1:
        return
    assert peak_bytes(finer, PRIOR) <= peak_bytes(c, PRIOR) * (1 + 1e-9)


@pytest.mark.parametrize("shards", [8.0, 16.0, 64.0])
def test_experts_gather_what_their_own_group_does_not_hold(shards):
    """Experts without expert parallelism are sharded over the tensor group too, so 16 shards x tensor 8 hold 1/128 of them each.

    A stage that stays whole then has 2 bytes per parameter, whatever the shards; the share that is gathered counted twice before.
    """
    c = case("mixtral-8x7b", **FSDP | {"weight_bytes": 2.0}, tensor=8.0, pipeline=2.0, shards=shards, micro_batches=32.0)
    stage = device_parameters(c, 0.0)
    assert training_memory(c, PRIOR, stage=0.0).weights == pytest.approx(2 * (stage.dense + stage.routed))
    assert peak_bytes(replace(c, shards=2 * shards), PRIOR) <= peak_bytes(c, PRIOR) * (1 + 1e-9)


@given(cases)
def test_offload_reduces_memory(c):
    assert peak_bytes(replace(c, offload_activations=1.0), PRIOR) <= peak_bytes(c, PRIOR)
    assert training_memory(replace(c, offload_optimizer=1.0), PRIOR).optimizer == 0


@given(cases)
def test_full_recompute_reduces_memory_of_deep_models(c):
    none, some, full = (float(peak_bytes(replace(c, recompute=float(r), micro_batches=64.0), PRIOR)) for r in (0, 1, 2))
    assert full <= some * 1.001 <= none * 1.05


def test_half_the_layers_recomputed_keep_half_the_difference():
    kept = [float(training_memory(case(recompute=2.0, recompute_share=x), PRIOR).activations) for x in (0.0, 0.5, 1.0)]
    assert kept[0] - kept[1] == pytest.approx(kept[1] - kept[2])


def test_unfused_attention_is_recomputed_with_its_layer():
    """Scores of one layer at a time: 42 published BLOOM runs fit on A100s, although the scores of all layers are twice their memory."""
    c = case("llama-3.1-8b", recompute=2.0, flash=0.0)
    scores = 5 * 32 * 4096.0 * 4096
    assert float(peak_bytes(c, PRIOR) - peak_bytes(replace(c, flash=1.0), PRIOR)) <= 1.01 * scores * (1 + PRIOR.reserved)


def test_full_recompute_keeps_the_inputs_of_layers_and_offload_two_of_them():
    """Plus the backward pass of one layer: 34h of Llama 3, recomputed, and its gradients."""
    c, each = case(recompute=2.0), 4096 * 4096.0
    passing = (34 - 2 + PRIOR.backward * 34) * each
    assert training_memory(c, PRIOR).activations == pytest.approx(32 * 2 * each + passing)
    assert training_memory(replace(c, offload_activations=1.0), PRIOR).activations == pytest.approx(2 * 2 * each + passing)


def test_a_fused_loss_holds_one_chunk_of_sixteen():
    """Layers are so small that the logits are the peak."""
    c = case(replace(network("llama-3.2-3b"), hidden=64, heads=0, kv_heads=0, ffn=64), engine="fsdp")
    whole, fused = (float(training_memory(replace(c, fused_loss=x), PRIOR).total) for x in (0.0, 1.0))
    logits = 4096 * 128256 * PRIOR.logit_bytes * (1 + PRIOR.reserved)
    assert whole - fused == pytest.approx(0.94 * logits)


def test_megatron_gathers_inputs_again_and_other_trainers_keep_them():
    kept = replace(PRIOR, gathered=0.0)
    for engine, same in (("megatron", True), ("nanotron", False)):
        c = case(tensor=8.0, engine=engine)
        assert bool(peak_bytes(c, kept) == peak_bytes(c, PRIOR)) == same


def test_a_vision_tower_takes_weight_memory_only():
    n = replace(network("llama-3.1-8b"), tower=1e9)
    held = [training_memory(case(n, pipeline=2.0, tensor=2.0), PRIOR, stage=x).weights for x in (0.0, 1.0)]
    plain = [training_memory(case(pipeline=2.0, tensor=2.0), PRIOR, stage=x).weights for x in (0.0, 1.0)]
    assert held[0] - plain[0] == pytest.approx(2 * 1e9 / 2)
    assert held[1] == plain[1]


def test_fixed_memory_includes_library_workspaces():
    assert training_memory(case(), PRIOR).fixed == 0.2 * GIB


def test_named_modules_of_selective_recompute_reduce_memory():
    c = case("deepseek-v3", recompute=1.0, expert=8.0)
    for part in ("norms", "mlp", "act", "up"):
        assert peak_bytes(replace(c, **{f"recompute_{part}": 1.0}), PRIOR) < peak_bytes(c, PRIOR), part


@pytest.mark.parametrize("model", ["llama-3.1-70b", "deepseek-v3"])
def test_arrays_of_layouts_agree_with_single_layouts(model):
    tensor, pipeline = np.array([1.0, 8.0, 4.0]), np.array([1.0, 4.0, 8.0])
    many = peak_bytes(case(model, tensor=tensor, pipeline=pipeline, micro_batches=16.0), PRIOR)
    for t, p, value in zip(tensor, pipeline, many, strict=True):
        assert float(peak_bytes(case(model, tensor=t, pipeline=p, micro_batches=16.0), PRIOR)) == pytest.approx(value)


def predicted(c: TrainingCase) -> TrainingPrediction:
    """With the coefficients of the other tests in this file."""
    return replace(TrainingPrediction.of(c, calibration()), coefficients=PRIOR)


def test_the_largest_micro_batch_fits_and_the_next_does_not():
    c, limit = case(shards=8.0, zero_stage=3.0), 60e9
    most = predicted(c).max_micro_batch(limit)
    peaks = [float(peak_bytes(replace(c, micro_batch=float(b)), PRIOR)) for b in (most, most + 1)]
    assert peaks[0] <= limit < peaks[1]
    assert predicted(case("llama-3.1-70b")).max_micro_batch(limit) == 0


def test_the_largest_context_is_exact_and_a_multiple_of_the_context_group():
    c, limit = case(shards=8.0, zero_stage=3.0, recompute=2.0, context=8.0, micro_batch=4.0), 60e9
    most = predicted(c).max_context_tokens(limit)
    peaks = [float(peak_bytes(replace(c, micro_batch=1.0, sequence=float(s)), PRIOR)) for s in (most, most + 8)]
    assert most % 8 == 0
    assert peaks[0] <= limit < peaks[1]
    assert predicted(case("llama-3.1-70b")).max_context_tokens(limit) == 0


def test_driver_context_and_communicators_are_outside_the_allocator():
    alone, split = case(), case(tensor=8.0, pipeline=4.0, replicas=2.0)
    assert outside_bytes(alone) == 0.6 * GIB
    assert outside_bytes(split) == pytest.approx((0.6 + 3 * 0.3) * GIB)


def test_a_row_is_compared_with_the_kind_of_memory_it_measured():
    c = case("llama-3.1-8b", pipeline=4.0, micro_batches=16.0)
    read = MODELS[0].predict
    assert read(c, PRIOR) == pytest.approx(peak_bytes(c, PRIOR) / GIB)
    terms = training_memory(c, PRIOR)
    assert read(replace(c, measures_reserved=0.0), PRIOR) == pytest.approx((terms.total - terms.reserved) / GIB)
    last = training_memory(c, PRIOR, stage=3.0).total
    assert read(replace(c, measured_stage=3.0), PRIOR) == pytest.approx(last / GIB)
    assert last < peak_bytes(c, PRIOR)


def test_every_coefficient_moves_some_prediction():
    """A coefficient without effect could not be fitted."""
    several = [case("llama-3.1-8b", **row[3]) for row in PUBLISHED[:2]] + [
        case(PLAYBOOK, **PUBLISHED[2][3]), case("mixtral-8x7b", expert=8.0), case("llama-3.1-70b", **FSDP, tensor=8.0, shards=32.0),
    ]  # fmt: skip
    for f in fields(MemoryCoefficients):
        moved = replace(PRIOR, **{f.name: f.metadata["high"]})
        assert any(float(peak_bytes(c, moved)) != float(peak_bytes(c, PRIOR)) for c in several), f.name
    assert len(fields(MemoryCoefficients)) <= 12
