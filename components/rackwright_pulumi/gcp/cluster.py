"""GKE cluster with private nodes, the API endpoint of its plan, and encrypted secrets."""

import re
from collections.abc import Sequence
from typing import Any, TypedDict

import pulumi
from pulumi import CustomTimeouts, Input, Output, ResourceOptions
from pulumi_gcp.container import (
    Cluster,
    ClusterAddonsConfigArgs,
    ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs,
    ClusterAddonsConfigGcsFuseCsiDriverConfigArgs,
    ClusterAddonsConfigHttpLoadBalancingArgs,
    ClusterAddonsConfigLustreCsiDriverConfigArgs,
    ClusterClusterAutoscalingArgs,
    ClusterClusterAutoscalingAutoProvisioningDefaultsArgs,
    ClusterClusterAutoscalingAutoProvisioningDefaultsManagementArgs,
    ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfigArgs,
    ClusterClusterAutoscalingResourceLimitArgs,
    ClusterControlPlaneEndpointsConfigArgs,
    ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs,
    ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs,
    ClusterCostManagementConfigArgs,
    ClusterDatabaseEncryptionArgs,
    ClusterGatewayApiConfigArgs,
    ClusterIpAllocationPolicyArgs,
    ClusterLoggingConfigArgs,
    ClusterMaintenancePolicyArgs,
    ClusterMaintenancePolicyMaintenanceExclusionArgs,
    ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs,
    ClusterMaintenancePolicyRecurringWindowArgs,
    ClusterMasterAuthArgs,
    ClusterMasterAuthClientCertificateConfigArgs,
    ClusterMasterAuthorizedNetworksConfigArgs,
    ClusterMasterAuthorizedNetworksConfigCidrBlockArgs,
    ClusterMonitoringConfigArgs,
    ClusterMonitoringConfigManagedPrometheusArgs,
    ClusterNodeConfigArgs,
    ClusterNodeConfigShieldedInstanceConfigArgs,
    ClusterPrivateClusterConfigArgs,
    ClusterReleaseChannelArgs,
    ClusterSecurityPostureConfigArgs,
    ClusterWorkloadIdentityConfigArgs,
)
from pulumi_gcp.projects import IAMMember
from rackwright.stackplan import AddonPlan, ClusterPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.kubeconfig import kubeconfig, kubeconfig_command
from rackwright_pulumi.gcp.labels import gcp_labels, guard
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

METRICS = ["SYSTEM_COMPONENTS", "STORAGE", "POD", "DEPLOYMENT", "STATEFULSET", "DAEMONSET", "HPA", "CADVISOR", "KUBELET", "DCGM"]
SYSTEM_LOGS, POD_LOGS = "SYSTEM_COMPONENTS", "WORKLOADS"
"""https://cloud.google.com/kubernetes-engine/docs/how-to/config-logging-monitoring#available-logs"""
FREEZE_FROM = "2026-01-01T00:00:00Z"
"""Start of the maintenance exclusion that keeps pinned minor versions and nodes; any time in the past."""
CREATE_WITHIN = "45m"

PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""Of RFC 1918: networks that can be connected to the cluster's."""


class GcpClusterArgs(TypedDict):
    """cluster: a ClusterPlan. addons: tuple of AddonPlan. zones: of the nodes. pods_range, services_range: subnet ranges."""

    cluster: Part[ClusterPlan]
    addons: Part[Sequence[AddonPlan]]
    tags: Part[Sequence[tuple[str, str]]]
    project: Input[str]
    region: str
    zones: list[str]
    network_id: Input[str]
    subnet_id: Input[str]
    pods_range: str | None
    services_range: str | None
    secrets_key_id: Input[str]
    disk_key_id: Input[str]
    node_account: Input[str]
    teardown: bool


class GcpCluster(pulumi.ComponentResource):
    """A regional control plane with Dataplane V2, workload identity and managed metrics. Pools are separate components.

    The API has one endpoint: its IP address for `api_cidrs` or, without them, for private networks; its DNS name, behind IAM, for
    `public_api`. https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation
    """

    cluster_name: Output[str]
    cluster_id: Output[str]
    project: Output[str]
    endpoint: Output[str]
    workload_pool: Output[str]
    """Known after the cluster created it; earlier grants to it fail."""
    certificate_authority: Output[str] | None
    """Of the IP endpoint; None for the DNS endpoint"""
    kubeconfig: Output[str]
    kubeconfig_command: Output[str]

    def __init__(self, name: str, args: GcpClusterArgs, opts: ResourceOptions | None = None):
        check_args(GcpClusterArgs, args)
        super().__init__("rackwright:index:GcpCluster", name, None, opts)
        plan = part(ClusterPlan, args["cluster"])
        cluster = self._cluster(name, plan, args)
        self.cluster_name, self.cluster_id, self.project = cluster.name, cluster.id, cluster.project
        self.workload_pool = cluster.workload_identity_config.workload_pool
        _access(self, name, plan, cluster.project)
        self.endpoint, self.certificate_authority = _address(cluster, plan)
        self.kubeconfig = kubeconfig(cluster.name, self.endpoint, self.certificate_authority)
        self.kubeconfig_command = kubeconfig_command(cluster.name, cluster.location, cluster.project, plan.api_scope)
        self.register_outputs({"clusterName": cluster.name, "endpoint": self.endpoint, "kubeconfigCommand": self.kubeconfig_command})

    def _cluster(self, name: str, plan: ClusterPlan, args: GcpClusterArgs) -> Cluster:
        return Cluster(
            child(name, "gke"),
            name=plan.name,
            project=args["project"],
            location=args["region"],
            node_locations=args["zones"],
            min_master_version=plan.version,
            release_channel=ClusterReleaseChannelArgs(channel="REGULAR"),
            maintenance_policy=_maintenance(),
            gateway_api_config=ClusterGatewayApiConfigArgs(channel="CHANNEL_STANDARD") if plan.gateway_api else None,
            addons_config=_addons(part(tuple[AddonPlan, ...], args["addons"])),
            cluster_autoscaling=_autoprovision(plan, args) if plan.autoprovision else None,
            monitoring_config=ClusterMonitoringConfigArgs(
                enable_components=METRICS, managed_prometheus=ClusterMonitoringConfigManagedPrometheusArgs(enabled=True)
            ),
            logging_config=ClusterLoggingConfigArgs(enable_components=[SYSTEM_LOGS, POD_LOGS] if plan.pod_logs else [SYSTEM_LOGS]),
            cost_management_config=ClusterCostManagementConfigArgs(enabled=True),
            resource_labels=gcp_labels(part(tuple[tuple[str, str], ...], args["tags"])),
            deletion_protection=not args["teardown"],
            deletion_policy=guard(args["teardown"]),
            **_default_pool(args),
            **_network(plan, args),
            **_security(args),
            opts=ResourceOptions(
                parent=self,
                protect=not args["teardown"],
                delete_before_replace=True,  # the name is fixed
                ignore_changes=["nodeConfig"],  # describes the deleted default pool
                custom_timeouts=CustomTimeouts(create=CREATE_WITHIN),
            ),
        )


def _access(parent: pulumi.Resource, name: str, plan: ClusterPlan, project: Input[str]) -> None:
    """IAM roles of administrators and viewers. They apply to every cluster of the project.

    https://cloud.google.com/kubernetes-engine/docs/how-to/iam
    """
    viewers = [member for member in plan.viewers if member not in plan.admins]
    for kind, role, members in (("admin", "roles/container.admin", plan.admins), ("viewer", "roles/container.viewer", viewers)):
        for member in members:
            key = re.sub("[^a-zA-Z0-9]+", "-", member)
            IAMMember(child(name, kind, key), project=project, role=role, member=member, opts=ResourceOptions(parent=parent))


def _address(cluster: Cluster, plan: ClusterPlan) -> tuple[Output[str], Output[str] | None]:
    """The host of the endpoint that the plan opens, and its certificate authority for a kubeconfig, None where clients trust it without.

    In a preview the parent objects are known, because they are inputs too, so the values depend on the cluster's id.
    """
    if plan.api_scope == "internet":
        name = cluster.control_plane_endpoints_config.dns_endpoint_config.endpoint
        return Output.all(cluster.id, name).apply(lambda values: values[1]), None
    authority = Output.all(cluster.id, cluster.master_auth.cluster_ca_certificate).apply(lambda values: values[1])
    return cluster.endpoint, authority


def _maintenance() -> ClusterMaintenancePolicyArgs:
    """Control plane patches in a weekend window. Minor versions and nodes stay until their support ends; D-support warns 90 days before:
    https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters#Cluster.EndTimeBehavior
    """
    options = ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs(
        scope="NO_MINOR_OR_NODE_UPGRADES", end_time_behavior="UNTIL_END_OF_SUPPORT"
    )
    exclusion = ClusterMaintenancePolicyMaintenanceExclusionArgs(
        exclusion_name="pinned-by-decision", start_time=FREEZE_FROM, exclusion_options=options
    )
    window = ClusterMaintenancePolicyRecurringWindowArgs(
        start_time="2026-01-03T02:00:00Z", end_time="2026-01-03T10:00:00Z", recurrence="FREQ=WEEKLY;BYDAY=SA,SU"
    )
    return ClusterMaintenancePolicyArgs(recurring_window=window, maintenance_exclusions=[exclusion])


def _default_pool(args: GcpClusterArgs) -> dict[str, Any]:
    """The temporary default pool, which organization policies also check."""
    shielded = ClusterNodeConfigShieldedInstanceConfigArgs(enable_secure_boot=True, enable_integrity_monitoring=True)
    node = ClusterNodeConfigArgs(
        service_account=args["node_account"], boot_disk_kms_key=args["disk_key_id"], shielded_instance_config=shielded
    )
    return {"remove_default_node_pool": True, "initial_node_count": 1, "node_config": node}


def _network(plan: ClusterPlan, args: GcpClusterArgs) -> dict[str, Any]:
    """Private nodes, and one endpoint of the API.

    The DNS endpoint is reached from every network that reaches Google's APIs, and authorized networks do not apply to it, so it is open for
    a public API only (https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation). GKE requires authorized networks with a
    private endpoint, and accepts only private ranges in them (https://github.com/GoogleCloudPlatform/magic-modules/pull/8338,
    https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/153). GKE changes all of it in place.
    """
    by_name = plan.api_scope == "internet"
    dns = ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(allow_external_traffic=by_name)
    addresses = ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs(enabled=not by_name)
    ranges = plan.api_cidrs if plan.api_scope == "ranges" else PRIVATE_RANGES
    blocks = [ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(cidr_block=cidr) for cidr in ranges]
    allowed = ClusterMasterAuthorizedNetworksConfigArgs(cidr_blocks=blocks, gcp_public_cidrs_access_enabled=False)
    return {
        "network": args["network_id"],
        "subnetwork": args["subnet_id"],
        "networking_mode": "VPC_NATIVE",
        "datapath_provider": "ADVANCED_DATAPATH",
        "enable_multi_networking": plan.multi_network,
        "ip_allocation_policy": ClusterIpAllocationPolicyArgs(
            cluster_secondary_range_name=args["pods_range"], services_secondary_range_name=args["services_range"]
        ),
        "private_cluster_config": ClusterPrivateClusterConfigArgs(
            enable_private_nodes=True, enable_private_endpoint=plan.api_scope != "ranges"
        ),
        "control_plane_endpoints_config": ClusterControlPlaneEndpointsConfigArgs(dns_endpoint_config=dns, ip_endpoints_config=addresses),
        "master_authorized_networks_config": None if by_name else allowed,
    }


def _security(args: GcpClusterArgs) -> dict[str, Any]:
    """Workload identity, encrypted secrets, shielded nodes, and no client certificate."""
    certificate = ClusterMasterAuthClientCertificateConfigArgs(issue_client_certificate=False)
    return {
        "master_auth": ClusterMasterAuthArgs(client_certificate_config=certificate),
        "workload_identity_config": ClusterWorkloadIdentityConfigArgs(workload_pool=Output.concat(args["project"], ".svc.id.goog")),
        "database_encryption": ClusterDatabaseEncryptionArgs(state="ENCRYPTED", key_name=args["secrets_key_id"]),
        "enable_shielded_nodes": True,
        "security_posture_config": ClusterSecurityPostureConfigArgs(mode="BASIC"),
    }


def _addons(plans: tuple[AddonPlan, ...]) -> ClusterAddonsConfigArgs:
    """Disks, load balancing and the plan's add-ons. Raises Unsupported for an unknown add-on."""
    names = {plan.name for plan in plans}
    for name in sorted(names - {"object-store-mount", "lustre"}):
        raise Unsupported(f"add-on {name} on GKE", "addons", "object-store-mount, lustre, or a Helm release")
    mount = ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(enabled=True) if "object-store-mount" in names else None
    return ClusterAddonsConfigArgs(
        http_load_balancing=ClusterAddonsConfigHttpLoadBalancingArgs(disabled=False),
        gce_persistent_disk_csi_driver_config=ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs(enabled=True),
        gcs_fuse_csi_driver_config=mount,
        lustre_csi_driver_config=ClusterAddonsConfigLustreCsiDriverConfigArgs(enabled=True) if "lustre" in names else None,
    )


def _autoprovision(plan: ClusterPlan, args: GcpClusterArgs) -> ClusterClusterAutoscalingArgs:
    """Node auto-provisioning within the plan's limits, with the security settings of the plan's pools."""
    defaults = ClusterClusterAutoscalingAutoProvisioningDefaultsArgs(
        service_account=args["node_account"],
        boot_disk_kms_key=args["disk_key_id"],
        oauth_scopes=["https://www.googleapis.com/auth/cloud-platform"],
        shielded_instance_config=ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_integrity_monitoring=True
        ),
        management=ClusterClusterAutoscalingAutoProvisioningDefaultsManagementArgs(auto_repair=True, auto_upgrade=True),
    )
    limits = [ClusterClusterAutoscalingResourceLimitArgs(resource_type=kind, maximum=maximum) for kind, maximum in plan.autoprovision]
    return ClusterClusterAutoscalingArgs(enabled=True, resource_limits=limits, auto_provisioning_defaults=defaults)
