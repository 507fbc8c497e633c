"""InferenceFleet on GKE: replicas on an autoscaled pool, behind an internal gateway, scaled on the server's own queue."""

import math
from dataclasses import replace

from rackwright.compile.addons import gke_addons
from rackwright.compile.draft import Draft
from rackwright.compile.gke import FUSE_ANNOTATIONS, HEALTH_CHECKERS, SERVICES, gateway_objects, weights_volume
from rackwright.compile.manifests import allow, allow_basics, default_deny, from_blocks, from_namespace, service_account
from rackwright.compile.network import GCP_PROXY, gke_network
from rackwright.compile.place import place_want
from rackwright.compile.pools import accelerator_pool, system_pool
from rackwright.compile.releases import keda, monitoring
from rackwright.compile.serving import PORT, WEIGHTS_PATH, Server, server_objects
from rackwright.compile.storage import GIB, buckets, grants
from rackwright.compile.training import cluster_want, namespaces, pins
from rackwright.compile.versions import GKE_VERSION, SERVER_IMAGES
from rackwright.compile.wants import BucketWant, DiskWant, IdentityWant, KeyWant, Kind, ManifestWant, PlaceWant, PoolWant, StackPlan
from rackwright.errors import UserError
from rackwright.problems import At, Problem

ACCOUNT = "server"
NODE_SHARE = 0.6
"""Part of a node's CPU and memory its replicas may ask for together; the rest is the node's own, the FUSE sidecar's and the agents'."""
SLOWEST = 4
"""The longest request is allowed this many times its expected duration."""
LEAST_PATIENCE_S = 120


def fleet_plan(draft: Draft) -> StackPlan:
    refuse(draft)
    place = place_want(draft)
    wanted = buckets(draft)
    server = _server(draft, wanted[0])
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
        cluster=cluster_want(draft, GKE_VERSION, gateway_api=True),
        pools=(system_pool(place), _pool(draft, place)),
        addons=gke_addons(),
        namespaces=namespaces(draft, releases, "restricted"),
        releases=releases,
        manifests=(*_policies(draft.namespace), *server_objects(server), *gateway_objects(server)),
        services=SERVICES,
        pins=pins(GKE_VERSION, releases, (("server", server.image),)),
        expires_on=draft.expires_on,
    )


def refuse(draft: Draft) -> None:
    """Raises UserError for what this release cannot serve."""
    workload = draft.spec.workload
    at = At() / "workloads" / 0
    problems = []
    if workload.scale_to_zero or workload.min_replicas == 0:
        reason = "a fleet at zero replicas needs a signal from something that stays up, and the server's own queue vanishes with its pods"
        problems.append(Problem("V-92", reason, at / "scale_to_zero", "leave min_replicas at 1 or more"))
    if draft.candidate.parallelism.accelerators > draft.candidate.accelerators_per_node:
        problems.append(Problem("C-wide-replica", "this release serves replicas that fit one machine", at, "pin a larger machine"))
    if workload.engine not in ("auto", "vllm"):
        problems.append(Problem("C-engine", f"this release runs vLLM, not {workload.engine}", at / "engine", "leave it at auto"))
    if len(draft.spec.workloads) > 1:
        problems.append(Problem("C-many-models", "this release serves one model per stack", At() / "workloads", "one spec per model"))
    if problems:
        raise UserError(problems)


def _replicas_per_node(draft: Draft) -> int:
    return draft.candidate.accelerators_per_node // draft.candidate.parallelism.accelerators


def _pool(draft: Draft, place: PlaceWant) -> PoolWant:
    """As many machines as the least and the most replicas need; disks hold image and weights twice."""
    per_node = _replicas_per_node(draft)
    least = math.ceil(draft.spec.workload.min_replicas / per_node)
    most = math.ceil(draft.candidate.max_replicas / per_node)
    pool = accelerator_pool(draft, place, "gpu", (least, most, least))
    return replace(pool, disk=DiskWant(100 + math.ceil(2 * draft.sizing.facts.weights_bytes / GIB)))


def _server(draft: Draft, weights: BucketWant) -> Server:
    workload, machine, per_node = draft.spec.workload, draft.machine, _replicas_per_node(draft)
    prefix = weights.prefix or ("" if weights.existing_name else draft.sizing.facts.model)
    return Server(
        name=workload.name,
        namespace=draft.namespace,
        account=ACCOUNT,
        image=workload.run.image or SERVER_IMAGES["vllm"],
        command=workload.run.command or ("vllm", "serve", WEIGHTS_PATH),
        args=workload.run.args or _arguments(draft),
        resource="nvidia.com/gpu",
        accelerators=draft.candidate.parallelism.accelerators,
        cpu=max(1, int((machine.vcpus or 1) * NODE_SHARE / per_node)),
        memory_gib=max(1, int((machine.memory_bytes or 0) * NODE_SHARE / per_node / GIB)),
        weights_bytes=draft.sizing.facts.weights_bytes,
        weights_volume=weights_volume(weights.key, prefix),
        concurrency=draft.fit.speed.concurrency or 1,
        longest_request_s=_longest_request_s(draft),
        least=workload.min_replicas,
        most=draft.candidate.max_replicas,
        usual=draft.candidate.replicas,
        env=tuple(workload.run.env.items()),
        annotations=FUSE_ANNOTATIONS,
    )


def _arguments(draft: Draft) -> tuple[str, ...]:
    workload, parallelism = draft.spec.workload, draft.candidate.parallelism
    chosen = {
        "served-model-name": draft.sizing.facts.model,
        "port": PORT,
        "tensor-parallel-size": parallelism.tensor,
        "pipeline-parallel-size": parallelism.pipeline if parallelism.pipeline > 1 else None,
        "max-model-len": workload.max_context,
        "quantization": "fp8" if draft.candidate.precision == "fp8" else None,
        "kv-cache-dtype": "fp8" if workload.kv_dtype == "fp8" else None,
    }
    return tuple(f"--{name}={value}" for name, value in chosen.items() if value is not None)


def _longest_request_s(draft: Draft) -> int:
    """Seconds; the p95 answer at the speed sizing found, several times over."""
    tokens = draft.spec.workload.output_tokens
    usual_s = (tokens.p95 or tokens.mean) * (draft.fit.speed.tpot_s or 0.05) + (draft.fit.speed.ttft_s or 1)
    return max(LEAST_PATIENCE_S, math.ceil(SLOWEST * usual_s))


def _policies(namespace: str) -> tuple[ManifestWant, ...]:
    """Closed, but for the gateway's proxies and health checks, and the metrics reader."""
    gateway = from_blocks((GCP_PROXY, *HEALTH_CHECKERS), PORT)
    return (
        service_account(namespace, ACCOUNT),
        default_deny(namespace),
        allow_basics(namespace),
        allow(namespace, "allow-gateway", ingress=[gateway, from_namespace("monitoring", PORT)]),
    )
