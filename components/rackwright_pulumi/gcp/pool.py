"""A node pool of one shape: system nodes, GPUs that scale, or one whole TPU slice."""

from typing import Any, TypedDict

import pulumi
from pulumi import CustomTimeouts, Input, Output, ResourceOptions
from pulumi_gcp.compute import ResourcePolicy, ResourcePolicyWorkloadPolicyArgs
from pulumi_gcp.container import (
    NodePool,
    NodePoolAutoscalingArgs,
    NodePoolManagementArgs,
    NodePoolNetworkConfigArgs,
    NodePoolNodeConfigArgs,
    NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs,
    NodePoolNodeConfigGuestAcceleratorArgs,
    NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs,
    NodePoolNodeConfigGvnicArgs,
    NodePoolNodeConfigReservationAffinityArgs,
    NodePoolNodeConfigShieldedInstanceConfigArgs,
    NodePoolNodeConfigTaintArgs,
    NodePoolNodeConfigWorkloadMetadataConfigArgs,
    NodePoolPlacementPolicyArgs,
    NodePoolUpgradeSettingsArgs,
)
from rackwright.stackplan import CapacityPlan, PoolPlan

from rackwright_pulumi.args import PartInput, part
from rackwright_pulumi.gcp.labels import gcp_labels
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

MODES = ("on-demand", "spot", "reservation", "calendar", "flex-start")
IMAGES = {"cos": "COS_CONTAINERD", "": "COS_CONTAINERD"}
HYPERDISK_ONLY = ("ct6e-", "tpu7x-", "g4-", "a3-ultragpu-", "a4-", "a4x-")
"""Prefixes of machines that take no pd-balanced: cloud.google.com/tpu/docs/setup-persistent-disk, cluster-toolkit@1047080 examples."""
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
WORKLOAD_POLICY_MACHINES = ("tpu7x-",)
"""Prefixes of machines whose slices are shaped by a resource policy instead of `tpu_topology` (AI-Hypercomputer/xpk@367c838)."""
FLEX_LONGEST_RUN_S = 604_800
CREATE_WITHIN = "60m"
"""A stockout ends in an error, not in a wait without end."""


class GcpPoolArgs(TypedDict):
    """pool: a PoolPlan. tags: pairs."""

    pool: PartInput
    tags: PartInput
    project: Input[str]
    region: str
    cluster_name: Input[str]
    node_account: Input[str]
    disk_key_id: Input[str]


class GcpPool(pulumi.ComponentResource):
    """One `NodePool`, with the resource policy of its slice where the machine wants one. Nodes are private, shielded, and name no key."""

    pool_name: Output[str]

    def __init__(self, name: str, args: GcpPoolArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:GcpPool", name, None, opts)
        plan = part(PoolPlan, args["pool"])
        if plan.capacity.mode not in MODES:
            raise Unsupported(f"capacity mode {plan.capacity.mode} on GKE", f"pools[{plan.name}].capacity.mode", ", ".join(MODES))
        flex = plan.capacity.mode == "flex-start"
        self.node_pool = NodePool(
            child(name, "pool"),
            name=plan.name,
            project=args["project"],
            location=args["region"],
            cluster=args["cluster_name"],
            node_locations=list(plan.zones),
            max_pods_per_node=plan.max_pods,
            management=NodePoolManagementArgs(auto_repair=not flex, auto_upgrade=True),
            upgrade_settings=None if flex else _upgrades(plan),
            network_config=NodePoolNetworkConfigArgs(enable_private_nodes=True),
            placement_policy=self._placement(name, plan, args),
            node_config=_node(plan, args),
            **_size(plan),
            opts=ResourceOptions(
                parent=self,
                delete_before_replace=True,  # the name is fixed, and accelerators are seldom there twice
                ignore_changes=["initialNodeCount"],  # where the pool began; changing it would replace the pool
                replace_on_changes=["placementPolicy.tpuTopology"],  # GKE cannot reshape a slice; the provider does not say so
                custom_timeouts=CustomTimeouts(create=CREATE_WITHIN),
            ),
        )
        self.pool_name = self.node_pool.name
        self.register_outputs({"poolName": self.pool_name})

    def _placement(self, name: str, plan: PoolPlan, args: GcpPoolArgs) -> NodePoolPlacementPolicyArgs | None:
        """A slice of several hosts is shaped here; one host is its own shape and refuses a topology (xpk issues 595, 822)."""
        if plan.resource != TPU:
            return NodePoolPlacementPolicyArgs(type="COMPACT") if plan.adjacent else None
        if not plan.multi_host:
            return None
        if not plan.machine.startswith(WORKLOAD_POLICY_MACHINES):
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
    """Either a fixed count or bounds. GKE counts both per zone, but for the bounds called total.

    A fixed pool in several zones has equal bounds. TPU pools take the per-zone form, which in one zone is the total: the provider refuses
    the other with flex-start (cluster-toolkit@1047080 gke-node-pool). Flex-start begins with nothing: nodes come when pods ask.
    """
    if plan.capacity.mode == "flex-start":
        return {"initial_node_count": 0, "autoscaling": _bounds(plan, 0)}
    if plan.nodes_min == plan.nodes_max and len(plan.zones) == 1:
        return {"node_count": plan.nodes_max}
    start = plan.nodes_start if len(plan.zones) == 1 else 1
    return {"initial_node_count": start, "autoscaling": _bounds(plan, plan.nodes_min)}


def _bounds(plan: PoolPlan, least: int) -> NodePoolAutoscalingArgs:
    policy = "BALANCED" if plan.role == "system" else "ANY"
    if plan.resource == TPU:
        return NodePoolAutoscalingArgs(min_node_count=least, max_node_count=plan.nodes_max, location_policy=policy)
    return NodePoolAutoscalingArgs(total_min_node_count=least, total_max_node_count=plan.nodes_max, location_policy=policy)


def _upgrades(plan: PoolPlan) -> NodePoolUpgradeSettingsArgs:
    """Accelerators are replaced in place: there is seldom a spare one. System nodes get a spare first."""
    if plan.role == "system":
        return NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=1, max_unavailable=0)
    return NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=0, max_unavailable=1)


def _node(plan: PoolPlan, args: GcpPoolArgs) -> NodePoolNodeConfigArgs:
    ssd = NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(local_ssd_count=plan.local_ssd_count) if plan.local_ssd_count else None
    return NodePoolNodeConfigArgs(
        machine_type=plan.machine,
        image_type=IMAGES[plan.image],
        disk_type=_disk_type(plan),
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
        taints=[NodePoolNodeConfigTaintArgs(key=taint.key, value=taint.value, effect=EFFECTS[taint.effect]) for taint in plan.taints],
        resource_labels=gcp_labels(part(tuple[tuple[str, str], ...], args["tags"])),
        **_capacity(plan.capacity),
    )


def _disk_type(plan: PoolPlan) -> str:
    hyperdisk = plan.disk.kind == "hyperdisk-balanced" or plan.machine.startswith(HYPERDISK_ONLY)
    return "hyperdisk-balanced" if hyperdisk else "pd-balanced"


def _accelerators(plan: PoolPlan) -> list[NodePoolNodeConfigGuestAcceleratorArgs] | None:
    if plan.resource != GPU:
        return None
    driver = NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(gpu_driver_version="LATEST")
    return [
        NodePoolNodeConfigGuestAcceleratorArgs(
            type=plan.accelerator_label, count=plan.accelerator_count, gpu_driver_installation_config=driver
        )
    ]


def _capacity(plan: CapacityPlan) -> dict[str, Any]:
    """How the machines are bought; only a reservation may be consumed, and only the one named."""
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
