"""Builders of Kubernetes objects as data. Cloud-specific is only the address of the identity endpoint."""

from typing import Any

from rackwright.clouds import profile
from rackwright.spec.workload import Workload
from rackwright.stackplan import ManifestPlan, ref
from rackwright.stackplan.namespaces import SYSTEM_NAMESPACE
from rackwright.stackplan.operators import STACK_METRICS, MetricsEndpoint

Body = dict[str, Any]
SECRETS = "run-secrets"
NODE_DNS = ("169.254.20.10/32", "169.254.169.254/32")
"""Name servers outside kube-system: NodeLocal DNSCache and Cloud DNS (cloud.google.com/kubernetes-engine/docs/how-to/network-policy)."""
SOURCED = 'for _ in {{1..120}}; do [ -r {0} ] && break; sleep 5; done; . {0} && exec "$0" "$@"'
"""Shell command that waits up to ten minutes for a script that the node's installer writes, sets its variables, then runs the container's
command. Without the script the container ends, and does not use TCP."""


def obj(api: str, kind: str, name: str, namespace: str = "", spec: Body | None = None, **more: Any) -> Body:
    """An object's body; `more` holds top-level fields besides spec, and labels or annotations."""
    meta: Body = {"name": name} | ({"namespace": namespace} if namespace else {})
    meta |= {key: value for key in ("labels", "annotations") if (value := more.pop(key, None))}
    return {"apiVersion": api, "kind": kind, "metadata": meta} | ({"spec": spec} if spec is not None else {}) | more


def service_account(namespace: str, name: str) -> ManifestPlan:
    """A service account without automatic API token; the cloud identity is bound to it separately."""
    return ManifestPlan(account_key(namespace, name), obj("v1", "ServiceAccount", name, namespace, automountServiceAccountToken=False))


def account_key(namespace: str, name: str) -> str:
    """Key of the manifest of a service account."""
    return f"account.{namespace}.{name}"


Rule = tuple[str, tuple[str, ...], list[str]]
READ, MANAGE = ["get", "list", "watch"], ["get", "list", "watch", "create", "update", "patch", "delete"]
TEAM_RULES: tuple[Rule, ...] = (
    ("", ("pods", "pods/log", "events"), READ),
    ("batch", ("jobs",), MANAGE),
    ("jobset.x-k8s.io", ("jobsets",), MANAGE),
    ("kueue.x-k8s.io", ("localqueues", "workloads"), READ),
)
"""(API group, resources, verbs) of a team in its namespace: its jobs, and what happens to them; no nodes, secrets or definitions."""


def team_access(namespace: str, further: tuple[Rule, ...] = ()) -> tuple[ManifestPlan, ...]:
    """A Role for the group with the namespace's name, which the cluster's administrators map to people. further: rights on other jobs."""
    api, key = "rbac.authorization.k8s.io", f"role.{namespace}"
    rules = [{"apiGroups": [group], "resources": [*resources], "verbs": verbs} for group, resources, verbs in (*TEAM_RULES, *further)]
    role = obj(f"{api}/v1", "Role", "team", namespace, rules=rules)
    subject = {"apiGroup": api, "kind": "Group", "name": namespace}
    bound = obj(
        f"{api}/v1", "RoleBinding", "team", namespace, roleRef={"apiGroup": api, "kind": "Role", "name": "team"}, subjects=[subject]
    )
    return ManifestPlan(key, role), ManifestPlan(f"{key}.binding", bound, (key,))


def run_secrets(workload: Workload, namespace: str, suffix: str = "") -> tuple[ManifestPlan, ...]:
    """The workload's secrets as one Secret with a key per variable; values are references until deployment. suffix: of its name."""
    values = {variable: ref(f"secret.{source.secret}") for variable, source in workload.secret_variables.items()}
    if not values:
        return ()
    body = obj("v1", "Secret", f"{SECRETS}{suffix}", namespace, type="Opaque", stringData=values)
    return (ManifestPlan(secret_key(namespace, suffix), body),)


def secret_key(namespace: str, suffix: str = "") -> str:
    """Key of the manifest of a workload's Secret."""
    return f"secret.{namespace}{suffix.replace('-', '.', 1)}"


def default_deny(namespace: str) -> ManifestPlan:
    spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return ManifestPlan(f"policy.{namespace}.deny", obj("networking.k8s.io/v1", "NetworkPolicy", "default-deny", namespace, spec))


def allow(namespace: str, name: str, ingress: list[Body] | None = None, egress: list[Body] | None = None) -> ManifestPlan:
    """A policy that allows the listed traffic for all pods of the namespace."""
    spec: Body = {"podSelector": {}, "policyTypes": []}
    for direction, rules in (("Ingress", ingress), ("Egress", egress)):
        if rules is not None:
            spec["policyTypes"].append(direction)
            spec[direction.lower()] = rules
    return ManifestPlan(f"policy.{namespace}.{name}", obj("networking.k8s.io/v1", "NetworkPolicy", name, namespace, spec))


def allow_basics(namespace: str, cloud: str) -> ManifestPlan:
    """DNS, the cloud's identity endpoint, and HTTPS out: object store, registry and cloud APIs."""
    dns = {"to": [_namespace(SYSTEM_NAMESPACE), *map(_block, NODE_DNS)], "ports": [_port(53, "UDP"), _port(53)]}
    identity = [{"to": [_block(cidr)], "ports": [_port(port)]} for cidr, port in profile(cloud).identity_endpoints]
    return allow(namespace, "allow-basics", egress=[dns, *identity, {"ports": [_port(443)]}])


def allow_metrics(namespace: str, metrics: MetricsEndpoint = STACK_METRICS) -> ManifestPlan:
    """Allow Prometheus to read metrics on every port."""
    return allow(namespace, "allow-metrics", ingress=[{"from": [_namespace(metrics.namespace)]}])


def allow_within(namespace: str) -> ManifestPlan:
    """Allow all traffic between pods of the namespace: rendezvous, NCCL's TCP bootstrap, collectives over TCP."""
    peers = [{"podSelector": {}}]
    return allow(namespace, "allow-within", ingress=[{"from": peers}], egress=[{"to": peers}])


def device_claim(namespace: str, name: str, device_class: str, count: int, after: tuple[str, ...] = (), request: str = "") -> ManifestPlan:
    """A claim template for `count` devices of a class. Kueue supports exact numbers only. request: name of the request, default `name`."""
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    spec = {"spec": {"devices": {"requests": [{"name": request or name, "exactly": exactly}]}}}
    return ManifestPlan(f"claim.{namespace}.{name}", obj("resource.k8s.io/v1", "ResourceClaimTemplate", name, namespace, spec), after)


def static_volume(name: str, claim: str, namespace: str, size: str, mode: str, options: list[str], source: Body) -> list[Body]:
    """A persistent volume that keeps its data, and the claim `claim` that is bound to it. source: such as `{"csi": ...}`."""
    volume: Body = {
        "capacity": {"storage": size},
        "accessModes": [mode],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "volumeMode": "Filesystem",
        **({"mountOptions": options} if options else {}),
        "claimRef": {"name": claim, "namespace": namespace},
        **source,
    }
    bound = {"accessModes": [mode], "storageClassName": "", "volumeName": name, "resources": {"requests": {"storage": size}}}
    return [obj("v1", "PersistentVolume", name, spec=volume), obj("v1", "PersistentVolumeClaim", claim, namespace, bound)]


def storage_class(key: str, name: str, provisioner: str, parameters: Body, default: bool = True) -> ManifestPlan:
    """A class of volumes in the zone of their pod, which are deleted with their claims. Operators claim disks of it."""
    body = obj(
        "storage.k8s.io/v1",
        "StorageClass",
        name,
        annotations={"storageclass.kubernetes.io/is-default-class": str(default).lower()},
        provisioner=provisioner,
        parameters=parameters,
        volumeBindingMode="WaitForFirstConsumer",
        allowVolumeExpansion=True,
        reclaimPolicy="Delete",
    )
    return ManifestPlan(key, body, layer="operators")


def priority_class(name: str, value: int, description: str, preempts: bool = False, layer: str = "workloads") -> ManifestPlan:
    policy = "PreemptLowerPriority" if preempts else "Never"
    body = obj(
        "scheduling.k8s.io/v1", "PriorityClass", name, value=value, description=description, preemptionPolicy=policy, globalDefault=False
    )
    return ManifestPlan(f"priority.{name}", body, layer=layer)


def _namespace(name: str) -> Body:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def _block(cidr: str) -> Body:
    return {"ipBlock": {"cidr": cidr}}


def _port(port: int, protocol: str = "TCP") -> Body:
    return {"port": port, "protocol": protocol}


def from_namespace(name: str, *ports: int) -> Body:
    """An ingress rule: any pod of a namespace, on these ports."""
    return {"from": [_namespace(name)], "ports": [_port(p) for p in ports]}


def from_blocks(cidrs: tuple[str, ...], *ports: int) -> Body:
    """An ingress rule: these address ranges, on these ports."""
    return {"from": [_block(c) for c in cidrs], "ports": [_port(p) for p in ports]}
