"""Terms of a step, computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.resolve import training_case
from rackwright.estimator.training.kernels import micro_batch_time, tile_padding
from rackwright.estimator.training.step import StepCoefficients, step_seconds
from rackwright.estimator.training.sustained_rates import sustained_rates

K = StepCoefficients()
HBM = 3.35e12


def case(count: int = 8, layout: dict | None = None, **more) -> TrainingCase:
    """Llama 3.1 8B on H100: 32 layers with a hidden size of 4,096, 32 heads, a vocabulary of 128,256."""
    config = {
        "model": "llama-3.1-8b", "hardware": {"accelerator": "H100-80GB", "count": count}, "engine": {"name": "torchtitan"},
        "sequence": 4096, "micro_batch": 2, "global_batch": 64, "layout": {"shard": "fsdp", **(layout or {})},
    }  # fmt: skip
    return training_case(TrainingConfig.model_validate(config | more), checked=False)


def test_scores_are_written_and_read_at_two_bytes_and_eight_passes():
    kept = micro_batch_time(replace(case(), flash=0.0), K).layers - micro_batch_time(case(), K).layers
    assert kept == pytest.approx(2 * 4096 * 16 * 32 * 4096 * 32 / HBM)


def test_the_head_multiplies_in_16_bit_and_moves_24_bytes_a_logit_or_8_when_fused():
    c = case(numbers="fp8")
    product = 6 * 128256 * 4096 / sustained_rates(c, K).matrix
    for fused, size in ((0.0, 24), (1.0, 8)):
        assert micro_batch_time(replace(c, fused_loss=fused), K).head == pytest.approx(8192 * (product + 128256 * size * 1.3 / HBM))


def test_weights_are_read_three_times_and_their_gradient_added_up():
    few, free = replace(case(), micro_batch=1e-9), replace(K, layer_s=0.0, launch_s=0.0)
    weights = few.network.layer_parameters
    assert micro_batch_time(few, free).layers == pytest.approx(weights * 14 / HBM, rel=1e-3)
    frozen = replace(few, adapter=1.0, passes=4.0)
    assert micro_batch_time(frozen, free).layers == pytest.approx(weights * 4 / HBM, rel=1e-3)
    packed = replace(frozen, frozen_bytes=0.52)
    assert micro_batch_time(packed, free).layers == pytest.approx(weights * (4 + 2 * 4 * K.dequantise_passes) / HBM, rel=1e-3)
    gptq = replace(packed, frozen_numbers="int4")
    assert micro_batch_time(gptq, free).layers == pytest.approx(weights * (4 + 2 * 32) / HBM, rel=1e-3)


def test_an_eager_trainer_takes_as_long_as_launching_its_kernels():
    """32 layers, two passes, or three with full recompute; adapters and the hooks of ZeRO-3 add launches."""
    few = replace(case(), micro_batch=1e-9)
    assert micro_batch_time(few, K).layers == pytest.approx(32 * 2 * K.launch_s)
    again = micro_batch_time(replace(few, recompute=2.0), K)
    assert again.layers + again.recompute == pytest.approx(32 * 3 * K.launch_s)
    adapted = replace(few, adapter=1.0, passes=4.0, adapter_inputs=4096.0)
    assert micro_batch_time(adapted, K).layers == pytest.approx(32 * 2 * K.launch_s * (1 + K.adapter_launches))
    assert micro_batch_time(replace(few, engine="deepspeed"), K).layers == pytest.approx(32 * 2 * K.launch_s * 2.7)
    assert micro_batch_time(replace(few, compiled=1.0), K).layers < 40 * K.launch_s
    assert micro_batch_time(case(), K).layers == micro_batch_time(case(), replace(K, launch_s=0.0)).layers


def test_adapters_add_thin_products_and_passes_over_their_inputs():
    bare = replace(case(), adapter=1.0, passes=4.0, trainable=0.0)
    adapted = replace(bare, trainable=1e8, adapter_inputs=26_000.0)
    for compiled, fused in ((0.0, 1.0), (1.0, K.fused_passes / K.eager_passes)):
        some, none = (micro_batch_time(replace(c, compiled=compiled), K).layers for c in (adapted, bare))
        passes = K.adapter_passes * fused
        assert some - none == pytest.approx(8192 * (6 * 1e8 / K.adapter_reuse + 6 * passes * 26_000 * 32) / HBM)


def test_narrow_shards_slow_products():
    """Hidden 4,096 over 8 accelerators and 8,192 tokens."""
    wide, narrow = (micro_batch_time(case(), replace(K, shard_half=h)).layers for h in (0.0, 50.0))
    rate = sustained_rates(case(), K).narrow
    n = case().network
    dense = 6 * 8192 * (n.matmul - n.vocab * n.hidden) / rate
    assert narrow - wide == pytest.approx(dense * 50 * (1 / 4096 + 1 / 8192))


def test_a_state_space_layer_moves_36_hidden_vectors_forward_and_twice_as_many_back():
    c = case()
    scans = replace(c, network=replace(c.network, window=64, local_layers=10))
    windows = replace(c, network=replace(c.network, window=65, local_layers=10))
    moved = 8192 * 3 * 2 * 36 * 4096 * 10 * K.eager_passes / HBM
    assert micro_batch_time(scans, K).layers - micro_batch_time(windows, K).layers == pytest.approx(moved, rel=0.02)


def test_a_tile_has_256_columns():
    assert tile_padding(2304) == 1
    assert tile_padding(2305) == pytest.approx((2560 / 2305) ** (2 / 3))


def test_an_update_reads_and_writes_states_and_moves_gradient_and_weight_once():
    """30 bytes with a master copy of a 16-bit weight; 28 if the weight is the master copy."""
    kept, c = replace(case(), weight_bytes=2.0, optimizer_bytes=12.0), case()
    shard = c.network.trunk / 8
    assert step_seconds(kept, K).optimizer == pytest.approx(shard * 30 / HBM)
    assert step_seconds(c, K).optimizer == pytest.approx(shard * 28 / HBM)
    away = step_seconds(replace(c, offload_optimizer=1.0), K)
    assert away.optimizer == pytest.approx(shard * 28 / 25e9)
    assert away.offload == pytest.approx(shard * (4 + 2) / 50e9)


def test_stage_traffic_is_half_exposed_and_ring_traffic_a_third():
    piped = step_seconds(case(layout={"shard": "none", "pipeline": 4}), K)
    assert piped.pipeline_exposed == pytest.approx(0.5 * piped.pipeline_total)
    ringed = step_seconds(case(layout={"context": 4}), K)
    assert ringed.context_exposed == pytest.approx(0.3 * ringed.context_total)


def test_gradient_traffic_overlaps_with_the_last_backward_pass():
    """On a network so slow that overlap hides only the compute time."""
    c = case(layout={"shard": "zero1"})
    slow = replace(c, links=replace(c.links, scale_up_bytes_per_s=1e8))
    terms = step_seconds(slow, K)
    one = micro_batch_time(slow, K).layers + micro_batch_time(slow, K).head
    assert terms.data_total - terms.data_exposed == pytest.approx(K.data_hidden * 2 / 3 * one)


def test_virtual_stages_overlap_gradients_with_the_last_micro_batches():
    layout = {"shard": "zero1", "pipeline": 4, "data": 2}
    one, two = (case(layout=layout | {"virtual": v}, micro_batch=1) for v in (1, 2))
    slow = replace(one.links, scale_up_bytes_per_s=1e10)
    plain, virtual = (step_seconds(replace(c, links=slow), K) for c in (one, two))
    assert virtual.data_exposed < plain.data_exposed


def test_each_doubling_of_nodes_adds_one_straggler_share():
    calm = replace(K, straggler=0.0)
    for count, doublings in ((8, 0), (16, 1), (64, 3)):
        c = case(count=count)
        assert step_seconds(c, K).total / step_seconds(c, calm).total == pytest.approx(1 + doublings * K.straggler)


def test_recomputing_every_second_product_is_half_a_forward_pass_of_them():
    selective, full = (micro_batch_time(case(recompute=r), K).recompute for r in ("selective", "full"))
    assert 0.3 < selective / full < 0.5
    assert micro_batch_time(replace(case(recompute="selective"), engine="megatron"), K).recompute == 0


def test_tuned_kernels_apply_from_their_generation_on():
    h100, a100 = (case(hardware={"accelerator": a, "count": 8}, engine={"name": "Megatron-LM"}) for a in ("H100-80GB", "A100-80GB"))
    for c, gain in ((h100, K.tuned_gain), (a100, 1.0)):
        assert sustained_rates(c, K).matrix == pytest.approx(sustained_rates(replace(c, engine="fsdp"), K).matrix * gain)


def test_narrow_heads_slow_attention():
    a100 = case(hardware={"accelerator": "A100-80GB", "count": 8})
    assert sustained_rates(a100, K).attention == pytest.approx(312e12 * a100.chip.sustained_share * K.attention_share)
    c = case()
    narrow = replace(c, network=replace(c.network, head_dim=64, heads=64))
    assert sustained_rates(narrow, K).attention == pytest.approx(sustained_rates(c, K).attention * (64 / 96) / (128 / 160))
    assert np.all(sustained_rates(c, K).narrow == sustained_rates(c, K).matrix)


@pytest.mark.parametrize(("width", "flash", "slower"), [(100, 0.0, True), (100, 1.0, False), (104, 0.0, False)])
def test_heads_that_are_no_multiple_of_8_wide_are_a_quarter_slower_without_flash_attention(width, flash, slower):
    free = replace(K, layer_s=0.0, launch_s=0.0, fused_passes=1e-9, eager_passes=1e-9, operand_passes=0.0)
    c = replace(case(), flash=flash, network=replace(case().network, head_dim=width))
    aligned = replace(c, network=replace(c.network, head_dim=width - width % 8))
    ratio = micro_batch_time(c, free).layers / micro_batch_time(aligned, free).layers
    assert bool(ratio > 1.15) is slower
    assert ratio < 1.3


def test_attention_of_slow_matrices_is_no_faster_than_their_products():
    """The ratio of attention to matrix rate on newer accelerators, extrapolated to a P100, must not exceed the matrix rate."""
    chip = replace(case().chip, base_peak_flops=21e12, peak_flops=21e12)
    found = sustained_rates(replace(case(), chip=chip), K)
    assert float(found.attention) <= float(found.matrix) * 1.0001


def test_blackwell_ultra_computes_attention_twice_as_fast():
    older, newer = (sustained_rates(case(hardware={"accelerator": name, "count": 8}), K) for name in ("GB200", "GB300"))
    share = {name: case(hardware={"accelerator": name, "count": 8}).chip.sustained_share for name in ("GB200", "GB300")}
    assert newer.attention / older.attention == pytest.approx(2 * share["GB300"] / share["GB200"])


def test_fp4_operands_are_cast_in_several_passes():
    c = case(hardware={"accelerator": "GB200", "count": 8}, numbers="fp4")
    once = replace_constant(K, "fp4_cast_passes", 1.0)
    assert micro_batch_time(c, K).layers > 1.02 * micro_batch_time(c, once).layers
    eight = replace(c, numbers="fp8")
    assert micro_batch_time(eight, K).layers == micro_batch_time(eight, once).layers


def replace_constant(k: StepCoefficients, name: str, value: float) -> StepCoefficients:
    return type("Form", (StepCoefficients,), {name: value})()
