"""Rows of diffusion_vision.csv and of encoders, converted to cases, and their measured values."""

import pytest
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.measured import measured_value
from rackwright.estimator.dataset.runs import read_row
from rackwright.estimator.sample_case import SampleCase

IMAGE = {"row_id": "V1", "hardware": "A100-80GB", "accel_count": "8", "task": "inference", "model": "ResNet-50", "image_size": "224x224",
         "batch_size": "64", "precision": "fp16", "framework": "PyTorch 2.4"}  # fmt: skip
TEXT = {
    "row_id": "E1",
    "hardware": "T4",
    "accel_count": "1",
    "model": "BERT-large",
    "isl": "128",
    "batch_size": "8",
    "framework": "PyTorch",
}


def row(csv: str = "diffusion_vision", **cells: str) -> PrintedRow:
    return PrintedRow(csv, 2, {**(IMAGE if csv == "diffusion_vision" else TEXT), **cells})


def case(csv: str = "diffusion_vision", **cells: str) -> SampleCase:
    found = read_row(row(csv, **cells))
    assert isinstance(found.case, SampleCase), found.reason
    return found.case


@pytest.mark.parametrize(
    ("cells", "batch"),
    [
        ({}, 64),
        ({"metric": "images per second, all cards; batch_size is over all cards"}, 8),
        ({"metric": "images per second over all cards; batch_size is per card"}, 64),
        ({"notes": "batch is over all NPUs"}, 8),
        ({"framework": "PyTorch detectron2", "task": "training"}, 8),
    ],
)
def test_the_batch_is_that_of_one_accelerator(cells, batch):
    assert case(**cells).batch == batch


def test_a_blank_batch_fills_the_accelerator():
    assert case(batch_size="").batch > 100
    assert case(batch_size="", model="SDXL-base-1.0", image_size="1024x1024", steps="20").batch < 10


@pytest.mark.parametrize(
    ("cells", "numbers", "engine"),
    [
        ({}, "fp16", "eager"),
        ({"compile": "torch.compile"}, "fp16", "compile"),
        ({"precision": "bf16 + int8wo"}, "fp16", "eager"),
        ({"precision": "bf16 + fp8dq"}, "fp16", "eager"),
        ({"precision": "bf16 + fp8dq", "compile": "torch.compile", "hardware": "H100-80GB"}, "fp8", "compile"),
        ({"precision": "", "framework": "TensorRT 9.0.0", "scenario": "MLPerf Offline"}, "int8", "tensorrt"),
        ({"precision": "fp32 as named (TF32 allowed)", "framework": "PyTorch, NVIDIA DeepLearningExamples"}, "tf32", "reference"),
        ({"precision": "fp32 as named (TF32 allowed)", "hardware": "V100"}, "fp32", "eager"),
        ({"precision": "fp32", "framework": "PyTorch 2.5 Neuron", "hardware": "Inferentia2"}, "bf16", "eager"),
    ],
)
def test_formats_and_engines(cells, numbers, engine):
    found = case(**cells)
    assert (found.numbers, found.engine) == (numbers, engine)


def test_whole_images_take_their_steps_and_guidance_doubles_the_samples():
    whole = case(model="SD-1.5", image_size="512x512", steps="30")
    step = case(model="SD-1.5", image_size="512x512", metric="seconds per denoising iteration")
    assert (whole.passes, whole.guidance) == (30, 2)
    assert (step.passes, step.guidance) == (1, 2)
    assert whole.once_flops > 0 == step.once_flops
    assert case(model="FLUX.1-dev", image_size="1024x1024", steps="28").guidance == 1


def test_an_adapter_trains_on_a_frozen_base():
    found = case(task="dreambooth-lora", model="SDXL-base-1.0", image_size="1024x1024", scenario="gradient checkpointing")
    assert (found.task, found.recompute, found.passes, found.guidance) == ("adapter", 1, 1, 1)


def test_an_unknown_network_has_a_reason():
    assert "no published FLOPs" in read_row(row(model="Nobody")).reason
    assert case(model="Nobody", gflops_per_sample="10").network.flops_per_sample == 1e10


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ({"throughput_images_s": "800"}, 100),
        ({"samples_per_s": "80", "task": "training"}, 10),
        ({"latency_s": "0.5"}, 64 / 0.5 / 8),
        ({"step_time_s": "2", "metric": "seconds per denoising iteration"}, 4),
        ({"latency_s": "0.002", "scenario": "MLPerf SingleStream", "batch_size": "1"}, 500),
        ({"task": "training", "latency_s": "2460", "step_time_s": "4", "notes": "gradient accumulation 4"}, 8),
        ({"task": "training", "latency_s": "2460"}, None),
    ],
)
def test_samples_per_second_of_one_accelerator(cells, value):
    assert measured_value(row(**cells), "samples_per_s_per_accel") == (pytest.approx(value) if value else None)


def test_latency_is_that_of_batch_one():
    assert measured_value(row(latency_s="0.002", batch_size="1"), "latency_s") == 0.002
    assert measured_value(row(latency_s="0.002"), "latency_s") is None


def test_an_encoder_follows_its_length():
    short, long = case("inference_more"), case("inference_more", isl="512")
    assert long.network.flops_per_sample > 4 * short.network.flops_per_sample
    assert case("inference_more", isl="", scenario="MLPerf Offline").network.sample_tokens == 178


def test_a_batch_of_an_encoder_is_that_of_one_accelerator():
    found = case("training_more", seq_len="384", micro_batch="", global_batch="96", accel_count="4")
    assert (found.batch, found.task) == (24, "training")


def test_a_language_model_is_no_encoder():
    assert not isinstance(read_row(row("inference_more", model="Llama-3.1-8B", osl="128")).case, SampleCase)


def test_whole_files_of_audio_are_not_samples():
    assert "audio" in read_row(row("inference_more", model="Whisper-large-v2", scenario="one file of about 13 minutes of audio")).reason


@pytest.mark.parametrize(("hardware", "batch"), [("Inferentia1", 24), ("Inferentia2", 12)])
def test_cores_run_a_batch_each(hardware, batch):
    assert case("inference_more", hardware=hardware, batch_size="6", scenario="data parallel over the cores").batch == batch


def test_a_geforce_card_doubles_its_rate_where_products_are_summed_in_fp16():
    fields = {"hardware": "RTX4090", "model": "SD-1.5", "image_size": "512x512", "steps": "20"}
    usual, half = (case(**fields, framework=name).chip.peak_flops for name in ("diffusers, PyTorch 2.1", "diffusers, OneDiff"))
    assert half == 2 * usual
    assert case(**{**fields, "hardware": "A100"}, framework="diffusers, OneDiff").chip.peak_flops == pytest.approx(312e12)


def test_a_release_in_brackets_has_fused_attention():
    fields = {"hardware": "RTX4080", "model": "SD-1.5", "image_size": "512x512", "steps": "20"}
    bracketed, plain = (case(**fields, framework=name).activations for name in ("Vanilla PyTorch (2.1.0)", "PyTorch 2.1.0"))
    assert bracketed == plain


@pytest.mark.parametrize("framework", ["Cuda graphs", "FasterTransformer"])
def test_replayed_graphs_do_not_fuse_as_compiled_engines_do(framework):
    assert case("inference_more", framework=framework).engine == "graph"


def test_dynamic_int8_computes_in_16_bit_also_when_compiled():
    """PyTorch Labs: SAM ViT-B at batch 32 runs 94.9 images/s in bf16 and 93.7 with dynamic int8 (NV1772, NV1773)."""
    assert case(precision="bf16 + int8 dynamic", compile="torch.compile").numbers == "fp16"


@pytest.mark.parametrize(("model", "task", "boxes"), [("SSD300-ResNet50", "training", 1), ("SSD300-ResNet50", "inference", 0),
                                                     ("MaskRCNN-R50-FPN", "inference", 1), ("ResNet-50", "training", 0)])  # fmt: skip
def test_detectors_propose_boxes(model, task, boxes):
    """The inference benchmark of SSD ends with the network."""
    assert case(model=model, task=task).boxes == boxes


@pytest.mark.parametrize(("model", "framework", "fused"), [("ViT-B/16 (384)", "PyTorch 2.4", 1), ("ViT-B/16 (384)", "PyTorch 1.12", 0),
                                                          ("Swin-B (384)", "PyTorch 2.4", 0), ("SAM ViT-B", "PyTorch 2.4", 0)])  # fmt: skip
def test_attention_is_fused_over_the_whole_image_only(model, framework, fused):
    assert case(model=model, framework=framework).fused_attention == fused


def test_mlperf_replays_graphs_and_neuron_queues():
    assert case(scenario="MLPerf Offline", framework="TensorRT 9.0.0").replayed == 1
    assert case(scenario="batch, data parallel over the cores", framework="PyTorch 2.5 Neuron", hardware="Inferentia2").queued == 1
    assert (case().replayed, case().queued) == (0, 0)


def test_recurrent_networks_compute_in_fp16():
    found = case("inference_more", model="RNN-T", framework="TensorRT 9.0.0", scenario="MLPerf Offline", precision="", isl="")
    assert found.numbers == "fp16"


def test_binned_sequences_are_half_of_their_cap():
    binned, padded = (case("training_more", model="BERT-large", method="pretrain", seq_len="512", framework=f, micro_batch="16")
                      for f in ("PyTorch (NGC)", "TensorFlow 1 (NGC)"))  # fmt: skip
    assert (binned.network.sample_tokens, padded.network.sample_tokens) == (256, 512)
