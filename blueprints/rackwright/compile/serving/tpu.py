"""Serving on Cloud TPU: vLLM with its TPU backend (tpu-inference), which XLA compiles for the slice when a server starts.

https://docs.vllm.ai/projects/tpu/en/latest/, https://cloud.google.com/kubernetes-engine/docs/tutorials/serve-vllm-tpu
"""

from collections.abc import Iterator
from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.model_server import HOME, ModelServer
from rackwright.compile.serving.replica import hosts_per_replica
from rackwright.diagnostics.problem import At, Problem
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import TPU_LABEL, TPU_TOPOLOGY_LABEL

GUIDE = "https://docs.vllm.ai/projects/tpu/en/latest/"
WORKLOAD = At() / "workloads" / 0
COMPILE_TIMEOUT_S = 1800
"""Compile time before a server counts as failed: three times that of a model of 26 billion parameters on one v6e chip, which answered after
616 s (xbill9/gemma4-dev jev-tpu/RESULTS.md, vLLM 0.29, 2026-09-24)."""
ENV = {"VLLM_XLA_CACHE_PATH": f"{HOME}/xla"}
"""Compiled programs, which survive a restart of the process (tutorial serve-vllm-tpu)."""
UNUSED_OPTIONS = ("loras", "speculation", "chunked_prefill")
"""Options of the spec that this release does not set on TPU."""
FORMATS = ("bf16", "fp16", "fp8", "int8")
CUSTOM_RUN = "set run.image and run.args"


def with_tpu_settings(context: CompileContext, server: ModelServer, pool: PoolPlan) -> ModelServer:
    """`server` on a slice: the image with vLLM's TPU backend, whose user is root, and the labels by which GKE starts nodes of the slice."""
    labels = ((TPU_LABEL, pool.accelerator_label), (TPU_TOPOLOGY_LABEL, pool.topology))
    configured = replace(server, node_labels=labels, as_root=True)
    if context.serve.server:
        return configured
    return replace(
        configured,
        image=context.serve.run.image or SERVER_IMAGES["vllm-tpu"],
        compile_s=COMPILE_TIMEOUT_S,
        env=tuple((ENV | dict(server.env)).items()),
    )


def unsupported_on_tpu(context: CompileContext) -> Iterator[Problem]:
    """Reasons why a fleet on TPU is not supported. A server of your own, a custom image or custom arguments are not checked."""
    serve, hosts = context.serve, hosts_per_replica(context)
    if hosts > 1:
        reason = f"A replica needs {hosts} TPU hosts; this release serves on slices with one host"
        yield Problem("C-wide-replica", reason, WORKLOAD, "pin a slice with one host and more chips, or quantize the weights", link=GUIDE)
    if serve.server or serve.run.image or serve.run.args:
        return
    served = {row.generation for row in context.catalog.generations if row.vllm_tpu}
    chips = {row.name: row.generation in served for row in context.catalog.accelerators}
    if not chips.get(context.machine.accelerator or ""):
        known = ", ".join(name for name, is_served in chips.items() if is_served)
        reason = f"vLLM documents {known}; {context.machine.name} has {context.machine.accelerator}"
        yield Problem("C-machine", reason, At() / "infra", f"pin one of these, or {CUSTOM_RUN}", link=GUIDE)
    if not serve.output_tokens:
        reason = f"vLLM on TPU generates text; {context.sizing.facts.model} does not. MaxDiffusion has no server"
        fix = "set `server` and run.image to a server of your own"
        yield Problem("C-tpu-model", reason, WORKLOAD / "model", fix, link="https://github.com/AI-Hypercomputer/maxdiffusion")
    if serve.engine not in ("auto", "vllm"):
        reason = f"Engine {serve.engine} is not supported on TPU"
        yield Problem("C-engine", reason, WORKLOAD / "engine", "set it to auto", link=GUIDE)
    if context.candidate.precision not in FORMATS:
        reason = f"vLLM on TPU has no documented kernels for {context.candidate.precision} weights of this release"
        yield Problem("C-tpu-model", reason, WORKLOAD / "quantization", f"use {', '.join(FORMATS)}", link=GUIDE)
    for key in UNUSED_OPTIONS:
        if getattr(serve, key):
            reason = f"This release starts vLLM on TPU without `{key}`"
            yield Problem("C-tpu-model", reason, WORKLOAD / key, f"leave it out, or {CUSTOM_RUN}", link=GUIDE)
