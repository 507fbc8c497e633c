"""Objects of NVIDIA's network operator: its policy, and an address pool and a network for each rail."""

import json
from collections.abc import Iterator

from rackwright.catalog.release.fabric_environment import NAMED_PORTS, OWN_SERVERS, fabric_variables
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.kubernetes.own.rails import HOST_DEVICE, NETWORKS_ANNOTATION, SHARED, SHARED_PODS, SRIOV, Rail, Rails
from rackwright.compile.kubernetes.own.tolerations import GPU_TOLERATION, Tolerations
from rackwright.compile.operators.helm_releases import release
from rackwright.stackplan import ManifestPlan, ReleasePlan
from rackwright.stackplan.labels import FABRIC_CONFIG, RESOURCES_ANNOTATION
from rackwright.stackplan.operators import GPU_OPERATOR, NETWORK_OPERATOR, NETWORK_OPERATOR_NAMESPACE

REPOSITORY = "nvcr.io/nvidia/mellanox"
MELLANOX = "15b3"
"""PCI vendor of NVIDIA's NICs."""
MELLANOX_NODES = {f"feature.node.kubernetes.io/pci-{MELLANOX}.present": "true"}
POLICY, POLICY_NAME = "fabric.policy", "nic-cluster-policy"
"""The operator reads one policy, with this name."""
PKEY_GUIDS = ("02:00:00:00:00:00:00:00", "02:FF:FF:FF:FF:FF:FF:FF")
"""Range of GUIDs for pods, as in the operator's example (Mellanox/network-operator, tag v26.4.1, example/crs)."""


def network_operator(rails: Rails) -> ReleasePlan:
    """Without its own Node Feature Discovery: the GPU operator's labels the nodes (V-87)."""
    values = {"nfd": {"enabled": False}, "sriovNetworkOperator": {"enabled": rails.options.mode == SRIOV}}
    return release(NETWORK_OPERATOR, NETWORK_OPERATOR_NAMESPACE, values, (GPU_OPERATOR,))


def fabric_objects(rails: Rails, namespace: str, taints: Tolerations, has_operator: bool) -> Iterator[ManifestPlan]:
    """The policy, the rails' address pools and networks, and the settings of NCCL for jobs of the namespace.

    taints: tolerations of the servers' taints. has_operator: the cluster has a network operator, whose only policy offers resources of
    other tenants; the stack does not change it (V-179).
    """
    if not rails.exist:
        if not has_operator:
            yield _cluster_policy(rails, taints)
        for rail in rails.rails:
            yield from _rail_objects(rails, rail, namespace, () if has_operator else (POLICY,))
    settings = {RESOURCES_ANNOTATION: json.dumps(dict(rails.pod_resources)), NETWORKS_ANNOTATION: rails.pod_networks}
    config = obj("v1", "ConfigMap", FABRIC_CONFIG, namespace, annotations=settings, data=nccl_environment(rails))
    yield ManifestPlan("fabric.settings", config)


def _cluster_policy(rails: Rails, taints: Tolerations) -> ManifestPlan:
    """The policy; its `tolerations` are those of all daemons of the operator (Mellanox/network-operator, tag v26.4.1, api/v1alpha1)."""
    spec = dict(_policy(rails)) | ({"tolerations": [GPU_TOLERATION, *taints]} if taints else {})
    # The operator reports when drivers and device plugins run on every node.
    wait = {"pulumi.com/waitFor": "jsonpath={.status.state}=ready"}
    body = obj("mellanox.com/v1alpha1", "NicClusterPolicy", POLICY_NAME, spec=spec, annotations=wait)
    return ManifestPlan(POLICY, body, (NETWORK_OPERATOR,), layer="operators")


def nccl_environment(rails: Rails) -> dict[str, str]:
    """Environment of NCCL and UCX for pods that use every rail, from the catalog.

    Devices are listed where pods see the ports by the names of the nodes; virtual functions have other names.
    """
    devices = [rail.device for rail in rails.rails if rail.device]
    listed = rails.named and len(devices) == len(rails.rails) and rails.options.mode != SRIOV
    found = {row.variable: row.value for row in fabric_variables(rails.nic.kind, only=OWN_SERVERS)}
    named = fabric_variables(rails.nic.kind, only=NAMED_PORTS) if listed else ()
    names = {"devices": ",".join(devices), "ports": ",".join(f"{device}:1" for device in devices)}
    return found | {row.variable: row.value.format(**names) for row in named}


def _policy(rails: Rails) -> Iterator[tuple[str, Body]]:
    images, options = pinned_versions("network-image"), rails.options
    mode = options.mode

    def component(image: str, **more: object) -> Body:
        return {"image": image, "repository": REPOSITORY, "version": images["components"].version, **more}

    if options.driver == "operator":
        driver = {"image": "doca-driver", "repository": REPOSITORY, "version": images["doca-driver"].version}
        yield "ofedDriver", driver | {"upgradePolicy": {"autoUpgrade": False}}
    if mode == HOST_DEVICE:
        yield "sriovDevicePlugin", component("sriov-network-device-plugin", config=json.dumps(_host_devices(rails)))
    if mode == SHARED:
        yield "rdmaSharedDevicePlugin", component("k8s-rdma-shared-dev-plugin", config=json.dumps(_shared_devices(rails)))
    yield "nvIpam", component("nvidia-k8s-ipam", enableWebhook=False)
    networks = {"cniPlugins": component("plugins"), "multus": component("multus-cni")}
    if mode == SHARED and rails.is_infiniband:
        networks["ipoib"] = component("ipoib-cni")
    yield "secondaryNetwork", networks
    if options.pkey:
        start, end = PKEY_GUIDS
        guids = {"pKeyGUIDPoolRangeStart": start, "pKeyGUIDPoolRangeEnd": end}
        yield "ibKubernetes", component("ib-kubernetes", ufmSecret=options.ufm_secret or "", periodicUpdateSeconds=5, **guids)


def _host_devices(rails: Rails) -> Body:
    def selectors(rail: Rail) -> Body:
        # Without names the link type excludes Ethernet ports of the vendor, such as those of the management network.
        ports = {"pfNames": [rail.interface]} if rail.interface else {"linkTypes": ["infiniband" if rails.is_infiniband else "ether"]}
        return {"vendors": [MELLANOX], "isRdma": True, **ports}

    return {
        "resourceList": [
            {"resourcePrefix": "nvidia.com", "resourceName": rail.resource, "selectors": selectors(rail)} for rail in rails.rails
        ]
    }


def _shared_devices(rails: Rails) -> Body:
    def selectors(rail: Rail) -> Body:
        return {"ifNames": [rail.interface]} if rail.interface else {"vendors": [MELLANOX]}

    return {
        "configList": [{"resourceName": rail.resource, "rdmaHcaMax": SHARED_PODS, "selectors": selectors(rail)} for rail in rails.rails]
    }


def _rail_objects(rails: Rails, rail: Rail, namespace: str, after: tuple[str, ...]) -> Iterator[ManifestPlan]:
    name = rails.full_name(rail)
    pool = {"subnet": rail.subnet, "perNodeBlockSize": rail.ports * rail.pods_per_node}
    body = obj("nv-ipam.nvidia.com/v1alpha1", "IPPool", name, NETWORK_OPERATOR_NAMESPACE, pool)
    yield ManifestPlan(f"fabric.pool.{rail.name}", body, after)
    if rails.options.mode == SRIOV:
        yield ManifestPlan(f"fabric.functions.{rail.name}", _virtual_functions(rails, rail), after)
        after = (*after, f"fabric.functions.{rail.name}")
    yield ManifestPlan(f"fabric.network.{rail.name}", _network(rails, rail, namespace), (*after, f"fabric.pool.{rail.name}"))


def _virtual_functions(rails: Rails, rail: Rail) -> Body:
    options = rails.options
    spec = {
        "deviceType": "netdevice",
        "isRdma": True,
        "linkType": "IB" if rails.is_infiniband else "ETH",
        "nicSelector": {"vendor": MELLANOX, "pfNames": [rail.interface]},
        "nodeSelector": MELLANOX_NODES,
        "numVfs": options.virtual_functions,
        "priority": 90,
        "resourceName": rail.resource,
    } | ({"mtu": options.mtu} if options.mtu else {})
    return obj("sriovnetwork.openshift.io/v1", "SriovNetworkNodePolicy", rails.full_name(rail), NETWORK_OPERATOR_NAMESPACE, spec)


def _network(rails: Rails, rail: Rail, namespace: str) -> Body:
    """The network that pods of the namespace attach."""
    name, options = rails.full_name(rail), rails.options
    ipam = {"type": "nv-ipam", "poolName": name}
    shared = {"ipam": json.dumps(ipam), "networkNamespace": namespace}
    if options.mode == HOST_DEVICE:
        return obj("mellanox.com/v1alpha1", "HostDeviceNetwork", name, spec={**shared, "resourceName": rail.resource})
    if options.mode == SHARED and rails.is_infiniband:
        return obj("mellanox.com/v1alpha1", "IPoIBNetwork", name, spec={**shared, "master": rail.interface})
    if options.mode == SHARED:
        spec = {**shared, "master": rail.interface, "mode": "bridge"} | ({"mtu": options.mtu} if options.mtu else {})
        return obj("mellanox.com/v1alpha1", "MacvlanNetwork", name, spec=spec)
    if options.pkey:
        return _partition(rails, rail, namespace, ipam)
    kind = "SriovIBNetwork" if rails.is_infiniband else "SriovNetwork"
    spec = {**shared, "resourceName": rail.resource, "linkState": "enable"}
    return obj("sriovnetwork.openshift.io/v1", kind, name, NETWORK_OPERATOR_NAMESPACE, spec)


def _partition(rails: Rails, rail: Rail, namespace: str, ipam: Body) -> Body:
    """A network in an InfiniBand partition. SriovIBNetwork has no field for a PKey, so its network is written out
    (k8snetworkplumbingwg/ib-sriov-cni README.md)."""
    name = rails.full_name(rail)
    config = {
        "cniVersion": "0.3.1",
        "name": name,
        "type": "ib-sriov",
        "pkey": rails.options.pkey,
        "link_state": "enable",
        "ibKubernetesEnabled": True,
        "ipam": ipam,
    }
    used = {"k8s.v1.cni.cncf.io/resourceName": rails.resource(rail)}
    api = "k8s.cni.cncf.io/v1"
    return obj(api, "NetworkAttachmentDefinition", name, namespace, {"config": json.dumps(config)}, annotations=used)
