"""Runs in the environment of llm-analysis: questions as JSON on standard input, answers on standard output. Standard library and the peer.

Every question is one training configuration; `efficiency` is the share of peak FLOP/s it is told to assume (its only free number).
"""

import json
import logging
import sys
import time
from importlib import import_module
from typing import Any

GIB = 2.0**30


def answer(peer: Any, settings: Any, question: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        model = settings.ModelConfig(name=question["id"], **question["model"])
        layout = settings.ParallelismConfig(**question["layout"])
        gpu, numbers = settings.get_gpu_config_by_name(question["gpu"]), settings.get_dtype_config_by_name("w16a16e16")
        said = peer.LLMAnalysis(model, gpu, numbers, layout, flops_efficiency=question["efficiency"]).training(
            activation_recomputation=peer.ActivationRecomputation(question["recompute"]),
            ds_zero=peer.DSZeRO(question["zero"]),
            **question["step"],
        )
    except Exception as fault:  # whatever it raises is its answer
        return {"id": question["id"], "gap": f"it says: {type(fault).__name__} {fault}"[:160]}
    tokens = said["global_batch_size"] * said["seq_len"] / said["latency_per_iter"] / said["total_num_gpus"]
    values = {"tokens_per_s_per_accel": tokens, "peak_memory_gib": said["(weight+op_state+grad+act)_memory_per_gpu"] / GIB}
    return {"id": question["id"], "values": values, "seconds": time.perf_counter() - start}


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr
    peer, settings = import_module("llm_analysis.analysis"), import_module("llm_analysis.config")
    import_module("llm_analysis.logger").logger.setLevel(logging.ERROR)
    settings.populate_model_and_gpu_configs()
    json.dump([answer(peer, settings, question) for question in json.load(sys.stdin)["rows"]], out)


if __name__ == "__main__":
    main()
