"""Rows in the notation of other publications: names, formats, shards and sizes that no row of the repository has."""

import pytest
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.dataset.columns.architecture import row_architecture
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.serving import serving_config
from rackwright.estimator.dataset.columns.training import row_recompute, training_config
from rackwright.estimator.model.from_architecture import count_parameters

SMALL = {"row_id": "X1", "model": "Some-8B", "params_b": "8", "layers": "32", "hidden": "4096", "heads": "32", "kv_heads": "8",
         "hardware": "H100", "accel_count": "8", "seq_len": "4096", "micro_batch": "1"}  # fmt: skip


def row(csv: str, **cells: str) -> PrintedRow:
    return PrintedRow(csv, 2, SMALL | cells)


@pytest.mark.parametrize(
    ("printed", "name", "gib"),
    [("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB SXM5", 80), ("8x H100", "NVIDIA H100 80GB SXM5", 80), ("8xA100-80GB",
     "NVIDIA A100 80GB SXM4", 80),
     ("8×H100", "NVIDIA H100 80GB SXM5", 80), ("H100x8", "NVIDIA H100 80GB SXM5", 80), ("Hopper H100", "NVIDIA H100 80GB SXM5", 80),
     ("H100 (PCIe)", "NVIDIA H100 80GB PCIe", 74.5), ("A100-PCIE-40GB", "NVIDIA A100 40GB PCIe", 40), ("A100-40",
     "NVIDIA A100 40GB SXM4", 40),
     ("A100 40 GB", "NVIDIA A100 40GB SXM4", 40), ("A100 (64GB custom)", "NVIDIA A100 80GB SXM4", 64), ("V100-16G",
     "NVIDIA V100 SXM2 16GB", 16),
     ("Intel Gaudi 3", "Intel Gaudi3", 119.2), ("Trainium 2", "AWS Trainium2", 96), ("TPUv4", "TPU v4", 32), ("TPU v5 lite", "TPU v5e", 16),
     ("Cloud TPU v4-128", "TPU v4", 32), ("Blackwell B200", "NVIDIA B200 SXM", 179), ("L40", "NVIDIA L40", 44.7), ("MI210",
     "AMD Instinct MI210", 64),
     ("GeForce RTX 4070 Ti", "NVIDIA GeForce RTX 4070 Ti", 12), ("RTX 4090 24GB", "NVIDIA GeForce RTX 4090", 24), ("H20-3e",
     "NVIDIA H20 141GB", 141),
     ("RTX4090 (A100 with capped memory)", "NVIDIA GeForce RTX 4090", 24)],
)  # fmt: skip
def test_accelerators_are_found_by_every_published_spelling(printed, name, gib):
    found = accelerators.find(printed)
    assert found.name == name
    assert found.memory_bytes / 2**30 == pytest.approx(gib, rel=0.01)


@pytest.mark.parametrize("printed", ["Xeon", "TPU v4i", "A100X", "M2 Ultra", "", "8x"])
def test_an_unknown_accelerator_matches_no_other(printed):
    with pytest.raises(accelerators.UnknownAccelerator):
        accelerators.find(printed)


@pytest.mark.parametrize(
    ("said", "found"),
    [("FULL_SHARD", "fsdp"), ("HYBRID_SHARD", "hsdp"), ("SHARD_GRAD_OP", "zero2"), ("ZeRO3", "zero3"), ("zero stage 3", "zero3"),
     ("ZeRO Stage-2", "zero2"), ("distributed optimizer", "zero1"), ("Fully Sharded Data Parallel", "fsdp")],
)  # fmt: skip
def test_shards(said, found):
    assert training_config(row("training_memory", shard=said))[0].layout.shard == found


@pytest.mark.parametrize(
    ("said", "found"),
    [("off", "none"), ("False", "none"), ("no", "none"), ("disabled", "none"), ("True", "full"), ("gradient checkpointing", "full"),
     ("activation checkpointing", "full"), ("selective activation checkpointing", "selective")],
)  # fmt: skip
def test_recompute(said, found):
    assert row_recompute(row("training_memory", recompute=said)) == found


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [({"precision": "w4a16"}, "int4"), ({"precision": "W8A8"}, "int8"), ({"precision": "fp8 w8a8"}, "fp8"), ({"precision": "Q4_K_M"},
     "int4"),
     ({"precision": "FP8 (E4M3)"}, "fp8"), ({"precision": "mxfp4"}, "fp4"), ({"precision": "int4-awq"}, "int4"), ({"precision": "auto"},
     "bf16"),
     ({"precision": "bf16", "quantization": "w4a16 marlin"}, "int4")],
)  # fmt: skip
def test_weight_format_of_a_serving_row(cells, numbers):
    assert serving_config(row("inference_throughput", **cells))[0].weight_numbers == numbers


def test_a_memory_share_may_be_in_percent():
    assert serving_config(row("inference_memory", gpu_memory_utilization="90"))[0].memory_share == 0.9


def test_a_row_without_engine_uses_the_defaults_of_servers():
    assert engine_family(serving_config(row("inference_throughput"))[0].engine.name, "serve").family == "other"


@pytest.mark.parametrize(
    ("cells", "kind"),
    [({"method": "sft", "peft_type": "LoRA"}, "lora"), ({"method": "QLoRA", "peft_type": ""}, "qlora"), ({"method": "dpo-lora"}, "lora"),
     ({"method": "sft", "peft_type": "QLoRA r64"}, "qlora"), ({"method": "sft", "peft_type": "full"}, None)],
)  # fmt: skip
def test_adapters_by_method_or_kind(cells, kind):
    adapter = training_config(row("finetune_memory", **cells))[0].adapter
    assert (adapter and adapter.type) == kind


@pytest.mark.parametrize(
    ("cells", "billions"),
    [
        ({"model": "Falcon", "layers": "60", "hidden": "8192", "heads": "128", "kv_heads": "8", "head_dim": "64", "ffn": "32768",
        "vocab": "65024"},
         41.8),
        ({"model": "StarCoder2", "layers": "40", "hidden": "6144", "heads": "48", "kv_heads": "4", "head_dim": "128", "ffn": "24576",
          "vocab": "49152"}, 16.0),
        ({"model": "Command-R", "layers": "40", "hidden": "8192", "heads": "64", "kv_heads": "64", "head_dim": "128", "ffn": "22528",
          "vocab": "256000"}, 35.0),
        ({"model": "OLMoE-1B-7B", "layers": "16", "hidden": "2048", "heads": "16", "kv_heads": "16", "n_experts": "64", "top_k": "8",
          "moe_ffn": "1024", "ffn": "", "vocab": "50304"}, 6.9),
        ({"model": "Hunyuan", "active_params_b": "52", "layers": "64", "hidden": "6400", "heads": "80", "kv_heads": "8", "n_experts": "16",
          "top_k": "1", "moe_ffn": "18304", "ffn": "18304", "vocab": "128512"}, 389.0),
        ({"model": "Jamba-1.5-Mini", "layers": "32", "hidden": "4096", "heads": "32", "kv_heads": "8", "n_experts": "16", "top_k": "2",
          "moe_ffn": "14336", "ffn": "14336", "vocab": "65536"}, 51.6),
    ],
)  # fmt: skip
def test_sizes_of_models_without_a_published_total(cells, billions):
    found = row_architecture(PrintedRow("x", 2, {"row_id": "X1", **cells}))
    assert count_parameters(found.architecture).total / 1e9 == pytest.approx(billions, rel=0.12)
