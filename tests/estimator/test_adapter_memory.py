"""Memory of fine-tuning: properties, sizes of each term, and published peaks outside the fit."""

from dataclasses import replace

import numpy as np
import pytest
from rackwright.catalog.models import library
from rackwright.estimator.calibration.coefficients import bounds
from rackwright.estimator.case import Chip, Links, TrainingCase, stack_cases
from rackwright.estimator.dataset import runs
from rackwright.estimator.model.adapters import adapter_inputs
from rackwright.estimator.model.from_architecture import count_parameters, model_dimensions
from rackwright.estimator.training import adapter_memory
from rackwright.estimator.training.adapter_memory import AdapterCoefficients, is_applicable, peak_bytes
from rackwright.estimator.training.adapter_memory import adapter_memory as terms_of

GIB = 2**30
K = AdapterCoefficients()
LLAMA = library.find("llama-2-7b").architecture
NF4 = 0.5 + 4 / 64


def case(**changes):
    lora = TrainingCase(
        network=model_dimensions(LLAMA), chip=Chip("ampere", 80 * GIB, 2e12, 312e12, 312e12), links=Links(3e11, 25e9, 8, 8),
        accelerators=1.0,
        sequence=2048.0, micro_batch=1.0, micro_batches=8.0, adapter=1.0, trainable=20e6, adapter_inputs=2 * 4096.0 + 11008, engine="hf",
        gradient_bytes=2.0, optimizer_bytes=4.0, recompute=2.0,
    )  # fmt: skip
    return replace(lora, **changes)


def full(**changes):
    return case(adapter=0.0, trainable=model_dimensions(LLAMA).trunk, adapter_inputs=0.0, **changes)


def gib(**changes):
    return float(peak_bytes(case(**changes), K)) / GIB


def test_a_frozen_base_has_no_gradients_and_no_optimizer_state():
    terms = terms_of(case(trainable=0.0), K)
    assert terms.gradients == terms.optimizer == 0
    assert terms.weights == pytest.approx(2 * model_dimensions(LLAMA).total)


def test_nf4_shrinks_only_matrices_and_needs_one_buffer():
    n = model_dimensions(LLAMA)
    saved = terms_of(case(), K).weights - terms_of(case(frozen_bytes=NF4), K).weights
    assert saved == pytest.approx((2 - NF4) * n.linear - 2 * n.largest_linear)


def test_k_bit_preparation_casts_the_rest_to_fp32_and_autocast_copies_the_head():
    n = model_dimensions(LLAMA)
    cast = terms_of(case(frozen_bytes=NF4, frozen_other_bytes=4.0), K).weights - terms_of(case(frozen_bytes=NF4), K).weights
    assert cast == pytest.approx(2 * (n.total - n.linear) + 2 * n.head)


def test_old_bitsandbytes_kept_inputs_of_frozen_matrices():
    """Its maintainers report that 0.43.2 saves 10.1 GB per sequence of 1,024 tokens of a 70B model: at least 2 bytes per input."""
    big = model_dimensions(library.find("llama-2-70b").architecture)
    one = case(network=big, sequence=1024.0, recompute=0.0, adapter_inputs=0.0, frozen_bytes=NF4)
    k = replace(K, input_bytes=2.0)
    kept = terms_of(replace(one, keeps_frozen_inputs=1.0), k).activations - terms_of(one, k).activations
    assert kept == pytest.approx(10.1e9, rel=0.2)


def test_adapters_keep_each_distinct_input_once():
    layers = count_parameters(LLAMA).layers
    assert adapter_inputs(layers, "q,v") == adapter_inputs(layers, "q_proj,k_proj,v_proj") == 4096
    assert adapter_inputs(layers, "all-linear") == 3 * 4096 + 11008
    assert adapter_inputs(layers, "k,v,down", scales=True) == 3 * 4096
    assert adapter_inputs(layers, "norm") == 0


def test_inactive_experts_keep_no_activations():
    a = library.find("mixtral-8x7b").architecture
    routed = adapter_inputs(count_parameters(a).layers, "down")
    assert routed == pytest.approx(a.experts_per_token * a.expert_ffn)


@pytest.mark.parametrize("more", [{"sequence": 4096.0}, {"micro_batch": 2.0}, {"trainable": 80e6}, {"recompute": 0.0}, {"flash": 0.0},
                                  {"virtual_tokens": 100.0}, {"mean_length": 1500.0}, {"frozen_other_bytes": 4.0},
                                  {"adapter_inputs": 4e4, "recompute": 0.0}])  # fmt: skip
def test_more_work_never_reduces_memory(more):
    assert gib(**more) > gib()


@pytest.mark.parametrize("less", [{"fused_loss": 1.0}, {"zero_stage": 3.0, "shards": 8.0, "replicas": 8.0}, {"frozen_bytes": NF4},
                                  {"offload_activations": 1.0}, {"compiled": 1.0}, {"offload_optimizer": 1.0}])  # fmt: skip
def test_less_work_never_adds_memory(less):
    assert gib(**less) < gib()


def test_whole_trained_modules_take_half_the_state_of_fp32_adapters():
    table = 131e6
    assert gib(trainable=20e6 + table, trained_modules=table) - gib() == pytest.approx(table * K.adapter_bytes / 2 / GIB, rel=1e-6)


def test_fused_backward_with_offloaded_optimizer_keeps_weights_and_one_block():
    bare = terms_of(full(fused_backward=1.0, offload_optimizer=1.0), K)
    assert bare.optimizer == 0
    assert bare.gradients <= 2 * model_dimensions(LLAMA).largest_block


def test_bf16_full_fine_tuning_takes_eight_bytes_plus_update_temporaries():
    terms = terms_of(full(sequence=128.0), K)
    held = terms.weights + terms.gradients + terms.optimizer
    assert 8 * model_dimensions(LLAMA).trunk < held < 11 * model_dimensions(LLAMA).trunk


def test_deepspeed_updates_a_billion_parameters_at_a_time():
    """70B on eight accelerators once showed 66.7 GiB of gradients, because temporaries grew with the fp32 masters of the whole shard."""
    sharded = {"engine": "deepspeed", "zero_stage": 3.0, "shards": 8.0, "replicas": 8.0, "accelerators": 8.0, "optimizer_bytes": 12.0}
    n = model_dimensions(library.find("llama-3.1-70b").architecture)
    terms = terms_of(replace(full(sequence=128.0), network=n, trainable=n.trunk, **sharded), K)
    assert terms.gradients == pytest.approx(2 * n.trunk / 8 + K.update * 12 * 1e9, rel=0.1)
    assert terms.gradients < 25 * GIB


def test_equal_lengths_leave_no_fragments():
    alike, mixed = terms_of(case(), K), terms_of(case(mean_length=3000.0), K)
    assert mixed.reserved > 5 * alike.reserved
    assert mixed.activations == alike.activations


def test_unpacked_samples_never_exceed_their_longest_length():
    assert gib(sequence=32768.0, mean_length=200.0) == pytest.approx(gib(sequence=1e5, mean_length=200.0), rel=0.01)


def test_the_reserve_shrinks_before_the_device_is_full():
    terms = terms_of(case(micro_batch=8.0, sequence=4096.0, mean_length=4000.0, chip=replace(case().chip, memory_bytes=50 * GIB)), K)
    assert terms.total == pytest.approx(0.97 * 50 * GIB)


def test_arrays_of_cases_agree_with_single_cases():
    singles = [case(), case(frozen_bytes=NF4), full(), case(engine="torchtune", mean_length=220.0), case(recompute=0.0, flash=0.0)]
    assert peak_bytes(stack_cases(singles), K) == pytest.approx([float(peak_bytes(one, K)) for one in singles])
    assert list(is_applicable(stack_cases(singles))) == [True] * 5


def test_residual_classes_of_fine_tuning():
    ours = [case(engine="megatron"), full(engine="hf"), full(engine="deepspeed")]
    theirs = [full(engine="deepspeed", accelerators=64.0), full(engine="megatron")]
    assert [bool(is_applicable(one)) for one in ours + theirs] == [True] * 3 + [False] * 2


def test_every_coefficient_starts_within_its_bounds_and_moves_some_peak():
    prior, low, high, spread = bounds(AdapterCoefficients)
    assert len(prior) <= 10
    assert np.all((low <= prior) & (prior <= high) & (spread > 0))
    probe = stack_cases([case(mean_length=1500.0), full(micro_batches=1.0, sequence=128.0), case(recompute=0.0, measures_device=1.0)])
    model = adapter_memory.MODELS[0]
    for name in AdapterCoefficients.__dataclass_fields__:
        moved = model.predict(probe, replace(K, **{name: getattr(K, name) * 1.5}))
        assert np.any(moved > model.predict(probe, K)), name


@pytest.mark.parametrize(("engine", "tokens", "limit_gib"), [
    ("hf", 932, 12), ("hf", 2551, 16), ("hf", 5789, 24), ("hf", 12264, 40), ("hf", 28454, 80),
    ("unsloth", 2972, 8), ("unsloth", 21848, 12), ("unsloth", 40724, 16), ("unsloth", 78475, 24), ("unsloth", 342733, 80),
])  # fmt: skip
def test_largest_context_is_close_to_unsloths_published_values(engine, tokens, limit_gib):
    """QLoRA of Llama-3.1-8B, rank 32 (Unsloth, 2025-11): longest context, outside the fit."""
    a = library.find("llama-3.1-8b").architecture
    hf = engine == "hf"
    one = case(
        network=model_dimensions(a), engine=engine, sequence=float(tokens), frozen_bytes=NF4 if hf else 0.516, trainable=84e6,
        frozen_other_bytes=4.0 if hf else 2.0, fused_loss=float(not hf), compiled=float(not hf), adapter_inputs=3 * 4096.0 + 14336,
        chip=replace(case().chip, memory_bytes=limit_gib * GIB),
    )  # fmt: skip
    assert float(peak_bytes(one, K)) / GIB == pytest.approx(limit_gib, rel=0.12)


@pytest.mark.parametrize(("row_id", "within"), [("FM0013", 0.1), ("FM0143", 0.1), ("FM0197", 0.2), ("FM0329", 0.1), ("FM0208", 0.2)])
def test_priors_predict_published_peaks(row_id, within):
    run = next(r for r in runs.scored_runs("peak_memory_gib") if r.row_id == row_id)
    assert float(adapter_memory.MODELS[0].predict(run.case, K)) == pytest.approx(run.measured, rel=within)


def reading(row_id):
    return next(r for r in runs.row_readings() if r.row.id == row_id).case


@pytest.mark.parametrize(("row_id", "field", "value"), [
    ("FM0011", "measures_reserved", 0.0), ("FM0197", "measures_reserved", 1.0), ("FM0143", "measures_device", 1.0),
    ("FM0012", "keeps_frozen_inputs", 1.0), ("FM0191", "keeps_frozen_inputs", 0.0), ("FM0208", "frozen_other_bytes", 4.0),
    ("FM0012", "frozen_other_bytes", 2.0), ("FM0213", "mean_length", 3234.0), ("FM0329", "mean_length", 0.0),
    ("FM0146", "trained_modules", 2.0 * 151936 * 4096), ("FM0096", "fused_loss", 0.0), ("FM0329", "adapter_inputs", 3072.0),
    ("FM0024", "adapter_inputs", 0.0), ("FM0006", "trainable", 2097152.0),
])  # fmt: skip
def test_trainer_behaviour_follows_from_the_row(row_id, field, value):
    assert float(getattr(reading(row_id), field)) == value


def test_a_separate_head_is_counted_when_the_rounded_name_hides_it():
    """StableLM-Alpha-3B has 3.64 billion parameters: LitGPT's published peak starts at 6.8 GiB."""
    assert reading("FM0006").network.total == pytest.approx(3.638e9, rel=0.002)


N, TOKENS = model_dimensions(LLAMA), 2048
WHOLE = {"recompute": 0.0}
"""Every layer keeps its activations."""
TERMS = {
    "checkpoints, two on the device": ("activations", {}, {"offload_activations": 1.0}, 2 * N.hidden * TOKENS * (N.layers - 2)),
    "a gated column": ("activations", WHOLE | {"network": replace(N, ffn=N.ffn + 1)}, WHOLE, 6 * TOKENS * N.layers),
    "a plain column": ("activations", WHOLE | {"network": replace(N, gated=False, ffn=N.ffn + 1)},
                       WHOLE | {"network": replace(N, gated=False)}, 2 * TOKENS * N.layers),
    "two norms out of one kernel": ("activations", WHOLE, WHOLE | {"compiled": 1.0}, 2 * (K.norm_bytes - 2) * N.hidden * TOKENS * N.layers),
    "a chunk of the loss": ("head", WHOLE | {"fused_loss": 1.0}, WHOLE | {"network": replace(N, vocab=0)}, 0.06 * 14 * N.vocab * TOKENS),
    "logits in fp32 before the shift": ("head", {"engine": "torchtune"}, {}, 8 * N.vocab * TOKENS),
    "adapters in fp32, cast for each pass": ("weights", {"trainable": 2e7 + 1e6}, {}, 6e6),
    "their gradients": ("gradients", {"trainable": 2e7 + 1e6}, {}, 4e6),
    "two blocks and the head gathered": ("weights", {"zero_stage": 3.0, "shards": 2.0}, {"zero_stage": 3.0, "shards": 2.0, "network":
                                         replace(N, largest_block=0)}, 2 * 2 * N.largest_block / 2),
    "the mean batch's logits, once and a half": ("reserved", {"mean_length": 1e9}, {}, 1.5 * 14 * N.vocab * TOKENS),
    "no sample longer than six means": ("head", {"sequence": 1e5, "mean_length": 500.0}, {"network": replace(N, vocab=0)},
                                        14 * N.vocab * 3000),
}  # fmt: skip


@pytest.mark.parametrize("what", TERMS)
def test_each_term_matches_a_hand_calculation(what):
    term, one, other, weighs = TERMS[what]
    assert getattr(terms_of(case(**one), K), term) - getattr(terms_of(case(**other), K), term) == pytest.approx(weighs, rel=1e-3)


def test_device_memory_includes_driver_context_and_communicators():
    read = adapter_memory.MODELS[0].predict
    shown = case(measures_device=1.0)
    assert read(shown, K) - read(case(), K) == pytest.approx(K.device_gib)
    many = case(measures_device=1.0, replicas=2.0)
    copied = 4 * float(many.trainable) / GIB  # DDP's buckets with the gradients of the adapters
    assert read(many, K) - read(shown, K) == pytest.approx(0.3 + copied, rel=1e-3)
