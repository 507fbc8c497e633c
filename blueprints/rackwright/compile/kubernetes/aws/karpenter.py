"""Karpenter: Helm releases, and a NodePool and EC2NodeClass per pool."""

import json
from typing import Any

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR, release
from rackwright.compile.operators.versions import NODE_RELEASES
from rackwright.stackplan import KarpenterPlan, ManifestPlan, PoolPlan, ReleasePlan, is_zone_id, ref
from rackwright.stackplan.capacity import ADJACENT_MODES
from rackwright.stackplan.images import image_family
from rackwright.stackplan.labels import ZONE_ID_LABEL, ZONE_LABEL
from rackwright.stackplan.operators import KARPENTER, KARPENTER_CAPACITY_TYPES, KARPENTER_CRDS
from rackwright.stackplan.refs import machine_subnet_refs

ARCHES = {"x86_64": "amd64", "arm64": "arm64"}
INTERFACE_TYPES = {"ip": "interface", "fabric": "efa-only"}
MAX_WEIGHT = 100
"""Maximum weight, of the pool that is filled first; each further pool has one less."""
BUDGETS = [{"nodes": "1"}, {"nodes": "0", "reasons": ["Drifted"]}]
"""One node at a time, and none for drift: a changed tag, such as a later expiry, would replace every busy node
(karpenter-provider-aws issue 8297). New nodes use a new image."""
CONSOLIDATE_AFTER = "10m"
"""Time before an empty node is removed, longer than the gap between two replicas."""
EXPIRE_AFTER = "720h"
"""Nodes are replaced after 30 days, Karpenter's default, so that they receive kernel fixes."""
TERMINATION_GRACE_PERIOD = "1h"
"""Maximum drain time; without it a disruption budget could block the removal of a node forever."""
MEMLOCK_BYTES = 2**50
"""As in the user data of node groups (rackwright_pulumi/aws/pool/al2023.py): more than any machine has, but not infinity."""


def karpenter_image(pool: PoolPlan) -> str:
    """Image selector of Karpenter: a custom AMI ID, or a family and release. Karpenter selects the variant with the machine's drivers
    (AL2023 releases are dates, Bottlerocket releases are versions)."""
    family = image_family(pool.image)
    return pool.image_id or f"{family}@v{NODE_RELEASES[pool.image].rpartition('-')[2]}"


def karpenter_releases(plan: KarpenterPlan) -> tuple[ReleasePlan, ...]:
    """The CRDs are a separate release, because Helm does not update CRDs. The controller runs on the system pool."""
    values: dict[str, Any] = {
        "serviceAccount": {"name": plan.service_account},
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        # Its pods cannot ask the metadata service for the region.
        "controller": {
            "env": [{"name": "AWS_REGION", "value": ref("place.region")}],
            "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
        },
        "settings": {"clusterName": ref("cluster.name"), "eksControlPlane": True}
        | ({"interruptionQueue": ref("karpenter.queue_name")} if plan.interruptions else {}),
    }
    return release(KARPENTER_CRDS, plan.namespace, {}), release(KARPENTER, plan.namespace, values, (KARPENTER_CRDS,))


def karpenter_pool(pool: PoolPlan, stack: str, tags: tuple[tuple[str, str], ...]) -> tuple[ManifestPlan, ...]:
    """A NodePool and its EC2NodeClass, both with the pool's name.

    On destroy the NodePool and its nodes are deleted first, while the controller and its permissions exist.
    """
    return _node_class(pool, stack, tags), _node_pool(pool)


def placement_group_name(stack: str, pool: PoolPlan) -> str:
    """Name of a pool's placement group, which Karpenter selects by name and does not create."""
    return f"{stack}-{pool.name}"


def pool_key(pool: PoolPlan) -> str:
    """Manifest key of a pool's NodePool."""
    return f"nodes.{pool.name}.pool"


def _class_key(pool: PoolPlan) -> str:
    return f"nodes.{pool.name}.class"


def _node_pool(pool: PoolPlan) -> ManifestPlan:
    """Limited to the pool's maximum accelerators. Empty nodes are removed, busy nodes are kept."""
    machine = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
        "requirements": [
            _in("node.kubernetes.io/instance-type", pool.machine),
            _in("karpenter.sh/capacity-type", KARPENTER_CAPACITY_TYPES[pool.capacity.mode]),
            _in(ZONE_ID_LABEL if is_zone_id(pool.zones[0]) else ZONE_LABEL, *pool.zones),
            _in("kubernetes.io/arch", ARCHES[pool.cpu_arch]),
            _in("kubernetes.io/os", "linux"),
        ],
        "taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints],
        "expireAfter": EXPIRE_AFTER,
        "terminationGracePeriod": TERMINATION_GRACE_PERIOD,
    }
    spec = {
        "weight": max(1, MAX_WEIGHT - pool.preference),
        "limits": {pool.resource: str(pool.accelerator_count * pool.nodes_max)},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": CONSOLIDATE_AFTER, "budgets": BUDGETS},
        "template": {"metadata": {"labels": dict(pool.labels)}, "spec": machine},
    }
    return ManifestPlan(pool_key(pool), obj("karpenter.sh/v1", "NodePool", pool.name, spec=spec), (KARPENTER, _class_key(pool)))


def _in(label: str, *values: str) -> Body:
    return {"key": label, "operator": "In", "values": list(values)}


def _node_class(pool: PoolPlan, stack: str, tags: tuple[tuple[str, str], ...]) -> ManifestPlan:
    """Selects every resource by ID, not by tags, which other resources may have. The disk uses the stack's key."""
    groups = ["cluster.security_group_id", *(["network.fabric_group_id"] if pool.nics else [])]
    disk: Body = {"volumeType": "gp3", "volumeSize": f"{pool.disk.size_gib}Gi", "encrypted": True, "kmsKeyID": ref("key.arn")}
    disk |= {"iops": pool.disk.iops, "throughput": pool.disk.throughput_mib_s, "deleteOnTermination": True}
    spec: Body = {
        "role": ref("karpenter.node_role_name"),
        "amiSelectorTerms": [{"id" if pool.image_id else "alias": karpenter_image(pool)}],
        "subnetSelectorTerms": [{"id": ref(name)} for name in machine_subnet_refs(pool.zones)],
        "securityGroupSelectorTerms": [{"id": ref(group)} for group in groups],
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "rootVolume": True, "ebs": {k: v for k, v in disk.items() if v is not None}}],
        "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1},
        "detailedMonitoring": True,
        "tags": dict(tags) | {"Name": f"{stack}-{pool.name}"},
    }
    if pool.image_id:
        spec["amiFamily"] = "AL2023"
    if pool.local_nvme:
        spec["instanceStorePolicy"] = "RAID0"
    if pool.max_pods:
        spec["kubelet"] = {"maxPods": pool.max_pods}
    if pool.nics:
        types = [{"networkCardIndex": n.card, "deviceIndex": n.device, "interfaceType": INTERFACE_TYPES[n.kind]} for n in pool.nics]
        spec |= {"networkInterfaces": types, "userData": _user_data()}
    if pool.adjacent:
        spec["placementGroupSelector"] = {"name": placement_group_name(stack, pool)}
    if pool.capacity.mode in ADJACENT_MODES:
        spec["capacityReservationSelectorTerms"] = [{"id": pool.capacity.reservation_id}]
    return ManifestPlan(_class_key(pool), obj("karpenter.k8s.aws/v1", "EC2NodeClass", pool.name, spec=spec), (KARPENTER,))


def _user_data() -> str:
    """A NodeConfig that raises the locked-memory limit, as JSON, which is valid YAML; Karpenter merges it with its own."""
    limit = {"type": "RLIMIT_MEMLOCK", "soft": MEMLOCK_BYTES, "hard": MEMLOCK_BYTES}
    files = {"type": "RLIMIT_NOFILE", "soft": 2**20, "hard": 2**20}
    spec = {"containerd": {"baseRuntimeSpec": {"process": {"rlimits": [limit, files]}}}}
    return json.dumps({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}, indent=1, sort_keys=True)
