"""What keeps a team in its part of the cluster: quota, default account, and the least rights of pods that its fabric allows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.stackplan import ManifestPlan, PoolPlan
from rackwright.stackplan.labels import EFA_RESOURCE

ADMISSION = "admissionregistration.k8s.io/v1"
BASELINE_CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
"""Capabilities that pods of the level `baseline` may add (kubernetes.io/docs/concepts/security/pod-security-standards/#baseline)."""
MEMORY_CAPABILITIES = ("IPC_LOCK", "SYS_RESOURCE")
"""Of pods that lock memory: for RDMA, and for libtpu, which raises its limit."""
POLICY = "team-pods-{}"
"""Name of the policy, by namespace: policies belong to the cluster, which several stacks may share."""
HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC")


def team_quota(namespace: str, pools: tuple[PoolPlan, ...]) -> ManifestPlan:
    """Devices of the stack's pools, which a pod beside the queue cannot exceed either, and no port of a node or load balancer."""
    amounts: dict[str, int] = {}
    for pool in pools:
        devices = {pool.resource: pool.accelerator_count, EFA_RESOURCE: pool.fabric_interfaces if pool.devices == "plugin" else 0}
        for resource, count in devices.items():
            if resource and count:
                amounts[resource] = amounts.get(resource, 0) + count * pool.nodes_max
    hard: dict[str, int | str] = {f"requests.{resource}": str(count) for resource, count in amounts.items()}
    hard |= {"services.loadbalancers": "0", "services.nodeports": "0"}
    return ManifestPlan(f"quota.{namespace}", obj("v1", "ResourceQuota", "team", namespace, {"hard": hard}))


def default_account(namespace: str) -> ManifestPlan:
    """The account of pods that name none, without a token for the API. Kubernetes creates it with the namespace."""
    body = obj("v1", "ServiceAccount", "default", namespace, automountServiceAccountToken=False)
    return ManifestPlan(f"account.{namespace}.default", body)


@dataclass(frozen=True)
class FabricRights:
    """What pods need of their node for its fabric besides locked memory. folders: that they may mount. capabilities: that they may add.

    devices_prefix: of annotations that give devices of the node to a container; empty where the cluster has none. devices: those that are
    allowed, with their text.
    """

    folders: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    devices_prefix: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)


NO_RIGHTS = FabricRights()


def least_rights(namespace: str, level: str, rights: FabricRights = NO_RIGHTS) -> tuple[ManifestPlan, ...]:
    """Where the namespace admits privileged pods because of its fabric: a policy with the limits of `baseline`, and what the fabric needs.

    Pod Security has no level between the two. The API server evaluates the policy without a webhook. It replaces the fields that matter to
    other pods and nodes: namespaces and folders of the host, privileged containers, host ports and capabilities.
    """
    if level != "privileged":
        return ()
    extra = (*MEMORY_CAPABILITIES, *rights.capabilities)
    allowed = ", ".join(f"'{name}'" for name in (*BASELINE_CAPABILITIES, *extra))
    folders = ", ".join(f"'{path}'" for path in rights.folders)
    mounts = f"v, !has(v.hostPath) || v.hostPath.path in [{folders}]" if folders else "v, !has(v.hostPath)"
    others = f" besides {' and '.join(rights.folders)}" if folders else ""
    added = f"!has(c.securityContext.capabilities.add) || c.securityContext.capabilities.add.all(a, a in [{allowed}])"
    rules = (
        (_of_pod(*(f"!has(p.{field}) || !p.{field}" for field in HOST_FIELDS)), f"sets one of {', '.join(HOST_FIELDS)}"),
        (_of_pod(f"!has(p.volumes) || p.volumes.all({mounts})"), f"mounts a folder of the node (hostPath){others}"),
        (_of_containers("!has(c.securityContext.privileged) || !c.securityContext.privileged"), "has a privileged container"),
        (
            _of_containers(f"!has(c.securityContext.capabilities) || {added}"),
            f"adds a capability beyond {' and '.join(extra)}",
        ),
        (_of_containers("!has(c.ports) || c.ports.all(o, !has(o.hostPort) || o.hostPort == 0)", bare=True), "uses a port of the node"),
    )
    rules += ((_devices_only(rights), "has an annotation with devices of the node"),) if rights.devices_prefix else ()
    pods, debuggers = ("pods", "CREATE"), ("pods/ephemeralcontainers", "UPDATE")
    group = {"apiGroups": [""], "apiVersions": ["v1"]}
    spec: Body = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": [{**group, "operations": [verb], "resources": [kind]} for kind, verb in (pods, debuggers)],
        },
        "validations": [{"expression": text, "message": f"The pod {what}; namespace {namespace} forbids it"} for text, what in rules],
    }
    name = POLICY.format(namespace)
    policy = obj(ADMISSION, "ValidatingAdmissionPolicy", name, spec=spec)
    bound = obj(ADMISSION, "ValidatingAdmissionPolicyBinding", name, spec={"policyName": name, "validationActions": ["Deny"]})
    key = f"rights.{namespace}"
    return ManifestPlan(key, policy), ManifestPlan(f"{key}.binding", bound, (key,))


def _devices_only(rights: FabricRights) -> str:
    """CEL: annotations with devices are those of the fabric."""
    allowed = " || ".join(
        f"(k == {json.dumps(key)} && object.metadata.annotations[k] == {json.dumps(text)})" for key, text in rights.devices.items()
    )
    other = f"!k.startsWith('{rights.devices_prefix}')" + (f" || {allowed}" if allowed else "")
    return f"!has(object.metadata.annotations) || object.metadata.annotations.all(k, {other})"


def _of_pod(*conditions: str) -> str:
    """CEL: every condition about the spec `p` of the pod."""
    return f"[object.spec].all(p, {' && '.join(f'({condition})' for condition in conditions)})"


def _of_containers(condition: str, bare: bool = False) -> str:
    """CEL: a condition about each container `c`. bare: one that does not concern its security context, which may be absent."""
    guarded = condition if bare else f"!has(c.securityContext) || {condition}"
    lists = ("containers", "initContainers", "ephemeralContainers")
    return " && ".join(f"(!has(object.spec.{each}) || object.spec.{each}.all(c, {guarded}))" for each in lists)
