"""Serving on Inferentia2 and Trainium: AWS's vLLM on NxD Inference, which compiles a model for the cores, requests and length it is told,
and what that is not documented to do.

Facts of this module are the Neuron documentation's (aws-neuron/aws-neuron-sdk@81ce03a, 2026-08-21) where nothing else is named.
"""

from collections.abc import Iterator
from dataclasses import replace

from rackwright.catalog.models import library
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.model_server import HOME, ModelServer
from rackwright.compile.serving.replica import hosts_of, pod_memory_gib
from rackwright.compile.storage.buckets import buckets
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.blueprint import OwnImage
from rackwright.stackplan.images import image_family, image_variant
from rackwright.stackplan.labels import NEURON_CORES, SERVER_PORT
from rackwright.units import GIB

DEGREES = {"AWS Inferentia2": (1, 2, 4, 8, 24), "AWS Trainium1": (1, 2, 8, 16, 32), "AWS Trainium2": (1, 2, 4, 8, 16, 32, 64)}
"""Cores the runtime splits a model over (libraries/nxd-inference/developer_guides/feature-guide, tensor parallelism)."""
MODELS = (
    "llama-2-", "llama-3-", "llama-3.1-", "llama-3.2-", "llama-3.3-", "tinyllama-", "deepseek-r1-distill-llama-", "qwen2.5-", "qwen3-",
)  # fmt: skip
"""Catalog names of dense text models that it serves (libraries/nxd-inference/developer_guides/vllm-user-guide-v1 and model-reference)."""
COMPILE_S = 3600
"""Given to the compiler before a server counts as failed. AWS writes of 15 to 20 minutes for 70 billion parameters
(vllm-neuron/docs/tutorials/tutorial-llama3-70b), a guide to this image of 15 to 45 and more (manu-joy/rosa-llm-driven-deployment,
vllmoninferentia.md)."""
HOST_COPIES = 2
"""Of the weights, in the machine's own memory while they are cut up for the cores. On 16 GB a model of 3 billion parameters at 16 bit did
not load, one of 1.5 billion did (helixml/helix, composed profiles, an inf2.xlarge of 2026-06)."""
ENV = {
    "VLLM_NEURON_FRAMEWORK": "neuronx-distributed-inference",
    "NEURON_COMPILED_ARTIFACTS": f"{HOME}/neuron/artifacts",
    "NEURON_COMPILE_CACHE_URL": f"{HOME}/neuron/cache",
}
"""Compiled programs outlive the server's process, not its pod. Without a place of their own they are written beside the weights, which a
bucket mounted read-only refuses."""
GUIDE = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/libraries/nxd-inference/developer_guides"
SPLITS = f"{GUIDE}/feature-guide.html"
USER_GUIDE = f"{GUIDE}/vllm-user-guide-v1.html"
SCHEDULER = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/deploy/infrastructure/scheduler.html"
DRIVER = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/release-notes/components/runtime.html"
WORKLOAD = At() / "workloads" / 0
OWN = "name an image and arguments of your own in run"


def on_neuron(context: CompileContext, server: ModelServer) -> ModelServer:
    """`server` as AWS's image for Neuron runs it: as that image's user, whose devices they are, and where it may write."""
    run = context.serve.run
    seated = replace(
        server,
        image=run.image or SERVER_IMAGES["vllm-neuron"],
        concurrency=_requests(context),
        args=run.args or _arguments(context),
        compile_s=COMPILE_S,
        as_root=True,
        folder=HOME,
    )
    patience = {"VLLM_ENGINE_READY_TIMEOUT_S": str(seated.load_s)}
    return replace(seated, env=tuple((ENV | patience | dict(server.env)).items()))


def _arguments(context: CompileContext) -> tuple[str, ...]:
    """Without prefix caching the cache is one block per request, of the full length; both numbers are compiled into the program.

    No room in the host's memory is set aside for requests that wait: on a small machine the weights need it.
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


def _degree(context: CompileContext) -> int:
    return context.candidate.parallelism.tensor * NEURON_CORES.get(context.machine.accelerator or "", 0)


def _length(context: CompileContext) -> int:
    """Tokens of the longest request; 0 where nobody says."""
    return context.serve.max_context or context.sizing.facts.sequence_length or 0


def _requests(context: CompileContext) -> int:
    """In flight at once: what it was sized for, as far as the cache holds that many of full length."""
    wanted, held = context.fit.speed.concurrency or 1, context.fit.speed.kv_tokens
    return wanted if held is None else min(wanted, held // max(1, _length(context)))


def neuron_refusals(context: CompileContext) -> Iterator[Problem]:
    """Why a fleet on this Neuron machine cannot be built. What comes of an image or of arguments of one's own is one's own business."""
    if context.machine.accelerator not in NEURON_CORES:
        reason = f"AWS's vLLM for Neuron runs on {', '.join(NEURON_CORES)}, and {context.machine.name} has {context.machine.accelerator}"
        yield Problem("C-machine", reason, At() / "blueprint" / "kind", "pin an inf2, trn1 or trn2", link=USER_GUIDE)
        return
    if hosts_of(context) > 1:
        reason = "a replica on Neuron stays within one machine in this release"
        yield Problem("C-wide-replica", reason, WORKLOAD, "pin a machine with more devices, or a machine with GPUs", link=USER_GUIDE)
        return
    yield from _packing(context)
    if not context.serve.run.args:
        yield from _split(context)
    if not context.serve.run.image:
        yield from _known(context)


def _packing(context: CompileContext) -> Iterator[Problem]:
    """Devices of a replica must stand in a row, which only a scheduler of Neuron's sees to: without it a pod gets one or all."""
    devices, all_of_them = context.candidate.parallelism.accelerators, context.candidate.accelerators_per_node
    if devices not in (1, all_of_them):
        reason = f"a replica on Neuron has one device or all {all_of_them} of {context.machine.name}, and this one has {devices}"
        yield Problem("C-neuron-split", reason, WORKLOAD, "pin another machine of the same chip", link=SCHEDULER)


def _split(context: CompileContext) -> Iterator[Problem]:
    chip, parallelism, degree = context.machine.accelerator or "", context.candidate.parallelism, _degree(context)
    row = library.find(context.serve.model.base or "")
    if parallelism.tensor != parallelism.accelerators:
        yield Problem("C-neuron-split", f"a replica on {chip} is split by tensors alone, not by {parallelism}", WORKLOAD, OWN, link=SPLITS)
    elif degree not in DEGREES[chip]:
        able = ", ".join(map(str, DEGREES[chip]))
        reason = f"{chip} splits a model over {able} cores, and {parallelism.tensor} devices have {degree}"
        yield Problem("C-neuron-split", reason, WORKLOAD, f"pin another machine, or {OWN}", link=SPLITS)
    elif row and row.architecture.heads % degree:
        reason = f"{row.name} has {row.architecture.heads} heads, which {degree} cores do not share evenly"
        yield Problem("C-neuron-split", reason, WORKLOAD, f"pin another machine, or {OWN}", link=SPLITS)
    if not _length(context):
        reason = "a program for Neuron is compiled for the longest request, and nobody says how long that is"
        yield Problem("C-neuron-model", reason, WORKLOAD / "max_context", "set it", link=USER_GUIDE)
    elif _requests(context) < 1:
        held = context.fit.speed.kv_tokens
        reason = f"the cache holds {held:,} tokens, less than one request of {_length(context):,}"
        yield Problem("C-neuron-memory", reason, WORKLOAD / "max_context", f"set it to {held} or less", link=USER_GUIDE)
    if context.serve.kv_dtype == "fp8":
        reason = "a cache in fp8 is not documented for vLLM on NxD Inference"
        yield Problem("C-neuron-model", reason, WORKLOAD / "kv_dtype", "leave it at auto", link=USER_GUIDE)


def _known(context: CompileContext) -> Iterator[Problem]:
    """What the usual image is known to serve, with which driver, in how much memory."""
    name, nodes = context.sizing.facts.model, context.spec.blueprint.nodes
    row = library.find(context.serve.model.base or "")
    dense = row and not row.architecture.is_moe and not row.architecture.tower_parameters
    if not (row and dense and row.name.startswith(MODELS)):
        reason = f"AWS's vLLM for Neuron is not documented to serve {name}: it is for dense text models of Llama 2 and 3, Qwen2.5 and Qwen3"
        yield Problem("C-neuron-model", reason, WORKLOAD / "model", OWN, link=USER_GUIDE)
    elif row.architecture.tied_embeddings and not buckets(context):
        reason = f"{name} shares its embeddings with its head, and does not load on Neuron from the hub"
        yield Problem("C-neuron-model", reason, WORKLOAD / "model" / "weights", "put its files into a bucket", link=USER_GUIDE)
    image = image_variant(nodes.image.family if isinstance(nodes.image, OwnImage) else nodes.image, "neuron")
    if image_family(image) != "al2023":
        reason = f"the image's runtime 2.33 is known to work with the driver of AL2023's nodes, 2.29, and that of {image} is not known"
        fix = "leave it at al2023, or name an image of your own in run"
        yield Problem("C-image", reason, At() / "blueprint" / "nodes" / "image", fix, link=DRIVER)
    have, need = pod_memory_gib(context), HOST_COPIES * context.sizing.facts.weights_bytes / GIB
    if have < need:
        reason = f"the weights pass through the machine's own memory: a replica on {context.machine.name} gets {have} GiB of {need:.0f}"
        yield Problem("C-neuron-memory", reason, WORKLOAD, "pin a machine of the same chip with more memory", link=USER_GUIDE)
