from dataclasses import fields, replace

import numpy as np
import pytest
from rackwright.estimator.calibration.coefficients import PRIOR_ONLY, calibration
from rackwright.estimator.case import TrainingCase, stack_cases
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.resolve import training_case
from rackwright.estimator.dataset import runs as rows
from rackwright.estimator.training.kernels import expert_input_width, micro_batch_time, tile_padding
from rackwright.estimator.training.step import MODELS, StepCoefficients, residual_classes, step_seconds, tokens_per_s_per_accelerator
from rackwright.estimator.training.sustained_rates import software_slowdown, sustained_rates

K = StepCoefficients()
BASE = {
    "model": "llama-3.1-8b", "hardware": {"accelerator": "H100-80GB", "count": 8}, "engine": {"name": "torchtitan"},
    "sequence": 4096, "micro_batch": 2, "global_batch": 64,
}  # fmt: skip


def case(chip: str = "H100-80GB", count: int = 8, layout: dict | None = None, **more) -> TrainingCase:
    changed = {"hardware": {"accelerator": chip, "count": count}, "layout": layout or {}}
    return training_case(TrainingConfig.model_validate(BASE | changed | more), checked=False)


def seconds(c: TrainingCase) -> float:
    return float(step_seconds(c, K).total)


def rate(c: TrainingCase) -> float:
    return float(tokens_per_s_per_accelerator(c, K))


@pytest.mark.parametrize(
    ("row_id", "within"),
    [("TT0012", 0.1), ("TT0096", 0.1), ("TT0461", 0.12), ("TT0646", 0.12), ("TT0482", 0.12), ("TT0304", 0.2), ("TT0318", 0.15)],
)
def test_priors_predict_published_runs(row_id, within):
    """MPT-7B on H100 and A100, GPT-3 175B and BLOOM on A100, Llama 2 70B under FSDP, Llama 3 in FP8 on GB200 and H100."""
    run = next(r for r in rows.scored_runs("tokens_per_s_per_accel") if r.row_id == row_id)
    assert rate(run.case) == pytest.approx(run.measured, rel=within)


def test_priors_alone_are_half_the_error_of_a_median_utilisation():
    """A table of medians by accelerator, format and kind has an error of 26 % (sizing.md section 1)."""
    runs = rows.runs_of_model(MODELS[0])
    missed = np.abs(MODELS[0].predict(stack_cases([r.case for r in runs]), K) / [r.measured for r in runs] - 1)
    assert len(runs) == 506
    assert missed.mean() < 0.15


def test_one_accelerator_does_not_communicate():
    terms = step_seconds(case(count=1, layout={"shard": "fsdp"}), K)
    assert all(getattr(terms, f.name) == 0 for f in fields(terms) if f.name.endswith(("_exposed", "_total")))
    assert terms.bubble == pytest.approx(0, abs=1e-12)


def test_terms_sum_to_the_step_and_none_is_negative():
    c = case(count=64, model="llama-3.1-70b", layout={"tensor": 4, "pipeline": 4, "virtual": 5, "context": 2}, recompute="full")
    terms = step_seconds(c, K)
    values = {f.name: float(getattr(terms, f.name)) for f in fields(terms)}
    assert all(value >= 0 for value in values.values())
    assert sum(v for name, v in values.items() if not name.endswith("_total")) == pytest.approx(seconds(c))
    for name in ("tensor", "context", "expert", "pipeline"):
        assert values[f"{name}_exposed"] <= values[f"{name}_total"]


@pytest.mark.parametrize("part", ["chip.bandwidth_bytes_per_s", "links.scale_up_bytes_per_s", "links.scale_out_bytes_per_s"])
def test_more_bandwidth_never_slows_a_step(part):
    owner, name = part.split(".")
    for layout in ({"shard": "fsdp"}, {"tensor": 8}, {"tensor": 2, "pipeline": 4}, {"context": 8}):
        c = case(count=64, model="llama-3.1-70b", layout=layout)
        whole = getattr(c, owner)
        assert seconds(replace(c, **{owner: replace(whole, **{name: 1.5 * getattr(whole, name)})})) <= seconds(c)


def test_utilization_never_exceeds_the_roofline():
    for chip in ("T4", "L4", "A100-80GB", "H100-80GB", "B200", "MI300X"):
        for numbers in ("bf16", "fp8"):
            c = case(chip, numbers=numbers)
            assert 0.1 < rate(c) * 6 * c.network.matmul / c.chip.peak_flops < 0.8


def test_the_bubble_is_the_share_of_idle_stages_over_virtual_stages():
    """(p - 1) / (v m), arXiv 2104.04473, plus the head, which only the last stage has."""
    plain, virtual = (
        step_seconds(case(count=4, global_batch=32, micro_batch=1, layout={"pipeline": 4, "virtual": v, "data": 1}), K) for v in (1, 4)
    )
    c = case(count=4, global_batch=32, micro_batch=1, layout={"pipeline": 4, "data": 1})
    headless = replace(c, network=replace(c.network, vocab=0))
    share = step_seconds(headless, K)
    assert share.bubble / share.compute == pytest.approx(3 / 32, rel=0.01)
    assert virtual.bubble < plain.bubble


def test_the_stage_with_the_head_is_slowest_unless_it_has_fewer_layers():
    """BLOOM's 70 layers on 12 stages run faster per layer than 72: the head takes as long as 1.5 layers."""
    whole, spare = (next(r for r in rows.row_readings() if r.row.id == i).case for i in ("TT0594", "TT0646"))
    each = [rate(c) * c.network.layers for c in (whole, spare)]
    assert each[1] > 1.05 * each[0]


def test_full_recompute_costs_a_forward_pass_at_most():
    none, full = case(), case(recompute="full")
    assert 1.2 < seconds(full) / seconds(none) < 4 / 3 + 0.01


def test_narrow_formats_speed_up_matrix_products_only():
    """Attention stays in 16 bit: MPT-3B gains 31 % from FP8 at 512 tokens and nothing at 32,768 (TT0074, TT0071)."""
    gain = {s: rate(case(sequence=s, micro_batch=8, numbers="fp8")) / rate(case(sequence=s, micro_batch=8)) for s in (512, 65536)}
    assert gain[65536] < 1.15 < 1.2 < gain[512] < 2


def test_scales_finer_than_tensor_cores_support_cost_their_gain():
    """torchtitan's row-wise FP8 on H100 (TT0504, TT0506)."""
    assert rate(case(numbers="mxfp8")) < 0.9 * rate(case(numbers="fp8"))
    assert rate(case("B200", numbers="mxfp8")) == rate(case("B200", numbers="fp8"))


def test_a_power_cap_slows_matrix_products():
    capped, free = case("H100-96GB-500W"), case("H100-96GB-500W")
    assert sustained_rates(capped, K).matrix < sustained_rates(replace(free, chip=replace(free.chip, power_share=1.0)), K).matrix


def test_doubling_replicas_at_a_fixed_batch_saves_time():
    one, two = case(layout={"shard": "fsdp"}), case(count=16, layout={"shard": "fsdp"})
    assert one.step_tokens == two.step_tokens
    assert seconds(one) / 2 < seconds(two) < seconds(one)


def test_more_nodes_add_straggler_time():
    small, large = (case(count=n, global_batch=8 * n, layout={"shard": "fsdp"}) for n in (64, 1024))
    assert 0.85 < rate(large) / rate(small) < 1


def test_stored_attention_scores_cost_time_in_old_releases():
    c = case("A100-80GB", sequence=8192)
    kept = seconds(replace(c, flash=0.0))
    assert kept > 1.1 * seconds(c)
    assert seconds(replace(c, released=2022.0)) == kept


def test_tuned_attention_kernels_reach_every_trainer_by_year():
    speeds = {
        (e, y): float(sustained_rates(replace(case(), engine=e, released=y), K).attention)
        for e in ("hf", "megatron")
        for y in (2024.0, 2025.5, 0.0)
    }
    assert speeds["hf", 2024.0] < speeds["hf", 2025.5] == speeds["hf", 0.0] == speeds["megatron", 2024.0]


def test_fused_losses_and_kernels_save_time():
    c = case()
    assert seconds(replace(c, fused_loss=1.0)) < seconds(c)
    assert seconds(replace(c, compiled=1.0)) < seconds(c)


def test_adapters_skip_the_gradients_of_frozen_weights():
    full, lora = case(), case(adapter={"type": "lora"})
    qlora = case(adapter={"type": "qlora"}, base_numbers="nf4")
    assert 0.6 < seconds(replace(lora, adapter_inputs=0.0, trainable=0.0)) / seconds(full) < 0.75
    assert seconds(lora) < 0.95 * seconds(full)
    assert seconds(lora) < seconds(qlora) < seconds(full)


def test_offload_adds_transfer_time():
    stay, away = case(), replace(case(), offload_optimizer=1.0)
    assert step_seconds(away, K).offload > 0 == step_seconds(stay, K).offload
    assert step_seconds(away, K).optimizer > step_seconds(stay, K).optimizer
    assert step_seconds(replace(case(), offload_activations=1.0), K).offload > 0


def test_experts_cost_dispatch_narrow_products_and_network_traffic():
    base = {"model": "qwen3-30b-a3b", "engine": {"name": "Megatron-Bridge"}, "micro_batch": 1}
    near, far = (case(count=64, global_batch=256, layout={"expert": e}, **base) for e in (8, 64))
    assert step_seconds(far, K).expert_total > 3 * step_seconds(near, K).expert_total > 0
    dense = case(model="llama-3.1-8b", engine={"name": "Megatron-Bridge"}, micro_batch=1, count=64, global_batch=256)
    mfu = [rate(c) * 6 * c.network.matmul / c.chip.peak_flops for c in (near, dense)]
    assert mfu[0] < 0.7 * mfu[1]
    uneven = replace(near, moe_imbalance=1.3)
    assert seconds(near) < seconds(uneven) < 1.3 * seconds(near)


def test_expert_software_gets_faster_and_unknown_releases_count_as_newest():
    c = case(model="qwen3-30b-a3b", layout={"expert": 8})
    ages = [float(software_slowdown(replace(c, released=year), K)) for year in (2024.0, 2025.6, 2026.1, 2026.7, 2030.0, 0.0)]
    assert ages[0] == ages[1] == pytest.approx(np.exp(0.5))
    assert ages[1] > ages[2] > ages[3] == ages[4] == ages[5] == 1
    assert seconds(replace(c, released=2025.0)) > seconds(c)


def test_expert_input_width_follows_from_the_weights():
    assert expert_input_width(case(model="qwen3-30b-a3b").network) == pytest.approx(2048)
    assert expert_input_width(case(model="gpt-oss-120b").network) == 2880  # whose experts have biases
    assert expert_input_width(case().network) == 4096


def test_widths_are_padded_to_the_next_tile():
    assert tile_padding(2880) == pytest.approx((3072 / 2880) ** (2 / 3))
    assert tile_padding(4096) == 1


def test_tensor_parallelism_splits_work_and_adds_traffic():
    one, eight = case(count=8, layout={"data": 1}), case(count=8, layout={"tensor": 8})
    assert micro_batch_time(eight, K).layers < micro_batch_time(one, K).layers / 5
    assert step_seconds(eight, K).tensor_exposed > 0


def test_states_sharded_within_a_node_gather_faster():
    whole, node = (case(count=64, model="llama-3.1-70b", global_batch=64, micro_batch=1, layout={"shard": s}) for s in ("fsdp", "hsdp"))
    assert step_seconds(node, K).data_total < step_seconds(whole, K).data_total


def test_arrays_and_single_cases_agree():
    cases = [case(), case("B200", numbers="fp8"), case(model="qwen3-30b-a3b", layout={"expert": 8}), case(count=64, layout={"tensor": 8})]
    assert tokens_per_s_per_accelerator(stack_cases(cases), K) == pytest.approx([rate(c) for c in cases])


def test_a_hundred_thousand_layouts_are_evaluated_at_once():
    c = case(count=64, model="llama-3.1-70b", layout={"tensor": 4, "pipeline": 4})
    many = replace(c, tensor=np.full(100_000, 4.0), micro_batches=np.tile([8.0, 16.0], 50_000))
    total = step_seconds(many, K).total
    assert total.shape == (100_000,)
    assert set(total[::2]) == {step_seconds(replace(c, micro_batches=8.0), K).total}
    assert (total[1::2] > total[::2]).all()


def test_a_model_with_totals_only_has_a_step_time():
    c = case()
    bare = replace(c.network, layers=0, heads=0, head_dim=0, kv_heads=0, global_layers=0, vocab=0)
    assert 0 < seconds(replace(c, network=bare)) < seconds(c)


def test_residual_classes_exclude_work_without_measured_runs():
    assert residual_classes(case()) == ("dense", "all")
    assert residual_classes(case("B200", numbers="fp8")) == ("dense narrow", "dense", "all")
    assert residual_classes(case("B200", numbers="fp8", model="qwen3-30b-a3b")) == ("moe", "all")
    assert residual_classes(case(adapter={"type": "lora"})) == ("fine-tuning",)
    assert residual_classes(case(engine={"name": "torchtune"})) == ("fine-tuning", "all")
    for c in (case(adapter={"type": "lora"}, model="qwen3-30b-a3b"), case("T4"), case("TPU v5e")):
        assert calibration().residual("step", residual_classes(c), c.chip.evidence_group) == PRIOR_ONLY


def test_gathers_of_a_rack_leave_it_once_over_all_its_nics():
    """Llama 405B on GB200 with FSDP and TP2: the second rack once halved the rate, because each node of four sent the whole volume."""
    rates = [
        rate(case("GB200", count, model="llama-3.1-405b", layout={"tensor": 2, "shard": "fsdp"}, global_batch=count, micro_batch=2))
        for count in (64, 128)
    ]
    assert rates[1] > 0.9 * rates[0]


def test_per_matrix_gathers_inside_one_node_stay_on_the_scale_up_link():
    near = case(engine={"name": "DeepSpeed"}, layout={"shard": "zero3"})
    assert step_seconds(near, K).data_total == step_seconds(replace(near, engine="hf"), K).data_total


@pytest.mark.parametrize(("count", "micro_batch", "published"), [(384, 4, 144), (768, 2, 88), (1536, 1, 44)])
def test_per_matrix_gathers_over_many_nodes_slow_small_batches(count, micro_batch, published):
    """GPT-3 with DeepSpeed's ZeRO-3 only: hardware TFLOP/s of arXiv 2104.04473, table 2 (TT0434 to TT0436), outside the fit."""
    gpt3 = next(r for r in rows.row_readings() if r.row.id == "TT0434").config.model
    c = case("A100-80GB", count, model=gpt3, engine={"name": "DeepSpeed ZeRO-3", "release": "2021-04"}, layout={"shard": "zero3"},
             sequence=2048, micro_batch=micro_batch, global_batch=1536, recompute="full", numbers="fp16")  # fmt: skip
    n = c.network
    flops = 96 * 1536 * 2048 * n.layers * n.hidden**2 * (1 + 2048 / (6 * n.hidden) + n.vocab / (16 * n.layers * n.hidden))
    assert flops / seconds(c) / count / 1e12 == pytest.approx(published, rel=0.25)


def test_gathers_over_more_nodes_have_more_latency():
    near, far = (case(count=n, global_batch=n, micro_batch=1, layout={"shard": "fsdp"}) for n in (64, 1024))
    """3 x 32 gathers of 1,023 hops, 128 of them between nodes: 0.38 s; the bytes are the same."""
    times = [float(step_seconds(c, K).data_total) for c in (near, far)]
    assert times[1] - times[0] == pytest.approx(96 * (832 * 3e-6 + 120 * 10e-6 + 8 * 8e-6), rel=0.1)


def test_tensor_parallelism_beyond_the_scale_up_domain_is_slower():
    inside, outside = (case(count=64, model="llama-3.1-70b", layout={"tensor": t}) for t in (8, 16))
    assert step_seconds(outside, K).tensor_exposed > 4 * step_seconds(inside, K).tensor_exposed
    assert rate(outside) < 0.6 * rate(inside)


def test_few_micro_batches_increase_the_bubble():
    deep = [case(count=8, global_batch=b, micro_batch=1, layout={"pipeline": 8}) for b in (2, 8, 64)]
    times = [step_seconds(replace(c, network=replace(c.network, vocab=0)), K) for c in deep]
    assert [float(t.bubble / t.compute) for t in times] == pytest.approx([7 / 2, 7 / 8, 7 / 64], rel=0.02)


def test_schedules_with_delayed_weight_gradients_have_a_third_of_the_bubble():
    plain, split, dual = (
        case(count=8, global_batch=32, micro_batch=1, layout={"pipeline": 8, "schedule": s}) for s in ("1f1b", "zero-bubble", "dualpipe")
    )
    headless = [replace(c, network=replace(c.network, vocab=0)) for c in (plain, split, dual)]
    a, b, c = (float(step_seconds(c, K).bubble) for c in headless)
    assert b == pytest.approx(a / 3) == c
