"""Arguments of SGLang for one replica on one machine.

Source: https://docs.sglang.io/advanced_features/server_arguments.html (2026-11).
"""

from collections.abc import Iterator

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.serving.loras import sglang_lora_arguments
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.workload_parts import API_KEY_VARIABLE
from rackwright.stackplan.labels import SERVER_PORT

SGLANG = "sglang"
CACHE_DTYPES = {"fp8": "fp8_e4m3", "bf16": "bf16"}
QUANTIZATIONS = {"fp8": "fp8", "nf4": "bitsandbytes"}
"""Formats that SGLang creates from 16-bit weights at load time."""
ARGUMENTS = "https://docs.sglang.io/advanced_features/server_arguments.html"
WORKLOAD = At() / "workloads" / 0


def sglang_command(model: str) -> tuple[str, ...]:
    return ("python3", "-m", "sglang.launch_server", "--model-path", model)


def sglang_arguments(context: CompileContext, has_bf16: bool, memory_share: float) -> tuple[str, ...]:
    """The layout, length and number of requests of the plan. SGLang divides the memory of a whole accelerator itself.

    memory_share: part of the memory it sees that weights and cache may use, 1 for all. It has no variable for the API key: Kubernetes
    inserts it into the argument.
    """
    workload, parallelism = context.serve, context.candidate.parallelism
    chosen = {
        "served-model-name": context.sizing.facts.model,
        "host": "0.0.0.0",
        "port": SERVER_PORT,
        "tp-size": parallelism.tensor,
        "pp-size": parallelism.pipeline if parallelism.pipeline > 1 else None,
        "dtype": None if has_bf16 and context.candidate.precision != "fp16" else "half",
        "context-length": workload.max_context or context.sizing.facts.sequence_length or None,
        "max-running-requests": context.fit.speed.concurrency,
        "mem-fraction-static": f"{context.fit.memory.max_fill * memory_share:g}" if memory_share < 1 else None,
        "quantization": QUANTIZATIONS.get(context.candidate.precision),
        "kv-cache-dtype": CACHE_DTYPES.get(workload.kv_dtype),
        "chunked-prefill-size": -1 if workload.chunked_prefill is False else workload.max_batched_tokens,
        "api-key": f"$({API_KEY_VARIABLE})" if API_KEY_VARIABLE in workload.secret_variables else None,
    }
    given = (f"--{name}={value}" for name, value in chosen.items() if value is not None)
    return (*given, "--enable-metrics", *sglang_lora_arguments(workload))


def unsupported_with_sglang(context: CompileContext, hosts: int) -> Iterator[Problem]:
    """Options of the spec that the plan does not pass to SGLang. A server with own arguments is not checked."""
    workload = context.serve
    if hosts > 1 or context.machine.kind != "gpu":
        where = f"{hosts} machines" if hosts > 1 else context.machine.name
        reason = f"A replica of SGLang runs on GPUs of one machine in this release; this one needs {where}"
        yield Problem("C-engine", reason, WORKLOAD / "engine", "set engine: vllm, or pin a larger machine with GPUs", link=ARGUMENTS)
    if workload.run.args:
        return
    if workload.speculation:
        reason = "This release configures speculative decoding for vLLM only"
        yield Problem("C-server-option", reason, WORKLOAD / "speculation", "set engine: vllm, or give run.args", link=ARGUMENTS)
    if workload.loras and workload.loras.updates:
        reason = "SGLang loads adapters outside /v1, which the plan does not open to clients"
        yield Problem("C-server-option", reason, WORKLOAD / "loras" / "updates", "leave it out, or set engine: vllm", link=ARGUMENTS)
    if workload.kv_dtype == "int8":
        yield Problem("C-server-option", "SGLang has no int8 cache", WORKLOAD / "kv_dtype", "set fp8 or auto", link=ARGUMENTS)
