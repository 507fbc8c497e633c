"""Rows of small cards and other vendors: layouts, lengths, releases and formats in their notation."""

import pytest
from rackwright.estimator.dataset import runs
from rackwright.estimator.dataset.columns.cells import PrintedRow

SERVED = {"row_id": "N1", "model": "Llama-3-8B", "params_b": "8.03", "layers": "32", "hidden": "4096", "heads": "32", "kv_heads": "8",
          "head_dim": "128", "ffn": "14336", "vocab": "128256", "hardware": "A100-80GB", "accel_count": "4", "framework": "vLLM 0.12.0",
          "scenario": "latency, batch 1", "precision": "fp16", "batch_size": "1", "isl": "128", "osl": "128"}  # fmt: skip


def read(**cells: str):
    return runs.read_row(PrintedRow("inference_more", 2, SERVED | cells))


@pytest.mark.parametrize(
    ("cells", "tensor", "pipeline"),
    [
        ({"framework": "llama.cpp (CUDA)", "tp": ""}, 1, 4),
        ({"framework": "exllama", "tp": "4"}, 1, 4),
        ({"framework": "Transformers NeuronX", "hardware": "Inferentia2", "tp": "24", "accel_count": "12"}, 12, 1),
        ({"framework": "optimum-neuron", "hardware": "Inferentia2", "tp": "2", "accel_count": "1"}, 1, 1),
        ({"tp": "4"}, 4, 1),
    ],
)
def test_layer_split_is_a_pipeline_and_neuron_counts_cores(cells, tensor, pipeline):
    case = read(**cells).case
    assert (case.tensor, case.pipeline) == (tensor, pipeline)


@pytest.mark.parametrize("model", ["google/flan-t5-xl", "Qwen2-VL-7B-Instruct", "mamba-130m-hf"])
def test_a_model_that_is_no_text_decoder_is_not_read(model):
    found = read(model=model)
    assert found.status == "unsupported"
    assert "not a decoder" in found.reason


def test_lengths_of_a_data_set_come_from_its_description():
    notes = "ShareGPT-like requests, input p50 95, output p50 150, at most 256 generated; p50 TTFT 812.5 ms"
    case = read(isl="", osl="", notes=notes).case
    assert (case.input, case.output, case.varied) == (95.0, 150.0, 1.0)


def test_the_sequence_cap_of_the_engine_limits_running_requests():
    assert read(notes="engine cap 16 sequences; random prompts").case.max_sequences == 16


@pytest.mark.parametrize(
    ("framework", "as_of", "compiled"),
    [("vLLM", "2023-10", 0.0), ("vLLM", "2024-12", 1.0), ("vLLM", "", 1.0), ("TGI 1.0.3", "2023-09", 0.0), ("TGI 2.4", "", 1.0),
     ("TGI", "2024-01", 0.0), ("vLLM 0.2.1", "", 0.0), ("vLLM benchmark_latency", "2024", 1.0), ("vLLM", "2023", 0.0)],
)  # fmt: skip
def test_engines_before_captured_graphs_are_eager(framework, as_of, compiled):
    assert read(framework=framework, as_of=as_of).case.compiled == compiled


def test_a_gguf_of_four_bits_reads_more_than_four_bits():
    llama, other = read(framework="llama.cpp (CUDA)", quantization="Q4_K_M").case, read(quantization="GPTQ 4bit").case
    assert llama.linear_bytes == pytest.approx(0.61)
    assert other.linear_bytes == pytest.approx(0.53)


@pytest.mark.parametrize(
    ("framework", "hardware", "scenario", "tokens"),
    [("vLLM 0.12.0", "L40S", {"batch_size": "8"}, 2048), ("vLLM 0.12.0", "A100-80GB", {"batch_size": "8"}, 2048),
     ("vLLM 0.12.0", "H100-80GB", {"batch_size": "8"}, 8192), ("vLLM 0.12.0", "L40S", {"batch_size": "", "scenario": "offline"}, 8192)],
)  # fmt: skip
def test_vllm_batches_2048_tokens_on_a_server_below_70_gib_and_on_a100(framework, hardware, scenario, tokens):
    assert read(framework=framework, hardware=hardware, **scenario).case.batched_tokens == tokens


def test_tgi_takes_all_memory():
    assert read(framework="TGI 2.4").case.memory_share == 1.0
    assert read().case.memory_share == 0.9


def test_weights_of_eight_bits_with_16_bit_activations_multiply_in_16_bit():
    both, weights = read(hardware="H100-80GB", quantization="W8A8").case, read(hardware="H100-80GB", quantization="W8A16").case
    assert both.linear_bytes == weights.linear_bytes == pytest.approx(1.01)
    assert weights.chip.peak_flops == both.chip.base_peak_flops < both.chip.peak_flops


def test_metas_fp8_checkpoint_keeps_its_attention_in_16_bit():
    whole, part = read(precision="fp8").case, read(precision="fp8", notes="meta FP8 checkpoint").case
    assert whole.linear_bytes == 1.0
    assert part.linear_bytes == pytest.approx(1.0 + 32 * (2 * 4096 * 128 * (32 + 8)) / part.network.linear)


@pytest.mark.parametrize(("model", "kv_heads"), [("CodeLlama-13b-hf", 40), ("CodeLlama-7b-hf", 32), ("NoSuchModel-13B", 8)])
def test_a_model_from_before_grouped_attention_caches_every_head(model, kv_heads):
    unknown = dict.fromkeys(("params_b", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab"), "")
    assert read(model=model, **unknown).case.network.kv_heads == kv_heads


@pytest.mark.parametrize(
    ("framework", "hardware", "bytes_per_value"),
    [("Optimum Habana (HF Transformers)", "Gaudi2", 1.0), ("trtllm 0.17", "H100-80GB", 1.0), ("vLLM 0.12.0", "H100-80GB", 2.0)],
)
def test_eight_bit_checkpoints_of_some_engines_have_an_eight_bit_cache(framework, hardware, bytes_per_value):
    assert read(framework=framework, hardware=hardware, precision="fp8").case.kv_element == bytes_per_value
