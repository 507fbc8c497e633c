"""One replica of a served model, from the fit: how much of a machine, or how many machines; with which arguments; for how long."""

import math

from rackwright.compile.draft import Draft
from rackwright.compile.manifests import Body
from rackwright.compile.serving import PORT, WEIGHTS_PATH, Server
from rackwright.compile.storage import HUB
from rackwright.compile.versions import SERVER_IMAGES
from rackwright.compile.wants import BucketWant, PoolWant
from rackwright.units import GIB

ACCOUNT = "server"
NODE_SHARE = 0.6
"""Part of a node's CPU and memory its replicas may ask for together; the rest is the node's own, that of what mounts the weights, and the
agents'."""
IMAGE_GIB = 100
"""Of a node's disk, for the server's image twice (an update pulls the next one), logs and compiled kernels."""
CACHE_SHARE = 1.1
SLOWEST = 4
"""The longest request is allowed this many times its expected duration."""
LEAST_PATIENCE_S = 120
QUANTIZATIONS = {"fp8": "fp8", "nf4": "bitsandbytes"}
"""Formats vLLM makes from 16-bit weights while it loads them; weights in another format say so themselves."""


def hosts_of(draft: Draft) -> int:
    """Machines one replica needs."""
    return math.ceil(draft.candidate.parallelism.accelerators / draft.candidate.accelerators_per_node)


def replicas_per_node(draft: Draft) -> int:
    """1 where a replica needs several nodes."""
    return max(1, draft.candidate.accelerators_per_node // draft.candidate.parallelism.accelerators)


def node_bounds(draft: Draft) -> tuple[int, int, int]:
    """(least, most, at first) machines: as many as the least and the most replicas need."""
    hosts, per_node = hosts_of(draft), replicas_per_node(draft)
    least = hosts * math.ceil(draft.serve.min_replicas / per_node)
    return least, hosts * math.ceil(draft.candidate.max_replicas / per_node), least


def cache_gib(draft: Draft) -> int:
    """GiB of the node's disk one replica's weights take, with the tokenizer and what lies beside them; on Neuron a downloaded model is
    written once more, at 32 bit (vllm-project/vllm-neuron@a5ef7c8, model loader)."""
    return math.ceil(CACHE_SHARE * (3 if draft.machine.kind == "neuron" else 1) * draft.sizing.facts.weights_bytes / GIB)


def pod_memory_gib(draft: Draft) -> int:
    """GiB of its machine's memory a pod of a replica asks for."""
    return max(1, int((draft.machine.memory_bytes or 0) * NODE_SHARE / replicas_per_node(draft) / GIB))


def hub_weights(draft: Draft) -> tuple[Body, str]:
    """(volume, what to serve) of a repository of the hub that is downloaded to the node."""
    uri = draft.serve.model.weights.uri if draft.serve.model.weights else ""
    return {"name": "weights", "emptyDir": {}}, uri.removeprefix(HUB)


def server_of(draft: Draft, wanted: tuple[BucketWant, ...], pool: PoolWant, volume: Body, model: str) -> Server:
    """volume, model: where the weights are, and what to serve."""
    workload, machine, per_node, hosts = draft.serve, draft.machine, replicas_per_node(draft), hosts_of(draft)
    return Server(
        name=workload.name,
        namespace=draft.namespace,
        account=ACCOUNT,
        image=workload.run.image or SERVER_IMAGES["vllm"],
        command=workload.run.command or ("vllm", "serve", model),
        args=workload.run.args or _arguments(draft),
        resource=pool.resource,
        accelerators=draft.candidate.parallelism.accelerators // hosts,
        cpu=max(1, int((machine.vcpus or 1) * NODE_SHARE / per_node)),
        memory_gib=pod_memory_gib(draft),
        weights_bytes=draft.sizing.facts.weights_bytes,
        weights_volume=volume,
        weights_are_there=all(bucket.existing_name for bucket in wanted),
        concurrency=draft.fit.speed.concurrency or 1,
        longest_request_s=_longest_request_s(draft),
        least=workload.min_replicas,
        most=draft.candidate.max_replicas,
        usual=draft.candidate.replicas,
        env=tuple((({} if wanted else {"HF_HOME": WEIGHTS_PATH}) | workload.run.env).items()),
        secrets=tuple(workload.run.secrets),
        hosts=hosts,
    )


def _arguments(draft: Draft) -> tuple[str, ...]:
    workload, parallelism = draft.serve, draft.candidate.parallelism
    chosen = {
        "served-model-name": draft.sizing.facts.model,
        "port": PORT,
        "tensor-parallel-size": parallelism.tensor,
        "pipeline-parallel-size": parallelism.pipeline if parallelism.pipeline > 1 else None,
        "max-model-len": workload.max_context or draft.sizing.facts.sequence_length or None,
        "max-num-seqs": draft.fit.speed.concurrency,
        "gpu-memory-utilization": f"{draft.fit.memory.max_fill:g}",
        "quantization": QUANTIZATIONS.get(draft.candidate.precision),
        "kv-cache-dtype": "fp8" if workload.kv_dtype == "fp8" else None,
    }
    return tuple(f"--{name}={value}" for name, value in chosen.items() if value is not None)


def _longest_request_s(draft: Draft) -> int:
    """Seconds; the p95 answer at the speed sizing found, several times over."""
    tokens = draft.serve.output_tokens
    usual_s = (tokens.p95 or tokens.mean) * (draft.fit.speed.tpot_s or 0.05) + (draft.fit.speed.ttft_s or 1)
    return max(LEAST_PATIENCE_S, math.ceil(SLOWEST * usual_s))
