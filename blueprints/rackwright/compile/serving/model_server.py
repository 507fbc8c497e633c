"""Pods of a model server on any cloud, and the Deployment that runs its replicas."""

import math
from dataclasses import dataclass

from rackwright.compile.kubernetes.manifests import SECRETS, SOURCED, Body, obj
from rackwright.compile.serving.engine_metrics import VLLM_METRICS, EngineMetrics
from rackwright.stackplan import ManifestPlan, digest_of_refs
from rackwright.stackplan.labels import LOAD_SECONDS_ANNOTATION, POOL_LABEL, ROLE_LABEL, SECRETS_DIGEST_ANNOTATION, SERVER_PORT
from rackwright.stackplan.operators import STACK_METRICS, MetricsEndpoint

WEIGHTS_PATH = "/weights"
LOAD_BYTES_PER_S = 1e8
"""Assumed load rate of weights on a new node, for the start-up probe. Its boot disk, which caches them, has at least 140 MiB/s (minimum of
pd-balanced and hyperdisk-balanced)."""
START_S, PROBE_PERIOD_S, NODE_START_S = 600, 10, 600
"""Seconds for image, compilation and graph capture besides the weights; seconds between probes; seconds until a machine joins."""
DRAIN_S = 15
"""Seconds between removing a pod from the endpoints and stopping its server."""
MAX_AFFINITY = 100
"""Maximum weight of a preferred node affinity."""
USER_ID = 1000
HOME, MIDDLEWARE_FOLDER = "/home/server", "/etc/rackwright"
"""Writable folder of a server, and the folder of its middleware."""
LEADER = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
"""Label of the leader pod of a group (kubernetes-sigs/lws 0.10.0 api/leaderworkerset/v1)."""


@dataclass(frozen=True)
class ModelServer:
    """One replica. accelerators, cpu and memory_gib are per pod.

    weights_volume: pod volume with the weights. weights_are_there: False while a new bucket is empty. concurrency: requests in flight that
    it was sized for. secrets: (variable, secret of the spec), from the namespace's Secret. min_replicas, max_replicas, default_replicas:
    of the autoscaler. hosts: pods of a replica, each on its own node; the first answers. devices: other resources that a pod requests.
    claim: claim template in place of devices. pins_memory: for RDMA. after: keys that it depends on. compile_s: seconds to compile the
    model. as_root: run as root. folder: working directory. suffix: of names that the servers of a stack do not share.
    node_labels: further labels of its nodes.
    preferred_pools: pools of a fallback in the order in which they are filled. disk_gib: of the node, for downloaded weights.
    metrics: Prometheus that the autoscaler queries. engine_metrics: what the server publishes. first_token: (seconds, percentile) of the
    goal for the time to first token; None without a goal. port: of the container. metrics_port: where it differs from `port`.
    wake_query: query that counts requests while it has no replica; empty without one. middleware: ConfigMap with the module that its
    arguments load. role: of its nodes; default: `accelerator` with the suffix. node_labels: further labels of its nodes.
    node_folders: volume, folder of the node and its path in the container, which only reads it. script: of the node, whose variables the
    command needs.
    has_shm: it has its own /dev/shm; clients of MPS have that of the MPS daemon, which the device plugin mounts. host_ipc: it reaches the
    daemon by the host's IPC (https://cloud.google.com/kubernetes-engine/docs/how-to/nvidia-mps-gpus).
    """

    name: str
    namespace: str
    account: str
    image: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    resource: str
    tolerations: tuple[Body, ...]
    accelerators: int
    cpu: int
    memory_gib: int
    weights_bytes: float
    weights_volume: Body
    concurrency: int
    longest_request_s: int
    min_replicas: int
    max_replicas: int
    default_replicas: int
    weights_are_there: bool = True
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    hosts: int = 1
    devices: tuple[tuple[str, str], ...] = ()
    claim: str = ""
    pins_memory: bool = False
    after: tuple[str, ...] = ()
    compile_s: int = 0
    as_root: bool = False
    folder: str = ""
    preferred_pools: tuple[str, ...] = ()
    node_labels: tuple[tuple[str, str], ...] = ()
    disk_gib: int = 0
    suffix: str = ""
    metrics: MetricsEndpoint = STACK_METRICS
    role: str = ""
    node_folders: tuple[tuple[str, str, str], ...] = ()
    script: str = ""
    has_shm: bool = True
    host_ipc: bool = False
    middleware: str = ""
    engine_metrics: EngineMetrics = VLLM_METRICS
    first_token: tuple[float, int] | None = None
    port: int = SERVER_PORT
    health_path: str = "/health"
    metrics_path: str = "/metrics"
    metrics_port: int = 0
    wake_query: str = ""

    @property
    def pod_security(self) -> str:
        """Pod security level that the server needs; RDMA locks memory, and no other level allows the host's IPC."""
        return "privileged" if self.pins_memory or self.host_ipc else "baseline" if self.as_root else "restricted"

    @property
    def labels(self) -> dict[str, str]:
        return {"app": self.name}

    @property
    def serving_labels(self) -> dict[str, str]:
        """Labels of the pods that accept requests."""
        return self.labels | (LEADER if self.hosts > 1 else {})

    @property
    def service(self) -> str:
        """The LeaderWorkerSet operator uses the group's name for its own headless service, and adopts any service of that name
        (kubernetes-sigs/lws@060ab4d pkg/utils/controller/controller_utils.go)."""
        return f"{self.name}-leader" if self.hosts > 1 else self.name

    @property
    def workload(self) -> str:
        """Key of the manifest that runs the replicas: a LeaderWorkerSet or a Deployment."""
        return self.key("group" if self.hosts > 1 else "deployment")

    def key(self, part: str) -> str:
        """Key of a manifest of the server."""
        return f"serving{self.suffix}.{part}"

    @property
    def ports(self) -> dict[str, int]:
        """Ports of the container by name."""
        return {"http": self.port} | ({"metrics": self.metrics_port} if self.metrics_port else {})

    @property
    def probe_s(self) -> int:
        """Seconds that the start-up probe allows."""
        return math.ceil(self.load_s / PROBE_PERIOD_S) * PROBE_PERIOD_S

    @property
    def load_s(self) -> int:
        """Seconds from pod start to the first answer: image, compilation, graph capture and weights."""
        return math.ceil(START_S + self.compile_s + self.weights_bytes / LOAD_BYTES_PER_S)


def deployment(server: ModelServer) -> ManifestPlan:
    """A Deployment without a replica count, which the autoscaler sets. It counts as failed after the time of a node and of the probe."""
    spec = {
        "selector": {"matchLabels": server.labels},
        "progressDeadlineSeconds": NODE_START_S + server.probe_s,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rollout(server)},
        "template": {"metadata": pod_metadata(server), "spec": pod(server, container(server))},
    }
    body = obj("apps/v1", "Deployment", server.name, server.namespace, spec)
    return ManifestPlan(server.workload, body, server.after, wait_s=wait_s(server))


def wait_s(server: ModelServer) -> int:
    """Seconds until the first replica answers; 0 where weights are missing, so that an update does not wait."""
    return NODE_START_S + server.load_s if server.weights_are_there else 0


def pod_metadata(server: ModelServer) -> Body:
    names = dict.fromkeys(f"secret.{secret}" for _, secret in server.secrets)
    digest = {SECRETS_DIGEST_ANNOTATION: digest_of_refs(*names)} if names else {}
    return {"labels": server.labels, "annotations": {**dict(server.annotations), LOAD_SECONDS_ANNOTATION: str(server.load_s)} | digest}


def rollout(server: ModelServer) -> Body:
    """Start a new replica first where the fleet can grow; otherwise stop one first, because no machine is free.

    At the maximum of replicas no machine is free either, and the new one would wait forever. The percentage is rounded down
    (apps/v1 RollingUpdateDeployment, LeaderWorkerSet RollingUpdateConfiguration): 1 at the maximum, 0 for few replicas.
    """
    if server.max_replicas > server.min_replicas:
        return {"maxSurge": 1, "maxUnavailable": f"{math.ceil(100 / server.max_replicas)}%"}
    return {"maxSurge": 0, "maxUnavailable": 1}


def pod(server: ModelServer, main: Body) -> Body:
    """Pod spec of the server."""
    user = {"runAsUser": 0} if server.as_root else {"runAsNonRoot": True, "runAsUser": USER_ID}
    return {
        "serviceAccountName": server.account,
        "terminationGracePeriodSeconds": server.longest_request_s + DRAIN_S,
        "nodeSelector": {ROLE_LABEL: server.role or f"accelerator{server.suffix}"} | dict(server.node_labels),
        "tolerations": list(server.tolerations),
        **_pool_affinity(server.preferred_pools),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": server.labels},
            }
        ],
        "securityContext": user | {"fsGroup": USER_ID, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [main],
        "volumes": [
            server.weights_volume,
            *(
                [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(1, server.memory_gib // 4)}Gi"}}]
                if server.has_shm
                else []
            ),
            {"name": "home", "emptyDir": {}},
            *({"name": name, "hostPath": {"path": folder}} for name, folder, _ in server.node_folders),
            *([{"name": "middleware", "configMap": {"name": server.middleware}}] if server.middleware else []),
        ],
    } | ({"hostIPC": True} if server.host_ipc else {})


def _pool_affinity(pools: tuple[str, ...]) -> Body:
    """Preferred nodes: those of the first pool, then of the second; empty without alternatives."""
    if len(pools) < 2:
        return {}
    terms = [
        {
            "weight": MAX_AFFINITY * (len(pools) - order) // len(pools),
            "preference": {"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": [pool]}]},
        }
        for order, pool in enumerate(pools)
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def container(server: ModelServer) -> Body:
    """Container that accepts requests, with a start-up probe that allows for loading the weights."""
    probe = {"httpGet": {"path": server.health_path, "port": "http"}}
    return process(server, server.args) | {
        "ports": [{"name": name, "containerPort": port} for name, port in server.ports.items()],
        "startupProbe": {**probe, "periodSeconds": PROBE_PERIOD_S, "failureThreshold": server.probe_s // PROBE_PERIOD_S},
        "readinessProbe": {**probe, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**probe, "periodSeconds": 10, "failureThreshold": 6},
        "lifecycle": {"preStop": {"sleep": {"seconds": DRAIN_S}}},
    }


def process(server: ModelServer, args: tuple[str, ...]) -> Body:
    """Container that loads weights onto accelerators, of a leader or a worker."""
    amounts = {"cpu": str(server.cpu), "memory": f"{server.memory_gib}Gi", server.resource: str(server.accelerators)} | dict(server.devices)
    disk = {"ephemeral-storage": f"{server.disk_gib}Gi"} if server.disk_gib else {}
    source = f"{SECRETS}{server.suffix}"
    secrets = [{"name": name, "valueFrom": {"secretKeyRef": {"name": source, "key": name}}} for name, _ in server.secrets]
    home = {"HOME": HOME, "USER": "server", "TORCHINDUCTOR_CACHE_DIR": f"{HOME}/inductor"}
    return {
        "name": "server",
        "image": server.image,
        "command": [*(["/bin/bash", "-c", SOURCED.format(server.script)] if server.script else []), *server.command],
        "args": list(args),
        "env": [{"name": name, "value": value} for name, value in (home | dict(server.env)).items()] + secrets,
        "resources": {"requests": amounts | disk, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["NET_RAW"] if server.as_root else ["ALL"]}},
        "volumeMounts": [
            {"name": server.weights_volume["name"], "mountPath": WEIGHTS_PATH, "readOnly": "emptyDir" not in server.weights_volume},
            *([{"name": "shm", "mountPath": "/dev/shm"}] if server.has_shm else []),
            {"name": "home", "mountPath": HOME},
            *({"name": name, "mountPath": path, "readOnly": True} for name, _, path in server.node_folders),
            *([{"name": "middleware", "mountPath": MIDDLEWARE_FOLDER, "readOnly": True}] if server.middleware else []),
        ],
    } | ({"workingDir": server.folder} if server.folder else {})
