"""Inputs of peers, and reading of their outputs: with fake peers and rows of the repository."""

import json
import sys
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest
from peers import ask_aiconfigurator, ask_llm_analysis
from peers.questions import Gap, serving, training

DENSE = SimpleNamespace(layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, gated=True, vocab=128256, experts=0, top_k=0,
                        kv_rank=0, shared_ffn=0, moe_layers=0, expert_ffn=0)  # fmt: skip
CASE = {
    "network": DENSE, "chip": SimpleNamespace(is_tpu=0.0), "adapter": 0.0, "numbers": "bf16", "context": 1.0, "recompute": 1.0,
    "recompute_share": 1.0, "offload_optimizer": 0.0, "offload_activations": 0.0, "micro_batch": 2.0, "micro_batches": 4.0,
    "replicas": 8.0, "sequence": 4096.0, "tensor": 2.0, "pipeline": 1.0, "expert": 1.0, "sequence_parallel": 1.0,
    "zero_stage": 1.0, "flash": 1.0, "dropout": 0.0,
}  # fmt: skip


def trained(hardware="H100-80GB", **changed):
    return SimpleNamespace(case=SimpleNamespace(**{**CASE, **changed}), cells={"hardware": hardware}, metric="tokens_per_s_per_accel")


def test_a_gated_layer_is_described_as_two_matrices():
    found = training(trained())
    assert 2 * found["model"]["ffn_embed_dim"] == 3 * 14336
    assert found["step"]["global_batch_size"] == 2 * 4 * 8
    assert (found["gpu"], found["layout"]["sp_size"], found["recompute"], found["zero"]) == ("h100-sxm-80gb", 2, 1, 1)
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"numbers": "mxfp8"}, "FP8"),
        ({"adapter": 1.0}, "adapters"),
        ({"context": 2.0}, "context"),
        ({"recompute_share": 0.5}, "some layers"),
        ({"micro_batches": 2.5}, "whole micro-batches"),
        ({"offload_optimizer": 1.0}, "offload"),
        ({"chip": SimpleNamespace(is_tpu=1.0)}, "TPU"),
        ({"hardware": "B200"}, "accelerator not in its list: B200"),
        ({"network": SimpleNamespace(**{**vars(DENSE), "kv_rank": 512})}, "latent"),
        ({"network": SimpleNamespace(**{**vars(DENSE), "experts": 8, "moe_layers": 31})}, "dense layers"),
        ({"network": SimpleNamespace(**{**vars(DENSE), "head_dim": 256})}, "hidden size"),
    ],
)
def test_a_row_the_peer_cannot_express_is_a_gap(changed, why):
    with pytest.raises(Gap, match=why):
        training(trained(**changed))


def served(**changed):
    cells = {"model": "Llama-3.3-70B", "hardware": "H200-141GB", "framework": "TensorRT-LLM 1.0", "source_path": "x", "precision": "fp8"}
    case = SimpleNamespace(network=DENSE, tensor=4.0, pipeline=1.0, attention_data=1.0, expert=1.0, input=1000.0, output=500.0,
                           concurrency=64.0, numbers="fp8")  # fmt: skip
    metric = changed.pop("metric", "tpot_ms")
    case_changes = {k: v for k, v in changed.items() if hasattr(case, k)}
    return SimpleNamespace(
        case=SimpleNamespace(**{**vars(case), **case_changes}),
        cells={**cells, **{k: v for k, v in changed.items() if k in cells}},
        metric=metric,
    )


def test_a_deployment_is_converted_to_the_peers_fields():
    found = serving(served())
    assert found["settings"] == {
        "model_path": "meta-llama/Meta-Llama-3.1-70B", "system_name": "h200_sxm", "backend_name": "trtllm", "isl": 1000, "osl": 500,
        "tp_size": 4, "pp_size": 1, "attention_dp_size": 1, "gemm_quant_mode": "fp8", "moe_quant_mode": "fp8", "kvcache_quant_mode": "fp8",
        "batch_size": 64,
    }  # fmt: skip
    assert "sample" not in found
    assert "batch_size" not in serving(served(metric="output_tok_s_per_accel"))["settings"]
    assert serving(served(source_path="a/silicon_sample.csv id=one_2"))["sample"] == "one_2"
    assert serving(served(attention_data=8.0))["settings"]["batch_size"] == 8


@pytest.mark.parametrize(("changed", "why"), [({"hardware": "MI300X"}, "without tables: MI300X"), ({"framework": "LitGPT"}, "engine")])
def test_a_row_without_peer_tables_is_a_gap(changed, why):
    with pytest.raises(Gap, match=why):
        serving(served(**changed))


def test_the_peers_training_answer_is_converted_to_our_units():
    seen = {}

    class Analysis:
        def __init__(self, model, gpu, numbers, layout, flops_efficiency):
            seen.update(efficiency=flops_efficiency, gpu=gpu)

        def training(self, **step):
            seen.update(step)
            return {
                "global_batch_size": 64, "seq_len": 4096, "latency_per_iter": 2.0, "total_num_gpus": 16,
                "(weight+op_state+grad+act)_memory_per_gpu": 3 * 2**30,
            }  # fmt: skip

    peer = SimpleNamespace(LLMAnalysis=Analysis, ActivationRecomputation=Enum("R", {"A": 0, "B": 1}), DSZeRO=Enum("Z", {"A": 0, "B": 1}))
    settings = SimpleNamespace(ModelConfig=dict, ParallelismConfig=dict, get_gpu_config_by_name=str, get_dtype_config_by_name=str)
    found = ask_llm_analysis.answer(peer, settings, {"id": "a", **training(trained())})
    assert found["values"] == {"tokens_per_s_per_accel": 64 * 4096 / 2.0 / 16, "peak_memory_gib": 3.0}
    assert (seen["efficiency"], seen["batch_size_per_gpu"], seen["ds_zero"].value) == (0.5, 2, 1)
    settings.get_gpu_config_by_name = lambda name: (_ for _ in ()).throw(ValueError(f"unknown {name}"))
    assert "unknown h100" in ask_llm_analysis.answer(peer, settings, {"id": "a", **training(trained())})["gap"]


class PerfDataNotAvailableError(Exception):
    pass


@pytest.fixture
def estimates(tmp_path, monkeypatch):
    """The caller with a fake peer that stores its inputs in `seen`."""
    seen = []

    def estimate(**settings):
        seen.append(settings)
        if settings.get("kvcache_quant_mode") == "fp8" and settings["isl"] == 7:
            raise PerfDataNotAvailableError("no such table")
        if settings["batch_size"] > 64:
            raise RuntimeError("OOM: the model does not fit")
        rate = settings["batch_size"] * (2 if settings.get("ctx_tokens") == 8192 else 1)
        return SimpleNamespace(tpot=10.0, ttft=200.0, tokens_per_second_per_gpu=float(rate), kv_cache_warning=None)

    core = tmp_path / "aiconfigurator_core"
    for name, text in {
        "systems/silicon_sample.csv": "id,tp_size,isl,gemm_quant_mode,osl\none_2,2,333,fp8_block,\n",
        "model_configs/a--b_config.json": "{}",
        "__init__.py": "",
    }.items():
        file = core / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    modules = {
        "aiconfigurator": {},
        "aiconfigurator.cli": {},
        "aiconfigurator.sdk": {},
        "aiconfigurator.cli.api": {"cli_estimate": estimate},
        "aiconfigurator.sdk.perf_database": {"get_latest_database_version": lambda system, backend: "9"},
        "aiconfigurator.sdk.common": {"DefaultHFModels": {"listed/model"}},
    }
    for name, names in modules.items():
        module = ModuleType(name)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "aiconfigurator_core", raising=False)
    yield SimpleNamespace(answer=ask_aiconfigurator.Estimates(tmp_path).answer, seen=seen)
    sys.modules.pop("aiconfigurator_core", None)


def test_rows_of_the_peers_sample_keep_its_layout_and_formats(estimates):
    question = {"id": "x", **serving(served(source_path="silicon_sample.csv id=one_2"))}
    assert estimates.answer(question)["values"] == {"tpot_ms": 10.0, "ttft_ms": 200.0}
    asked = estimates.seen[0]
    assert (asked["tp_size"], asked["isl"], asked["gemm_quant_mode"], asked["osl"], asked["backend_version"]) == (
        2,
        333,
        "fp8_block",
        500,
        "9",
    )


def test_offline_takes_the_best_rate_that_fits_memory(estimates):
    found = estimates.answer({"id": "x", **serving(served(metric="output_tok_s_per_accel"))})
    assert found["values"] == {"output_tok_s_per_accel": 128.0}


def test_nearest_formats_are_tried_before_a_gap(estimates):
    assert "values" in estimates.answer({"id": "x", **serving(served(input=7.0))})
    assert [asked.get("kvcache_quant_mode") for asked in estimates.seen] == ["fp8", None]
    assert estimates.answer({"id": "x", **serving(served(concurrency=65.0))})["gap"] == "its estimate does not fit in memory"


def test_an_unlisted_configuration_is_passed_as_a_folder(estimates):
    estimates.answer({"id": "x", **serving(served(model="a/b"))})
    estimates.answer({"id": "y", **serving(served(model="listed/model"))})
    assert estimates.seen[0]["model_path"].endswith("a--b")
    assert estimates.seen[-1]["model_path"] == "listed/model"
