"""InferenceFleet on GKE: replicas on an autoscaled pool, behind an internal gateway, scaled on the server's own queue."""

import math
from dataclasses import replace

from rackwright.compile.addons import gke_addons
from rackwright.compile.draft import Draft
from rackwright.compile.gke import HEALTH_CHECKERS, SERVICES, boot_disk_gib, fuse_annotations, gateway_objects, weights_volume
from rackwright.compile.manifests import Body, allow, allow_basics, default_deny, from_blocks, from_namespace, run_secrets, service_account
from rackwright.compile.network import GCP_PROXY, gke_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pool, system_pool
from rackwright.compile.releases import keda, monitoring
from rackwright.compile.serving import PORT, WEIGHTS_PATH, Server, server_objects
from rackwright.compile.storage import HUB, buckets, grants
from rackwright.compile.training import cluster_want, namespaces, pins
from rackwright.compile.versions import SERVER_IMAGES
from rackwright.compile.wants import BucketWant, IdentityWant, KeyWant, Kind, ManifestWant, PlaceWant, PoolWant, StackPlan
from rackwright.units import GIB

ACCOUNT = "server"
NODE_SHARE = 0.6
"""Part of a node's CPU and memory its replicas may ask for together; the rest is the node's own, the FUSE sidecar's and the agents'."""
IMAGE_GIB = 100
"""Of a node's disk, for the server's image twice (an update pulls the next one), logs and compiled kernels."""
CACHE_SHARE = 1.1
SLOWEST = 4
"""The longest request is allowed this many times its expected duration."""
LEAST_PATIENCE_S = 120
QUANTIZATIONS = {"fp8": "fp8", "nf4": "bitsandbytes"}
"""Formats vLLM makes from 16-bit weights while it loads them; weights in another format say so themselves."""


def fleet_plan(draft: Draft) -> StackPlan:
    place = place_want(draft)
    wanted = buckets(draft)
    server = _server(draft, wanted)
    releases = (monitoring(), keda())
    return StackPlan(
        name=draft.spec.name,
        kind=Kind.INFERENCE_FLEET,
        place=place,
        network=gke_network(place, "none", proxy=True),
        key=KeyWant(),
        tags=draft.tags,
        buckets=wanted,
        identities=(IdentityWant("server", grants(wanted), draft.namespace, ACCOUNT),),
        cluster=cluster_want(draft, gateway_api=True),
        pools=(system_pool(place), _pool(draft, place)),
        addons=gke_addons(),
        namespaces=namespaces(draft, releases, "restricted"),
        releases=releases,
        manifests=(*_policies(draft), *server_objects(server), *gateway_objects(server)),
        services=SERVICES,
        pins=pins(releases, (("server", server.image),)),
        expires_on=draft.expires_on,
    )


def _replicas_per_node(draft: Draft) -> int:
    return draft.candidate.accelerators_per_node // draft.candidate.parallelism.accelerators


def _pool(draft: Draft, place: PlaceWant) -> PoolWant:
    """As many machines as the least and the most replicas need; disks hold the weights of each. Replicas need no fabric."""
    per_node = _replicas_per_node(draft)
    least = math.ceil(draft.serve.min_replicas / per_node)
    most = math.ceil(draft.candidate.max_replicas / per_node)
    pool = accelerator_pool(draft, place, "gpu", (least, most, least))
    disk = replace(pool.disk, size_gib=IMAGE_GIB + boot_disk_gib(per_node * _cache_gib(draft)))
    return replace(pool, disk=disk, fabric="none", adjacent=False)


def _cache_gib(draft: Draft) -> int:
    """GiB of the node's disk one replica's weights take, with the tokenizer and what lies beside them."""
    return math.ceil(CACHE_SHARE * draft.sizing.facts.weights_bytes / GIB)


def _server(draft: Draft, wanted: tuple[BucketWant, ...]) -> Server:
    workload, machine, per_node = draft.serve, draft.machine, _replicas_per_node(draft)
    volume, model = _weights(draft, wanted)
    return Server(
        name=workload.name,
        namespace=draft.namespace,
        account=ACCOUNT,
        image=workload.run.image or SERVER_IMAGES["vllm"],
        command=workload.run.command or ("vllm", "serve", model),
        args=workload.run.args or _arguments(draft),
        resource="nvidia.com/gpu",
        accelerators=draft.candidate.parallelism.accelerators,
        cpu=max(1, int((machine.vcpus or 1) * NODE_SHARE / per_node)),
        memory_gib=max(1, int((machine.memory_bytes or 0) * NODE_SHARE / per_node / GIB)),
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
        annotations=fuse_annotations(_cache_gib(draft)) if wanted else (),
    )


def _weights(draft: Draft, wanted: tuple[BucketWant, ...]) -> tuple[Body, str]:
    """(volume, what to serve): the bucket's folder, or a repository of the hub that is downloaded to the node."""
    if not wanted:
        uri = draft.serve.model.weights.uri if draft.serve.model.weights else ""
        return {"name": "weights", "emptyDir": {}}, uri.removeprefix(HUB)
    return weights_volume(wanted[0].key, wanted[0].prefix), WEIGHTS_PATH


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


def _policies(draft: Draft) -> tuple[ManifestWant, ...]:
    """Account, secrets, and a network closed but for the gateway's proxies and health checks and the metrics reader."""
    namespace = draft.namespace
    gateway = from_blocks((GCP_PROXY, *HEALTH_CHECKERS), PORT)
    return (
        service_account(namespace, ACCOUNT),
        *run_secrets(draft.spec.workload.run, namespace),
        default_deny(namespace),
        allow_basics(namespace, draft.candidate.cloud),
        allow(namespace, "allow-gateway", ingress=[gateway, from_namespace("monitoring", PORT)]),
    )
