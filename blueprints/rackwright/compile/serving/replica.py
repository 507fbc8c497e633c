"""One replica of a served model, from the fit: machines, pod resources, arguments and timeout."""

import json
import math
from typing import Any

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import Body, account_key, allow_basics, default_deny, run_secrets, secret_key, service_account
from rackwright.compile.operators.versions import SERVER_IMAGES
from rackwright.compile.serving.engine_metrics import SGLANG_METRICS, VLLM_METRICS, EngineMetrics
from rackwright.compile.serving.loras import UPDATES, vllm_lora_arguments
from rackwright.compile.serving.model_server import WEIGHTS_PATH, ModelServer
from rackwright.compile.serving.sglang import SGLANG, sglang_arguments, sglang_command
from rackwright.compile.storage.buckets import HUB
from rackwright.estimator.config import accelerators
from rackwright.estimator.launch_flags import VLLM_CACHE_DTYPES, VLLM_QUANTIZATIONS
from rackwright.estimator.serving.memory import SMALL_VLLM_BATCHED_TOKENS, has_small_vllm_defaults
from rackwright.sizing.assumptions import DEFAULT
from rackwright.spec.workload import Serve
from rackwright.spec.workload_parts import Speculation
from rackwright.stackplan import BucketPlan, ManifestPlan, PoolPlan
from rackwright.stackplan.labels import COMPUTE_CLASS_LABEL, SERVER_PORT
from rackwright.units import GIB

ACCOUNT = "server"
NODE_SHARE = 0.6
"""Part of a node's CPU and memory for its replicas; the rest is for the system, the weights mount and agents."""
IMAGE_GIB = 100
"""Disk for two server images (an update pulls the next one), logs and compiled kernels."""
CACHE_SHARE = 1.1
REQUEST_TIMEOUT_FACTOR = 4
"""Timeout of a request, as a multiple of its expected duration."""
MIN_REQUEST_TIMEOUT_S = 120
PROMPT_LOOKUP_TOKENS = 4
"""Longest n-gram that is looked up in the prompt, as in vLLM's example."""
CHUNKED_PREFILL = {True: "--enable-chunked-prefill", False: "--no-enable-chunked-prefill"}
"""Switch of vLLM; without one it decides by the model (https://docs.vllm.ai/en/v0.27.0/configuration/engine_args/)."""
QUANTIZATIONS = {name: VLLM_QUANTIZATIONS[name] for name in ("fp8", "nf4")}
"""Formats that vLLM creates from 16-bit weights at load time; quantized weights declare their own format."""


def hosts_per_replica(context: CompileContext) -> int:
    """Number of machines per replica."""
    return math.ceil(context.candidate.parallelism.accelerators / context.candidate.devices_per_node)


def replicas_per_node(context: CompileContext) -> int:
    """Replicas per machine; 1 where a replica spans several."""
    return max(1, context.candidate.devices_per_node // context.candidate.parallelism.accelerators)


def node_bounds(*members: CompileContext) -> tuple[int, int, int]:
    """(minimum, maximum, start) nodes for the minimum and maximum replicas of the workloads that run there."""
    hosts, per_node = hosts_per_replica(members[0]), replicas_per_node(members[0])
    low = hosts * math.ceil(sum(each.serve.min_replicas for each in members) / per_node)
    return low, hosts * math.ceil(sum(each.candidate.max_replicas for each in members) / per_node), low


def cache_gib(context: CompileContext) -> int:
    """GiB of disk for one replica's weights and tokenizer. On Neuron a downloaded model is written again in 32 bit
    (vllm-project/vllm-neuron@a5ef7c8, model loader)."""
    return math.ceil(CACHE_SHARE * (3 if context.machine.kind == "neuron" else 1) * context.sizing.facts.weights_bytes / GIB)


def pod_memory_gib(context: CompileContext) -> int:
    """GiB of host memory that a pod requests."""
    return max(1, int((context.machine.memory_bytes or 0) * NODE_SHARE / replicas_per_node(context) / GIB))


def hub_weights(context: CompileContext) -> tuple[Body, str]:
    """(pod volume, model) for a repository of the Hugging Face hub, which is downloaded to the node."""
    uri = context.serve.model.weights.uri if context.serve.model.weights else ""
    return {"name": "weights", "emptyDir": {}}, uri.removeprefix(HUB)


def access_objects(context: CompileContext, *policies: ManifestPlan) -> tuple[ManifestPlan, ...]:
    """Service account and secrets of the server, and network policies that allow DNS, identity, HTTPS out and `policies` only."""
    namespace = context.namespace
    basics = (default_deny(namespace), allow_basics(namespace, context.candidate.cloud))
    secrets = run_secrets(context.spec.workload, namespace, context.suffix)
    return (service_account(namespace, context.named(ACCOUNT)), *secrets, *basics, *policies)


def first_objects(context: CompileContext) -> tuple[str, ...]:
    """Keys of the objects that must exist before a pod: network policies, its service account, and the Secret.

    Without the policies its connections are open (docs/decisions/0014). A pod without its account is refused. A pod reads the Secret only
    when it starts.
    """
    policies = (f"policy.{context.namespace}.{name}" for name in ("deny", "allow-basics"))
    first = (*policies, account_key(context.namespace, context.named(ACCOUNT)))
    return (*first, secret_key(context.namespace, context.suffix)) if context.spec.workload.secret_variables else first


def model_server(context: CompileContext, buckets: tuple[BucketPlan, ...], pool: PoolPlan, volume: Body, model: str) -> ModelServer:
    """The server of one replica. volume: of the weights; model: path or repository to serve."""
    workload, machine, per_node, hosts = context.serve, context.machine, replicas_per_node(context), hosts_per_replica(context)
    is_client = bool(pool.sharing and pool.sharing.strategy == "mps")
    return ModelServer(
        name=workload.name,
        namespace=context.namespace,
        account=context.named(ACCOUNT),
        image=workload.run.image or SERVER_IMAGES[SGLANG if is_sglang(context) else "vllm"],
        command=workload.run.command or _command(context, model),
        args=workload.run.args or _arguments(context),
        resource=pool.pod_resource,
        tolerations=tuple(pool.device_tolerations),
        disk_gib=0 if buckets else cache_gib(context),
        accelerators=context.candidate.parallelism.accelerators // hosts,
        cpu=max(1, int((machine.vcpus or 1) * NODE_SHARE / per_node)),
        memory_gib=pod_memory_gib(context),
        weights_bytes=context.sizing.facts.weights_bytes,
        weights_volume=volume,
        weights_are_there=all(bucket.existing_name for bucket in buckets),
        concurrency=context.fit.speed.concurrency or 1,
        longest_request_s=_longest_request_s(context),
        min_replicas=workload.min_replicas,
        max_replicas=context.candidate.max_replicas,
        default_replicas=context.candidate.replicas,
        env=tuple((({} if buckets else {"HF_HOME": WEIGHTS_PATH}) | _lora_environment(workload) | workload.run.env).items()),
        secrets=tuple((name, source.secret) for name, source in workload.secret_variables.items()),
        hosts=hosts,
        after=first_objects(context),
        suffix=context.suffix,
        has_shm=not is_client,
        node_labels=tuple(label for label in pool.labels if label[0] == COMPUTE_CLASS_LABEL),
        host_ipc=is_client and profile(context.candidate.cloud).keeps_shared_name,
        first_token=(workload.ttft.target, workload.ttft.percentile) if workload.ttft else None,
        **_endpoint(context),
    )


def is_sglang(context: CompileContext) -> bool:
    return context.serve.engine == SGLANG


def _command(context: CompileContext, model: str) -> tuple[str, ...]:
    """Empty for a server that the spec describes: its image knows its command."""
    if context.serve.server:
        return ()
    return sglang_command(model) if is_sglang(context) else ("vllm", "serve", model)


def _endpoint(context: CompileContext) -> dict[str, Any]:
    """Where the server answers, and its metrics: those of the spec for a server of its own."""
    server = context.serve.endpoint
    if server is None:
        return {"engine_metrics": SGLANG_METRICS if is_sglang(context) else VLLM_METRICS}
    metrics = EngineMetrics(server.metrics.queue, server.metrics.in_flight or "")
    return {
        "port": server.port,
        "health_path": server.health,
        "metrics_path": server.metrics.path,
        "metrics_port": server.metrics.port or 0,
        "engine_metrics": metrics,
    }


def _lora_environment(workload: Serve) -> dict[str, str]:
    return UPDATES if workload.loras and workload.loras.updates and workload.engine != SGLANG else {}


def _arguments(context: CompileContext) -> tuple[str, ...]:
    """None of its own for a server that the spec describes: its image knows them."""
    workload, parallelism = context.serve, context.candidate.parallelism
    if workload.server:
        return ()
    if is_sglang(context):
        return sglang_arguments(context, _computes_bf16(context), _seen_share(context))
    chosen = {
        "served-model-name": context.sizing.facts.model,
        "port": SERVER_PORT,
        "tensor-parallel-size": parallelism.tensor,
        "pipeline-parallel-size": parallelism.pipeline if parallelism.pipeline > 1 else None,
        "dtype": "half" if context.candidate.precision == "fp16" or not _computes_bf16(context) else None,
        "max-model-len": workload.max_context or context.sizing.facts.sequence_length or None,
        "max-num-seqs": context.fit.speed.concurrency,
        "gpu-memory-utilization": f"{context.fit.memory.max_fill * _seen_share(context):g}",
        "quantization": QUANTIZATIONS.get(context.candidate.precision),
        "kv-cache-dtype": VLLM_CACHE_DTYPES.get(workload.kv_dtype),
        "max-num-batched-tokens": _batched_tokens(context),
        "speculative-config": _speculative_config(workload.speculation),
    }
    switch = CHUNKED_PREFILL.get(workload.chunked_prefill)
    given = (f"--{name}={value}" for name, value in chosen.items() if value is not None)
    return (*given, *([switch] if switch else []), *vllm_lora_arguments(workload))


def _batched_tokens(context: CompileContext) -> int | None:
    """Tokens of an iteration; None: the server's default. Without chunked prefill vLLM requires those of the longest request
    (vllm/config/scheduler.py, SchedulerConfig)."""
    given = context.serve.max_batched_tokens
    if context.serve.chunked_prefill is not False:
        return given
    row = context.catalog.accelerator_by_name[(context.machine.accelerator or "").lower()]
    chip = accelerators.chip(accelerators.find(row.name, context.catalog), memory_bytes=context.fit.memory.capacity_bytes)
    default = int(SMALL_VLLM_BATCHED_TOKENS if has_small_vllm_defaults(chip) else DEFAULT.batched_tokens)
    return max(given or default, context.serve.max_context or context.sizing.facts.sequence_length or 0)


def _seen_share(context: CompileContext) -> float:
    """Part of the memory that the server sees that it may use: of a MIG instance all, else its part of the whole accelerator.

    vLLM's limit is for one server, relative to the memory of the device (https://docs.vllm.ai/en/v0.27.0/configuration/engine_args/), whose
    total MPS does not change.
    """
    sharing = context.candidate.sharing
    return sharing.memory_share if sharing and sharing.strategy != "mig" else 1.0


def _speculative_config(speculation: Speculation | None) -> str | None:
    """https://docs.vllm.ai/en/v0.27.0/features/spec_decode/"""
    if speculation is None:
        return None
    method = (
        {"model": speculation.draft_model} if speculation.draft_model else {"method": "ngram", "prompt_lookup_max": PROMPT_LOOKUP_TOKENS}
    )
    return json.dumps({**method, "num_speculative_tokens": speculation.draft})


def _computes_bf16(context: CompileContext) -> bool:
    """Whether the accelerator has bf16 arithmetic. Without it vLLM rejects models in bf16 unless another dtype is set
    (https://github.com/vllm-project/vllm/issues/1157)."""
    row = context.catalog.accelerator_by_name.get((context.machine.accelerator or "").lower())
    return row is None or row.supports("bf16")


def _longest_request_s(context: CompileContext) -> int:
    """Timeout in seconds: a multiple of the p95 response time at the sized speed."""
    tokens = context.serve.output_tokens
    writing_s = (tokens.p95 or tokens.mean) * (context.fit.speed.tpot_s or 0.05) if tokens else 0.0
    usual_s = writing_s + (context.fit.speed.ttft_s or 1)
    return max(MIN_REQUEST_TIMEOUT_S, math.ceil(REQUEST_TIMEOUT_FACTOR * usual_s))
