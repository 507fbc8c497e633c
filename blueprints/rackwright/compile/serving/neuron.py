"""Serving on Inferentia2 and Trainium with AWS's vLLM on NxD Inference, which compiles the model for fixed cores, requests and length.

Facts without another source are from the Neuron documentation (aws-neuron/aws-neuron-sdk@81ce03a, 2026-08-21).
"""

from collections.abc import Iterator
from dataclasses import replace

from rackwright.catalog.models import library
from rackwright.catalog.rows import Accelerator
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.model_server import HOME, ModelServer
from rackwright.compile.serving.replica import hosts_per_replica, pod_memory_gib
from rackwright.compile.storage.buckets import bucket_plans
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.blueprint import OwnImage
from rackwright.stackplan.images import image_family, image_variant
from rackwright.stackplan.labels import SERVER_PORT
from rackwright.units import GIB

DOCUMENTED_MODELS = (
    "llama-2-", "llama-3-", "llama-3.1-", "llama-3.2-", "llama-3.3-", "tinyllama-", "deepseek-r1-distill-llama-", "qwen2.5-", "qwen3-",
)  # fmt: skip
"""Catalog names of documented dense text models (libraries/nxd-inference/developer_guides/vllm-user-guide-v1 and model-reference)."""
COMPILE_TIMEOUT_S = 3600
"""Compile time before a server counts as failed. AWS documents 15 to 20 minutes for 70 billion parameters
(vllm-neuron/docs/tutorials/tutorial-llama3-70b), a guide to this image of 15 to 45 and more (manu-joy/rosa-llm-driven-deployment,
vllmoninferentia.md)."""
HOST_COPIES = 2
"""Copies of the weights in host memory while they are split over the cores. With 16 GB a model of 3 billion parameters at 16 bit did
not load, one of 1.5 billion did (helixml/helix, composed profiles, an inf2.xlarge of 2026-06)."""
ENV = {
    "VLLM_NEURON_FRAMEWORK": "neuronx-distributed-inference",
    "NEURON_COMPILED_ARTIFACTS": f"{HOME}/neuron/artifacts",
    "NEURON_COMPILE_CACHE_URL": f"{HOME}/neuron/cache",
}
"""Folders for compiled programs, which survive a restart of the process. The default is beside the weights, which are read-only."""
GUIDE = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/libraries/nxd-inference/developer_guides"
PARALLELISM_GUIDE = f"{GUIDE}/feature-guide.html"
USER_GUIDE = f"{GUIDE}/vllm-user-guide-v1.html"
SCHEDULER = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/deploy/infrastructure/scheduler.html"
DRIVER = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/release-notes/components/runtime.html"
WORKLOAD = At() / "workloads" / 0
UNUSED_OPTIONS = ("loras", "speculation", "prefix_cache_hit_rate", "chunked_prefill", "max_batched_tokens")
"""Options of the spec that the arguments below do not have."""
CUSTOM_RUN = "set run.image and run.args"


def with_neuron_settings(context: CompileContext, server: ModelServer) -> ModelServer:
    """`server` with the settings of AWS's Neuron image: its user, which owns the devices, and its writable folder."""
    run = context.serve.run
    configured = replace(
        server,
        image=run.image or SERVER_IMAGES["vllm-neuron"],
        concurrency=_requests(context),
        args=run.args or _arguments(context),
        compile_s=COMPILE_TIMEOUT_S,
        as_root=True,
        folder=HOME,
    )
    patience = {"VLLM_ENGINE_READY_TIMEOUT_S": str(configured.load_s)}
    return replace(configured, env=tuple((ENV | patience | dict(server.env)).items()))


def _arguments(context: CompileContext) -> tuple[str, ...]:
    """Without prefix caching the cache has one block of the full length per request; both numbers are compiled into the program.

    Swap space is 0, because the weights need the host memory of small machines.
    """
    requests = _requests(context)
    chosen = {
        "served-model-name": context.sizing.facts.model,
        "port": SERVER_PORT,
        "tensor-parallel-size": _degree(context),
        "max-model-len": _length(context),
        "max-num-seqs": requests,
        "num-gpu-blocks-override": requests,
        "swap-space": 0,
    }
    return (*(f"--{name}={value}" for name, value in chosen.items()), "--no-enable-prefix-caching")


def _device(context: CompileContext) -> Accelerator:
    return context.catalog.accelerator_by_name[(context.machine.accelerator or "").lower()]


def _degree(context: CompileContext) -> int:
    return context.candidate.parallelism.tensor * (_device(context).neuron_cores or 0)


def _length(context: CompileContext) -> int:
    """Tokens of the longest request; 0 where unknown."""
    return context.serve.max_context or context.sizing.facts.sequence_length or 0


def _requests(context: CompileContext) -> int:
    """Concurrent requests that the fit has, limited to those of full length that the cache holds."""
    concurrency, tokens = context.fit.speed.concurrency or 1, context.fit.speed.kv_tokens
    return concurrency if tokens is None else min(concurrency, tokens // max(1, _length(context)))


def unsupported_on_neuron(context: CompileContext) -> Iterator[Problem]:
    """Reasons why a fleet on this Neuron machine is not supported. A custom image or custom arguments are not checked."""
    if not _device(context).neuron_cores:
        supported = ", ".join(sorted(row.name for row in context.catalog.accelerators if row.neuron_cores))
        reason = f"vLLM for Neuron supports {supported}; {context.machine.name} has {context.machine.accelerator}"
        yield Problem("C-machine", reason, At() / "blueprint" / "kind", "pin a machine with one of these chips", link=USER_GUIDE)
        return
    if hosts_per_replica(context) > 1:
        reason = f"A replica needs {hosts_per_replica(context)} Neuron machines; this release supports one"
        yield Problem("C-wide-replica", reason, WORKLOAD, "pin a machine with more devices, or a machine with GPUs", link=USER_GUIDE)
        return
    # The devices of a replica must be neighbours, which only Neuron's scheduler ensures; without it a pod has one device or all.
    devices, count = context.candidate.parallelism.accelerators, context.candidate.accelerators_per_node
    if devices not in (1, count):
        reason = f"A replica uses {devices} Neuron devices; on {context.machine.name} it can use 1 or {count}"
        yield Problem("C-neuron-split", reason, WORKLOAD, "pin another machine of the same chip", link=SCHEDULER)
    if not context.serve.run.args:
        yield from _parallelism(context)
    if not context.serve.run.image:
        yield from _documented(context)


def _parallelism(context: CompileContext) -> Iterator[Problem]:
    device, parallelism, degree = _device(context), context.candidate.parallelism, _degree(context)
    chip = device.name
    row = library.find(context.serve.model.base or "")
    if parallelism.tensor != parallelism.accelerators:
        reason = f"A replica on {chip} supports tensor parallelism only; this one has {parallelism}"
        yield Problem("C-neuron-split", reason, WORKLOAD, CUSTOM_RUN, link=PARALLELISM_GUIDE)
    elif degree not in device.neuron_degrees:
        supported = ", ".join(map(str, device.neuron_degrees))
        reason = f"{parallelism.tensor} devices have {degree} cores; {chip} splits a model over {supported} cores"
        yield Problem("C-neuron-split", reason, WORKLOAD, f"pin another machine, or {CUSTOM_RUN}", link=PARALLELISM_GUIDE)
    elif row and row.architecture.heads % degree:
        reason = f"The {row.architecture.heads} attention heads of {row.name} cannot be divided evenly over {degree} cores"
        yield Problem("C-neuron-split", reason, WORKLOAD, f"pin another machine, or {CUSTOM_RUN}", link=PARALLELISM_GUIDE)
    if not _length(context):
        reason = "max_context is not set, and Neuron compiles the model for the longest request"
        yield Problem("C-neuron-model", reason, WORKLOAD / "max_context", "set it to the tokens of the longest request", link=USER_GUIDE)
    elif _requests(context) < 1:
        held = context.fit.speed.kv_tokens
        reason = f"The cache holds {held:,} tokens, which is less than one request of {_length(context):,}"
        yield Problem("C-neuron-memory", reason, WORKLOAD / "max_context", f"set it to {held} or less", link=USER_GUIDE)
    if context.serve.kv_dtype in ("fp8", "int8"):
        reason = f"AWS does not document an {context.serve.kv_dtype} cache for vLLM on NxD Inference"
        yield Problem("C-neuron-model", reason, WORKLOAD / "kv_dtype", "set it to auto", link=USER_GUIDE)
    for key in UNUSED_OPTIONS:
        if getattr(context.serve, key):
            reason = f"This release starts vLLM on Neuron without `{key}`"
            yield Problem("C-neuron-model", reason, WORKLOAD / key, f"leave it out, or {CUSTOM_RUN}", link=USER_GUIDE)


def _documented(context: CompileContext) -> Iterator[Problem]:
    """Models, drivers and memory that the default image is documented for."""
    name, nodes = context.sizing.facts.model, context.spec.blueprint.nodes
    row = library.find(context.serve.model.base or "")
    dense = row and not row.architecture.is_moe and not row.architecture.tower_parameters
    if not (row and dense and row.name.startswith(DOCUMENTED_MODELS)):
        reason = f"AWS does not document {name} for vLLM on Neuron; it documents dense text models of Llama 2 and 3, Qwen2.5 and Qwen3"
        yield Problem("C-neuron-model", reason, WORKLOAD / "model", CUSTOM_RUN, link=USER_GUIDE)
    elif row.architecture.tied_embeddings and not bucket_plans(context):
        reason = f"{name} has tied embeddings, which Neuron cannot load from the Hugging Face hub"
        fix = "copy its files to a bucket and set its URI"
        yield Problem("C-neuron-model", reason, WORKLOAD / "model" / "weights", fix, link=USER_GUIDE)
    image = image_variant(nodes.image.family if isinstance(nodes.image, OwnImage) else nodes.image, "neuron")
    if image_family(image) != "al2023":
        reason = f"Neuron runtime 2.33 of the server image requires driver 2.29 of AL2023 nodes; the driver of {image} is not documented"
        fix = "set it to al2023, or set run.image"
        yield Problem("C-image", reason, At() / "blueprint" / "nodes" / "image", fix, link=DRIVER)
    have, need = pod_memory_gib(context), HOST_COPIES * context.sizing.facts.weights_bytes / GIB
    if have < need:
        reason = f"Loading the weights needs {need:.0f} GiB of host memory; a replica on {context.machine.name} has {have} GiB"
        yield Problem("C-neuron-memory", reason, WORKLOAD, "pin a machine of the same chip with more memory", link=USER_GUIDE)
