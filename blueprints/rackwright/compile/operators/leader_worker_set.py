"""Replicas that span machines: the LeaderWorkerSet operator and its groups of pods."""

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR, release
from rackwright.compile.operators.versions import CHARTS
from rackwright.compile.serving.model_server import ModelServer, container, pod, pod_metadata, process, rollout, wait_s
from rackwright.stackplan import ManifestPlan, ReleasePlan
from rackwright.stackplan.namespaces import LWS_NAMESPACE

API = "leaderworkerset.x-k8s.io/v1"
POD_ADDRESS = {"name": "VLLM_HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
"""Address that a vLLM process advertises; it cannot select among several addresses of a pod."""
MEMORY_LOCK = {"drop": ["ALL"], "add": ["IPC_LOCK"]}
"""RDMA locks memory."""


def leader_worker_set_release() -> ReleasePlan:
    """Two controllers with the image of the chart's release; the chart's default is a branch.

    The chart sets no seccomp profile, without which its namespace, whose level is restricted, admits no pod of it.
    """
    values = {
        "replicaCount": 2,
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        "image": {"manager": {"tag": f"v{CHARTS['lws'].version}", "pullPolicy": "IfNotPresent"}},
        "podSecurityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    }
    return release("lws", LWS_NAMESPACE, values)


def leader_worker_set(server: ModelServer) -> ManifestPlan:
    """A LeaderWorkerSet without a replica count, which the autoscaler sets.

    If one pod fails, the whole group restarts, because its processes wait for one another. The operator sets each pod's number and the
    leader's name, which Kubernetes inserts into the arguments; vLLM does not need Ray for this
    (https://docs.vllm.ai/en/stable/serving/parallelism_scaling/, https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/).
    """
    joined = ("--distributed-executor-backend=mp", "--nnodes=$(LWS_GROUP_SIZE)", "--master-addr=$(LWS_LEADER_ADDRESS)")
    leader = container(server) | {"args": [*server.args, *joined, "--node-rank=0"]}
    worker = process(server, (*server.args, *joined, "--node-rank=$(LWS_WORKER_INDEX)", "--headless"))
    spec = {
        "startupPolicy": "LeaderCreated",
        "networkConfig": {"subdomainPolicy": "Shared"},
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": rollout(server)},
        "leaderWorkerTemplate": {
            "size": server.hosts,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "leaderTemplate": _template(server, leader),
            "workerTemplate": _template(server, worker),
        },
    }
    body = obj(API, "LeaderWorkerSet", server.name, server.namespace, spec)
    return ManifestPlan(server.workload, body, ("lws", *server.after), wait_s=wait_s(server))


def _template(server: ModelServer, main: Body) -> Body:
    rights = main["securityContext"] | ({"capabilities": MEMORY_LOCK} if server.pins_memory else {})
    claims = {"claims": [{"name": server.claim}]} if server.claim else {}
    shared = {"env": [POD_ADDRESS, *main["env"]], "securityContext": rights, "resources": main["resources"] | claims}
    claimed = {"resourceClaims": [{"name": server.claim, "resourceClaimTemplateName": server.claim}]} if server.claim else {}
    return {"metadata": pod_metadata(server), "spec": pod(server, main | shared) | claimed}
