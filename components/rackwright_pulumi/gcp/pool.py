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
from rackwright.compile.wants import CapacityWant, PoolWant

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
    """pool: a PoolWant. tags: pairs."""

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
        want = part(PoolWant, args["pool"])
        if want.capacity.mode not in MODES:
            raise Unsupported(f"capacity mode {want.capacity.mode} on GKE", f"pools[{want.name}].capacity.mode", ", ".join(MODES))
        flex = want.capacity.mode == "flex-start"
        self.node_pool = NodePool(
            child(name, "pool"),
            name=want.name,
            project=args["project"],
            location=args["region"],
            cluster=args["cluster_name"],
            node_locations=list(want.zones),
            max_pods_per_node=want.max_pods,
            management=NodePoolManagementArgs(auto_repair=not flex, auto_upgrade=True),
            upgrade_settings=None if flex else _upgrades(want),
            network_config=NodePoolNetworkConfigArgs(enable_private_nodes=True),
            placement_policy=self._placement(name, want, args),
            node_config=_node(want, args),
            **_size(want),
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

    def _placement(self, name: str, want: PoolWant, args: GcpPoolArgs) -> NodePoolPlacementPolicyArgs | None:
        """A slice of several hosts is shaped here; one host is its own shape and refuses a topology (xpk issues 595, 822)."""
        if want.resource != TPU:
            return NodePoolPlacementPolicyArgs(type="COMPACT") if want.adjacent else None
        if not want.multi_host:
            return None
        if not want.machine.startswith(WORKLOAD_POLICY_MACHINES):
            return NodePoolPlacementPolicyArgs(type="COMPACT", tpu_topology=want.topology)
        policy = ResourcePolicy(
            child(name, "shape"),
            project=args["project"],
            region=args["region"],
            workload_policy=ResourcePolicyWorkloadPolicyArgs(type="HIGH_THROUGHPUT", accelerator_topology=want.topology),
            opts=ResourceOptions(parent=self),
        )
        return NodePoolPlacementPolicyArgs(type="COMPACT", policy_name=policy.name)


def _size(want: PoolWant) -> dict[str, Any]:
    """Either a fixed count or bounds. GKE counts both per zone, but for the bounds called total.

    A fixed pool in several zones has equal bounds. TPU pools take the per-zone form, which in one zone is the total: the provider refuses
    the other with flex-start (cluster-toolkit@1047080 gke-node-pool). Flex-start begins with nothing: nodes come when pods ask.
    """
    if want.capacity.mode == "flex-start":
        return {"initial_node_count": 0, "autoscaling": _bounds(want, 0)}
    if want.nodes_min == want.nodes_max and len(want.zones) == 1:
        return {"node_count": want.nodes_max}
    start = want.nodes_start if len(want.zones) == 1 else 1
    return {"initial_node_count": start, "autoscaling": _bounds(want, want.nodes_min)}


def _bounds(want: PoolWant, least: int) -> NodePoolAutoscalingArgs:
    policy = "BALANCED" if want.role == "system" else "ANY"
    if want.resource == TPU:
        return NodePoolAutoscalingArgs(min_node_count=least, max_node_count=want.nodes_max, location_policy=policy)
    return NodePoolAutoscalingArgs(total_min_node_count=least, total_max_node_count=want.nodes_max, location_policy=policy)


def _upgrades(want: PoolWant) -> NodePoolUpgradeSettingsArgs:
    """Accelerators are replaced in place: there is seldom a spare one. System nodes get a spare first."""
    if want.role == "system":
        return NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=1, max_unavailable=0)
    return NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=0, max_unavailable=1)


def _node(want: PoolWant, args: GcpPoolArgs) -> NodePoolNodeConfigArgs:
    ssd = NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(local_ssd_count=want.local_ssd_count) if want.local_ssd_count else None
    return NodePoolNodeConfigArgs(
        machine_type=want.machine,
        image_type=IMAGES[want.image],
        disk_type=_disk_type(want),
        disk_size_gb=want.disk.size_gib,
        boot_disk_kms_key=args["disk_key_id"],
        ephemeral_storage_local_ssd_config=ssd,
        guest_accelerators=_accelerators(want),
        gvnic=NodePoolNodeConfigGvnicArgs(enabled=True),
        service_account=args["node_account"],
        oauth_scopes=["https://www.googleapis.com/auth/cloud-platform"],
        metadata={"disable-legacy-endpoints": "true"},
        workload_metadata_config=NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        shielded_instance_config=NodePoolNodeConfigShieldedInstanceConfigArgs(enable_secure_boot=True, enable_integrity_monitoring=True),
        labels=dict(want.labels),
        taints=[NodePoolNodeConfigTaintArgs(key=taint.key, value=taint.value, effect=EFFECTS[taint.effect]) for taint in want.taints],
        resource_labels=gcp_labels(part(tuple[tuple[str, str], ...], args["tags"])),
        **_capacity(want.capacity),
    )


def _disk_type(want: PoolWant) -> str:
    hyperdisk = want.disk.kind == "hyperdisk-balanced" or want.machine.startswith(HYPERDISK_ONLY)
    return "hyperdisk-balanced" if hyperdisk else "pd-balanced"


def _accelerators(want: PoolWant) -> list[NodePoolNodeConfigGuestAcceleratorArgs] | None:
    if want.resource != GPU:
        return None
    driver = NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(gpu_driver_version="LATEST")
    return [
        NodePoolNodeConfigGuestAcceleratorArgs(
            type=want.accelerator_label, count=want.accelerator_count, gpu_driver_installation_config=driver
        )
    ]


def _capacity(want: CapacityWant) -> dict[str, Any]:
    """How the machines are bought; only a reservation may be consumed, and only the one named."""
    if want.mode in ("reservation", "calendar"):
        affinity = NodePoolNodeConfigReservationAffinityArgs(
            consume_reservation_type="SPECIFIC_RESERVATION", key="compute.googleapis.com/reservation-name", values=[want.reservation_id]
        )
        return {"reservation_affinity": affinity}
    none = {"reservation_affinity": NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")}
    if want.mode == "spot":
        return {**none, "spot": True}
    if want.mode == "flex-start":
        return {**none, "flex_start": True, "max_run_duration": f"{want.max_run_s or FLEX_LONGEST_RUN_S}s"}
    return none
