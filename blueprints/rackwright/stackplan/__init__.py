"""The StackPlan: every resource of a stack with its counts, independent of provider field names. Frozen data, JSON both ways.

A reference is a value that is known only after deployment. In manifests and Helm values it is a dict `{"$ref": "lustre.dns_name"}`; a
text with several is `{"$format": "...{0}...", "$refs": ["bucket.data.name"]}`, and a hash of several is
`{"$digest": true, "$refs": ["secret.api-key"]}`. Components resolve them to Outputs. Valid names:

    cluster.name, cluster.endpoint, cluster.oidc_issuer      bucket.<key>.name, bucket.<key>.url
    cluster.security_group_id                                identity.<key>.principal
    lustre.id, lustre.dns_name, lustre.mount_name            key.id, key.arn
    network.id, network.subnet_ids                           place.account, place.project, place.region
    network.machine_subnet_id, network.fabric_group_id       secret.<name of the spec's secrets>
    network.machine_subnet_id.<number from 2>, of a fleet's further zones; network.control_subnet_id[.<number>] of system machines
    network.accelerator.<name>.vpc, network.accelerator.<name>.subnet
    karpenter.queue_name, karpenter.node_role_name

Neutral names in the fields below (a component maps each to its cloud, and rejects unknown ones):

    private_endpoints  object-store, registry, identity, compute, cluster, pod-identity, logs, machine-access, keys
    services           projects, compute, cluster, identity, keys, object-store, registry, logs, metrics
    add-ons            pod-network, kube-proxy, pod-identity, dns, block-storage, lustre, metrics, node-health;
                       object-store-mount (Mountpoint for S3; on GKE GCS FUSE, whose version is "" because the cluster's release
                       contains it)
    pool image         al2023, al2023-nvidia, al2023-neuron, bottlerocket, bottlerocket-nvidia, bottlerocket-neuron,
                       ubuntu (EKS; with an image_id), cos (GKE)
    subnets            accelerator pools are in `nodes`; system pools in `control` where there is one, else in `nodes`
    capacity-block     the pool starts at nodes_start; where starts_at or drains_at are set the component schedules nodes_max and 0
"""

from rackwright.stackplan.cluster import AddonPlan, ClusterPlan, KarpenterPlan, ManifestPlan, ReleasePlan
from rackwright.stackplan.network import AcceleratorNetworkPlan, NetworkPlan, SubnetPlan
from rackwright.stackplan.nodes import BoxPlan, CapacityPlan, NicPlan, PoolPlan, SharingPlan, TaintPlan
from rackwright.stackplan.place import CostAlertsPlan, Grant, IdentityPlan, KeyPlan, PlacePlan, is_zone_id
from rackwright.stackplan.plan import (
    LAYERS,
    STACK_PLAN_VERSION,
    FabricExpectation,
    StackPlan,
    VersionPins,
    machine_layer,
    upstream_layers,
    used_layers,
)
from rackwright.stackplan.refs import REFS, BlueprintKind, Existing, FromStack, digest_of_refs, format_refs, ref
from rackwright.stackplan.storage import BucketPlan, DiskPlan, LustrePlan

__all__ = [
    "LAYERS", "REFS", "STACK_PLAN_VERSION", "AcceleratorNetworkPlan", "AddonPlan", "BlueprintKind", "BoxPlan", "BucketPlan", "CapacityPlan",
    "ClusterPlan", "CostAlertsPlan", "DiskPlan", "Existing", "FabricExpectation", "FromStack", "Grant", "IdentityPlan", "KarpenterPlan",
    "KeyPlan", "LustrePlan", "ManifestPlan", "NetworkPlan", "NicPlan", "PlacePlan", "PoolPlan", "ReleasePlan", "SharingPlan", "StackPlan",
    "SubnetPlan", "TaintPlan", "VersionPins", "digest_of_refs", "format_refs", "is_zone_id", "machine_layer", "ref", "upstream_layers",
    "used_layers",
]  # fmt: skip
