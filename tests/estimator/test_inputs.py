"""Every field of a training configuration changes the estimate in the physical direction, or is refused with its path."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.config.configuration import AdapterConfig, EngineConfig, HardwareConfig, TrainingConfig, TrainingLayout
from rackwright.estimator.estimate import estimate

from tests.estimator.configs import training_data

H100 = {"accelerator": "H100-80GB", "count": 64}
MEGATRON = {"engine": {"name": "Megatron-Bridge"}, "hardware": H100, "global_batch": 256}
LARGE = {**MEGATRON, "model": "llama-3.1-70b", "layout": {"tensor": 8}}
PIPED = {**LARGE, "layout": {"tensor": 4, "pipeline": 8}}
EXPERTS = {**MEGATRON, "model": "qwen3-30b-a3b", "layout": {"expert": 8}}
SPLIT_EXPERTS = {**EXPERTS, "layout": {"tensor": 4}}
LORA = {"engine": {"name": "hf"}, "adapter": {"type": "lora", "targets": "qv"}, "global_batch": 64}
NF4 = {**LORA, "adapter": {"type": "qlora", "targets": "qv"}, "base_numbers": "nf4"}
SOFT = {**LORA, "adapter": {"type": "prompt", "virtual_tokens": 20}}
PADDED = {**LORA, "packed": False, "mean_length": 1000, "micro_batch": 4}
FULL = {**MEGATRON, "recompute": "full"}
RUN = {"tokens": 1e12}
PODS = {"engine": {"name": "maxtext"}, "hardware": {"accelerator": "TPU v5p", "count": 64}, "layout": {"shard": "fsdp"}, "global_batch": 64}


def h100(**said):
    return {"hardware": {**H100, **said}}


def w(base, **said):
    return {"layout": {**base["layout"], **said}}


FEELS = {
    "step": lambda e: e.step_s.p50,
    "rate": lambda e: e.tokens_per_s.p50,
    "each": lambda e: e.tokens_per_s_per_accelerator.p50,
    "samples": lambda e: e.samples_per_s.p50,
    "run": lambda e: e.time_to_train_s.p50,
    "peak": lambda e: e.peak_memory_bytes.p50,
    "weights": lambda e: e.memory.weights,
    "gradients": lambda e: e.memory.gradients,
    "optimizer": lambda e: e.memory.optimizer,
    "activations": lambda e: e.memory.activations,
    "head": lambda e: e.memory.head,
    "update": lambda e: e.step.optimizer,
    "again": lambda e: e.step.recompute,
    "bubble": lambda e: e.step.bubble,
    "offload": lambda e: e.step.offload,
    "tensor": lambda e: e.step.tensor_total,
    "context": lambda e: e.step.context_total,
    "expert": lambda e: e.step.expert_total,
    "data": lambda e: e.step.data_total,
    "capacity": lambda e: e.capacity_bytes,
    "largest": lambda e: e.largest_micro_batch,
    "longest": lambda e: e.largest_context,
}
"""Of an estimate, by a short name."""

CASES = [
    ("model", {}, {"model": "llama-3.2-1b"}, "weights- step- rate+ peak-"),
    ("hardware.accelerator", {}, {"hardware": {"accelerator": "B200", "count": 8}}, "step- capacity+ largest+"),
    ("hardware.count", MEGATRON, {"hardware": {**H100, "count": 128}}, "step- rate+ each- optimizer-"),
    ("hardware.per_node", {**MEGATRON, "layout": {"shard": "zero1"}}, h100(per_node=4), "data+"),
    ("hardware.memory_gib", {}, {"hardware": {"accelerator": "H100-80GB", "count": 8, "memory_gib": 60}}, "capacity- longest- step="),
    ("hardware.power_watts", MEGATRON, h100(power_watts=500), "step+ peak="),
    ("hardware.scale_up_gb_s", LARGE, h100(scale_up_gb_s=100), "tensor+ step+"),
    ("hardware.scale_up_domain", LARGE, h100(scale_up_domain=4), "tensor+ step+"),
    ("hardware.scale_out_gb_s", MEGATRON, h100(scale_out_gb_s=10), "data+ step+"),
    ("hardware.slices", PODS, {"hardware": {**PODS["hardware"], "slices": 2}}, "data+ step+"),
    ("engine.name", MEGATRON, {"engine": {"name": "torchtitan"}}, "weights- optimizer- step+"),
    ("engine.release", EXPERTS, {"engine": {"name": "Megatron-Bridge", "release": "2025-06"}}, "step+ peak="),
    ("engine.compiled", {}, {"engine": {"name": "torchtitan", "compiled": True}}, "step- activations-"),
    ("engine.attention", {"recompute": "none"}, {"engine": {"name": "torchtitan", "attention": "eager"}}, "step+ peak+"),
    ("engine.loss", {}, {"engine": {"name": "torchtitan", "loss": "fused"}}, "step- peak-"),
    ("sequence", {}, {"sequence": 16384}, "step+ activations+ rate-"),
    ("micro_batch", {}, {"micro_batch": 2}, "activations+ step-"),
    ("global_batch", {}, {"global_batch": 32}, "step+ rate+ peak="),
    ("micro_batches", {"global_batch": None, "micro_batches": 2}, {"micro_batches": 4}, "step+ rate+ peak="),
    ("packed", {**LORA, "micro_batch": 4}, PADDED, "rate- samples+ step-"),
    ("mean_length", PADDED, {"mean_length": 6000}, "rate+ samples- step+"),
    ("recompute", MEGATRON, {"recompute": "full"}, "step+ again+ activations-"),
    ("recompute_share", FULL, {"recompute_share": 0.5}, "step- again- activations+"),
    ("offload", MEGATRON, {"offload": ["optimizer"]}, "optimizer- offload+ update+ step+"),
    ("offload", FULL, {"offload": ["activations"]}, "activations- offload+"),
    ("offload", {}, {"offload": ["parameters"]}, "weights- offload+"),
    ("numbers", MEGATRON, {"numbers": "fp8"}, "step- peak="),
    ("numbers", MEGATRON, {"numbers": "tf32"}, "step+ activations+"),
    ("numbers", MEGATRON, {"numbers": "fp32"}, "step+ activations+"),
    ("weight_numbers", MEGATRON, {"weight_numbers": "fp32"}, "weights+ optimizer-"),
    ("weight_numbers", MEGATRON, {"weight_numbers": "fp8"}, "weights- optimizer="),
    ("gradient_numbers", MEGATRON, {"gradient_numbers": "bf16"}, "gradients- data- peak-"),
    ("optimizer", MEGATRON, {"optimizer": "adamw-8bit"}, "optimizer- update-"),
    ("optimizer", MEGATRON, {"optimizer": "adamw-bf16"}, "optimizer- update-"),
    ("optimizer", MEGATRON, {"optimizer": "sgd"}, "optimizer- update-"),
    ("optimizer", MEGATRON, {"optimizer": "muon"}, "optimizer- update-"),
    ("optimizer_in_backward", {"engine": {"name": "torchtune"}}, {"optimizer_in_backward": True}, "gradients-"),
    ("base_numbers", LORA, {"base_numbers": "nf4"}, "weights- step+"),
    ("base_numbers", LORA, {"base_numbers": "int8"}, "weights- step+"),
    ("double_quantised", NF4, {"double_quantised": False}, "weights+ step="),
    ("adapter", {"engine": {"name": "hf"}, "global_batch": 64}, {"adapter": {"type": "lora"}}, "step- gradients- optimizer-"),
    ("adapter.type", NF4, {"adapter": {"type": "lora", "targets": "qv"}, "base_numbers": None}, "weights+ step-"),
    ("adapter.rank", LORA, {"adapter": {"type": "lora", "targets": "qv", "rank": 256}}, "weights+ gradients+ optimizer+"),
    ("adapter.targets", LORA, {"adapter": {"type": "lora", "targets": "all-linear"}}, "optimizer+ activations+"),
    ("adapter.targets", LORA, {"adapter": {"type": "lora", "targets": "q,k,v"}}, "optimizer+"),
    ("adapter.virtual_tokens", SOFT, {"adapter": {"type": "prompt", "virtual_tokens": 2000}}, "activations+ step+"),
    ("adapter.parameters", LORA, {"adapter": {"type": "lora", "targets": "qv", "parameters": 1e9}}, "optimizer+ weights+"),
    ("routing", EXPERTS, {"routing": "real"}, "step+ activations+ expert+"),
    ("tokens", RUN, {"tokens": 2e12}, "run+ step="),
    ("evaluations", RUN, {"evaluations": 100}, "run+ step="),
    ("layout.tensor", LARGE, w(LARGE, tensor=4), "tensor- weights+"),
    ("layout.tensor", {**LARGE, "hardware": {**H100, "scale_up_domain": 8}}, w(LARGE, tensor=16), "tensor+ step+"),
    ("layout.pipeline", LARGE, w(LARGE, pipeline=2), "weights- bubble+"),
    ("layout.pipeline", {**PIPED, "global_batch": 8}, {"global_batch": 64}, "rate+"),
    ("layout.virtual", PIPED, w(PIPED, virtual=2), "bubble- activations+"),
    ("layout.context", LARGE, {"layout": {"tensor": 8, "context": 2}}, "context+ activations-"),
    ("layout.context", {**LARGE, "layout": {"tensor": 4, "context": 2}}, {"layout": {"tensor": 4, "context": 8}}, "context+ step+"),
    ("layout.expert", EXPERTS, w(EXPERTS, expert=64), "expert+ weights-"),
    ("layout.expert", EXPERTS, w(EXPERTS, expert=1), "expert- weights+"),
    ("layout.expert_tensor", {**EXPERTS, "layout": {"tensor": 4, "expert": 8}}, {"layout": {"tensor": 4, "expert": 8, "expert_tensor": 2}},
     "weights-"),
    ("layout.expert_tensor", SPLIT_EXPERTS, w(SPLIT_EXPERTS, expert_tensor=1), "weights+"),
    ("layout.data", {}, {"layout": {"data": 8}}, "step= peak="),
    ("layout.sequence_parallel", LARGE, w(LARGE, sequence_parallel=False), "activations+ step+"),
    ("layout.shard", LARGE, w(LARGE, shard="none"), "optimizer+ peak+"),
    ("layout.shard", LARGE, w(LARGE, shard="zero2"), "gradients-"),
    ("layout.shard", LARGE, w(LARGE, shard="zero3"), "weights- data+"),
    ("layout.shard", {**MEGATRON, "layout": {"shard": "fsdp"}}, {"layout": {"shard": "hsdp"}}, "weights+ data-"),
    ("layout.shard_group", {**MEGATRON, "layout": {"shard": "hsdp"}}, {"layout": {"shard": "hsdp", "shard_group": 16}}, "weights- data+"),
    ("layout.schedule", PIPED, w(PIPED, schedule="zero-bubble"), "bubble- step- weights="),
    ("layout.schedule", PIPED, w(PIPED, schedule="dualpipe"), "bubble- step- weights+ activations+"),
    ("layout.schedule", PIPED, w(PIPED, schedule="interleaved", virtual=2), "bubble- activations+"),
]  # fmt: skip
"""Field, what both have in common, what is changed, and the directions that follow."""

REFUSED = [
    ("layout.schedule", {"layout": {"schedule": "zero-bubble"}}),
    ("layout.virtual", {"layout": {"pipeline": 2, "virtual": 2, "schedule": "dualpipe"}}),
    ("layout.pipeline", {**LARGE, "hardware": {**H100, "count": 120}, "layout": {"tensor": 8, "pipeline": 5, "schedule": "dualpipe"}}),
    ("layout.schedule", {**LORA, "layout": {"pipeline": 2, "schedule": "zero-bubble"}}),
    ("offload", {**MEGATRON, "offload": ["parameters"]}),
    ("packed", {**LORA, "packed": False}),
    ("mean_length", {**LORA, "mean_length": 1000}),
    ("recompute_share", {"recompute": "none", "recompute_share": 0.5}),
    ("evaluations", {"evaluations": 10}),
    ("gradient_numbers", {**LORA, "gradient_numbers": "bf16"}),
    ("weight_numbers", {**LORA, "weight_numbers": "fp8"}),
    ("base_numbers", {"base_numbers": "nf4"}),
    ("layout.pipeline", {**PODS, "layout": {"pipeline": 2}}),
    ("offload", {**PODS, "offload": ["optimizer"]}),
    ("hardware.slices", {"hardware": {"accelerator": "H100-80GB", "count": 8, "slices": 2}}),
]


@pytest.mark.parametrize(("field", "base", "changed", "says"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_a_field_changes_the_estimate_in_the_right_direction(field, base, changed, says):
    before, after = estimate(training_data(**base)), estimate(training_data(**{**base, **changed}))
    for word in says.split():
        old, new = (FEELS[word[:-1]](e) for e in (before, after))
        if word[-1] == "=":
            assert new == pytest.approx(old, rel=1e-9), (word, old, new)
        else:
            assert (new > old * (1 + 1e-9)) if word[-1] == "+" else (new < old * (1 - 1e-9)), (word, old, new)


@pytest.mark.parametrize(("path", "data"), REFUSED, ids=[f"{i}-{path}" for i, (path, _) in enumerate(REFUSED)])
def test_conflicting_and_ignored_fields_are_refused_with_their_path(path, data):
    with pytest.raises(UserError) as refused:
        estimate(training_data(**data))
    assert path in {str(p.at) for p in refused.value.problems}


def test_every_field_has_a_case():
    parts = {"hardware": HardwareConfig, "engine": EngineConfig, "layout": TrainingLayout}
    fields = {f"{name}.{f}" for name, model in (*parts.items(), ("adapter", AdapterConfig)) for f in model.model_fields}
    fields |= set(TrainingConfig.model_fields) - {*parts, "kind", "id"}
    assert fields - {case[0] for case in CASES} == set()


@pytest.mark.parametrize(("changed", "said"), [
    ({"layout": {"shard": "hsdp"}}, "--num-distributed-optimizer-instances 8"),
    ({"layout": {"shard": "zero3"}}, "--data-parallel-sharding-strategy optim_grads_params --ckpt-format fsdp_dtensor"),
    ({"layout": {"shard": "zero3"}}, "--use-distributed-optimizer --no-gradient-accumulation-fusion"),
    ({"layout": {"shard": "zero2"}}, "--data-parallel-sharding-strategy optim_grads "),
    ({"offload": ["activations"]}, "--fine-grained-activation-offloading --offload-modules attn_norm core_attn attn_proj mlp_norm"),
    ({"offload": ["optimizer"]}, "--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d --use-precision-aware-optimizer"),
])  # fmt: skip
def test_megatron_flags_are_complete_for_each_option(changed, said):
    assert said in estimate(training_data(**MEGATRON, **changed)).launch["megatron"]


def test_a_schedule_that_megatron_lacks_has_no_megatron_command():
    assert set(estimate(training_data(**{**PIPED, **w(PIPED, schedule="dualpipe")})).launch) == {"torchrun"}
