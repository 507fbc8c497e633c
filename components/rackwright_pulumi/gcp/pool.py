"""GKE node pool: system nodes, GPU nodes, or one TPU slice."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import CustomTimeouts, Input, Output, ResourceOptions
from pulumi_gcp.compute import ResourcePolicy, ResourcePolicyWorkloadPolicyArgs
from pulumi_gcp.container import (
    NodePool,
    NodePoolAutoscalingArgs,
    NodePoolManagementArgs,
    NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs,
    NodePoolNetworkConfigArgs,
    NodePoolNodeConfigArgs,
    NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs,
    NodePoolNodeConfigGuestAcceleratorArgs,
    NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs,
    NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs,
    NodePoolNodeConfigGvnicArgs,
    NodePoolNodeConfigReservationAffinityArgs,
    NodePoolNodeConfigShieldedInstanceConfigArgs,
    NodePoolNodeConfigTaintArgs,
    NodePoolNodeConfigWorkloadMetadataConfigArgs,
    NodePoolPlacementPolicyArgs,
    NodePoolQueuedProvisioningArgs,
    NodePoolUpgradeSettingsArgs,
)
from rackwright.stackplan import CapacityPlan, PoolPlan, SharingPlan
from rackwright.stackplan.labels import QUEUED_LABEL

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.labels import gcp_labels
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

MODES = ("on-demand", "spot", "reservation", "calendar", "flex-start")
IMAGES = {"cos": "COS_CONTAINERD", "": "COS_CONTAINERD"}
DISK_TYPES = {"balanced": "pd-balanced", "hyperdisk-balanced": "hyperdisk-balanced"}
"""Neutral kind of a disk -> its type. The catalog's column `boot_disk` has the kind that a machine supports."""
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
STRATEGIES = {"mps": "MPS", "time-slicing": "TIME_SHARING"}
"""Strategy of the plan -> GKE's (https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/GPUSharingConfig)."""
GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
FLEX_LONGEST_RUN_S = 604_800
CREATE_WITHIN = "60m"
"""Timeout of a node pool without capacity."""


class GcpPoolArgs(TypedDict):
    """pool: a PoolPlan. pool_name: its name in the cluster; default: that of the plan. tags: pairs. vpcs, subnets: names, of each further
    interface of the machine in order."""

    pool: Part[PoolPlan]
    pool_name: NotRequired[str]
    tags: Part[Sequence[tuple[str, str]]]
    project: Input[str]
    region: str
    cluster_name: Input[str]
    node_account: Input[str]
    disk_key_id: Input[str]
    vpcs: NotRequired[Sequence[Input[str]]]
    subnets: NotRequired[Sequence[Input[str]]]


class GcpPool(pulumi.ComponentResource):
    """One `NodePool`, with a resource policy if its machine requires one. Nodes are private and shielded."""

    pool_name: Output[str]

    def __init__(self, name: str, args: GcpPoolArgs, opts: ResourceOptions | None = None):
        check_args(GcpPoolArgs, args)
        super().__init__("rackwright:index:GcpPool", name, None, opts)
        plan = part(PoolPlan, args["pool"])
        if plan.capacity.mode not in MODES:
            raise Unsupported(f"capacity mode {plan.capacity.mode} on GKE", f"pools[{plan.name}].capacity.mode", ", ".join(MODES))
        if plan.disk.kind not in DISK_TYPES:
            raise Unsupported(f"disk kind {plan.disk.kind} on GKE", f"pools[{plan.name}].disk.kind", ", ".join(DISK_TYPES))
        flex = plan.capacity.mode == "flex-start"
        surge = 1 if plan.role == "system" else 0  # spare accelerators are rare
        upgrades = NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=surge, max_unavailable=1 - surge)
        self.node_pool = NodePool(
            child(name, "pool"),
            name=args.get("pool_name", plan.name),
            project=args["project"],
            location=args["region"],
            cluster=args["cluster_name"],
            node_locations=list(plan.zones),
            max_pods_per_node=plan.max_pods,
            management=NodePoolManagementArgs(auto_repair=not flex, auto_upgrade=not plan.capacity.queued),
            queued_provisioning=NodePoolQueuedProvisioningArgs(enabled=True) if plan.capacity.queued else None,
            upgrade_settings=None if flex else upgrades,
            network_config=_interfaces(plan, args),
            placement_policy=self._placement(name, plan, args),
            node_config=_node(plan, args),
            **_size(plan),
            opts=ResourceOptions(
                parent=self,
                delete_before_replace=True,  # the name is fixed, and the capacity exists once
                ignore_changes=["initialNodeCount"],  # initial size; a change replaces the pool
                replace_on_changes=["placementPolicy.tpuTopology"],  # GKE cannot change it, and the provider does not replace on it
                custom_timeouts=CustomTimeouts(create=CREATE_WITHIN),
            ),
        )
        self.pool_name = self.node_pool.name
        self.register_outputs({"poolName": self.pool_name})

    def _placement(self, name: str, plan: PoolPlan, args: GcpPoolArgs) -> NodePoolPlacementPolicyArgs | None:
        """Topology of a multi-host slice; a single host accepts none (https://github.com/AI-Hypercomputer/xpk/issues/595)."""
        if plan.resource != TPU:
            return NodePoolPlacementPolicyArgs(type="COMPACT") if plan.adjacent else None
        if not plan.multi_host:
            return None
        if not plan.workload_policy:
            return NodePoolPlacementPolicyArgs(type="COMPACT", tpu_topology=plan.topology)
        policy = ResourcePolicy(
            child(name, "shape"),
            project=args["project"],
            region=args["region"],
            workload_policy=ResourcePolicyWorkloadPolicyArgs(type="HIGH_THROUGHPUT", accelerator_topology=plan.topology),
            opts=ResourceOptions(parent=self),
        )
        return NodePoolPlacementPolicyArgs(type="COMPACT", policy_name=policy.name)


def _size(plan: PoolPlan) -> dict[str, Any]:
    """A fixed count or autoscaling bounds. GKE counts both per zone, except for the bounds named total.

    A fixed pool in several zones has equal bounds. TPU pools use bounds per zone, equal to the total in one zone, because the provider
    rejects total bounds with flex-start (cluster-toolkit@1047080 gke-node-pool). Flex-start pools start with 0 nodes.
    """
    if plan.capacity.mode == "flex-start":
        return {"initial_node_count": 0, "autoscaling": _bounds(plan, 0)}
    if plan.nodes_min == plan.nodes_max and len(plan.zones) == 1:
        return {"node_count": plan.nodes_max}
    start = plan.nodes_start if len(plan.zones) == 1 else 1
    return {"initial_node_count": start, "autoscaling": _bounds(plan, plan.nodes_min)}


def _bounds(plan: PoolPlan, minimum: int) -> NodePoolAutoscalingArgs:
    policy = "BALANCED" if plan.role == "system" else "ANY"
    if plan.resource == TPU:
        return NodePoolAutoscalingArgs(min_node_count=minimum, max_node_count=plan.nodes_max, location_policy=policy)
    return NodePoolAutoscalingArgs(total_min_node_count=minimum, total_max_node_count=plan.nodes_max, location_policy=policy)


def _interfaces(plan: PoolPlan, args: GcpPoolArgs) -> NodePoolNetworkConfigArgs:
    """Private nodes. Their further interfaces are in the stack's networks, or in those of GKE's accelerator network profile.

    https://cloud.google.com/kubernetes-engine/docs/how-to/config-auto-net-for-accelerators
    """
    attached = [
        NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs(network=vpc, subnetwork=subnet)
        for vpc, subnet in zip(args.get("vpcs", ()), args.get("subnets", ()), strict=True)
    ]
    return NodePoolNetworkConfigArgs(
        enable_private_nodes=True,
        additional_node_network_configs=attached or None,
        accelerator_network_profile="auto" if plan.devices == "dra" else None,
    )


def _node(plan: PoolPlan, args: GcpPoolArgs) -> NodePoolNodeConfigArgs:
    ssd = NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(local_ssd_count=plan.local_ssd_count) if plan.local_ssd_count else None
    return NodePoolNodeConfigArgs(
        machine_type=plan.machine_type,
        image_type=IMAGES[plan.image],
        disk_type=DISK_TYPES[plan.disk.kind],
        disk_size_gb=plan.disk.size_gib,
        boot_disk_kms_key=args["disk_key_id"],
        ephemeral_storage_local_ssd_config=ssd,
        guest_accelerators=_accelerators(plan),
        gvnic=NodePoolNodeConfigGvnicArgs(enabled=True),
        service_account=args["node_account"],
        oauth_scopes=["https://www.googleapis.com/auth/cloud-platform"],
        metadata={"disable-legacy-endpoints": "true"},
        workload_metadata_config=NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        shielded_instance_config=NodePoolNodeConfigShieldedInstanceConfigArgs(enable_secure_boot=True, enable_integrity_monitoring=True),
        labels=dict(plan.labels),
        taints=[
            NodePoolNodeConfigTaintArgs(key=taint.key, value=taint.value, effect=EFFECTS[taint.effect])
            for taint in plan.taints
            if taint.key != QUEUED_LABEL  # GKE sets it
        ],
        resource_labels=gcp_labels(part(tuple[tuple[str, str], ...], args["tags"])),
        **_capacity(plan.capacity),
    )


def _accelerators(plan: PoolPlan) -> list[NodePoolNodeConfigGuestAcceleratorArgs] | None:
    if plan.resource != GPU:
        return None
    driver = NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(gpu_driver_version="LATEST")
    return [
        NodePoolNodeConfigGuestAcceleratorArgs(
            type=plan.accelerator_label, count=plan.accelerator_count, gpu_driver_installation_config=driver, **_sharing(plan.sharing)
        )
    ]


def _sharing(sharing: SharingPlan | None) -> dict[str, Any]:
    """How each GPU is divided: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi and how-to/nvidia-mps-gpus."""
    if sharing is None:
        return {}
    if sharing.profile:
        return {"gpu_partition_size": sharing.profile}
    clients = NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
        gpu_sharing_strategy=STRATEGIES[sharing.strategy], max_shared_clients_per_gpu=sharing.parts
    )
    return {"gpu_sharing_config": clients}


def _capacity(plan: CapacityPlan) -> dict[str, Any]:
    """Capacity mode. A pool consumes only the reservation in the plan."""
    if plan.mode in ("reservation", "calendar"):
        affinity = NodePoolNodeConfigReservationAffinityArgs(
            consume_reservation_type="SPECIFIC_RESERVATION", key="compute.googleapis.com/reservation-name", values=[plan.reservation_id]
        )
        return {"reservation_affinity": affinity}
    none = {"reservation_affinity": NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")}
    if plan.mode == "spot":
        return {**none, "spot": True}
    if plan.mode == "flex-start":
        return {**none, "flex_start": True, "max_run_duration": f"{plan.max_run_s or FLEX_LONGEST_RUN_S}s"}
    return none
