"""Objects of GKE for the fabric between machines: networks of further interfaces, NCCL's plugin on the nodes, claims of RDMA interfaces.

Facts without another source are from GoogleCloudPlatform/container-engine-accelerators@992db812 (gpudirect-tcpx, gpudirect-tcpxo,
gpudirect-rdma, nri_device_injector; 2026-06-09).
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from rackwright.catalog.rows import Fabric, FabricLayout
from rackwright.compile.kubernetes.manifests import Body, device_claim, obj
from rackwright.compile.kubernetes.tenancy import FabricRights
from rackwright.compile.operators.versions import FABRIC_IMAGES
from rackwright.stackplan import AcceleratorNetworkPlan, ManifestPlan, PoolPlan, ref
from rackwright.stackplan.labels import RDMA_CLAIM, RDMA_DEVICE_CLASS, ROLE_LABEL
from rackwright.stackplan.namespaces import SYSTEM_NAMESPACE

NETWORKS_API = "networking.gke.io/v1"
HOST_NVIDIA, HOST_GIB = "/home/kubernetes/bin/nvidia", "/home/kubernetes/bin/gib"
"""Folders of a node with the driver and with NCCL's RDMA plugin, which containers of jobs mount."""
CONTAINER_NVIDIA = "/usr/local/nvidia"
"""Where containers have the folder with the driver."""
OPTMEM_BYTES = 131072
"""Buffer of a socket that the receive daemon of TCPX needs (gpudirect-tcpx/optmem-max-ds.yaml)."""
INSTALL = {
    Fabric.TCPX: "/scripts/container_entry.sh install --install-nccl && mkdir -p /host/bin/nvidia/lib64 "
    "&& cp -r /var/lib/tcpx/lib64/. /host/bin/nvidia/lib64",
    Fabric.TCPXO: "chmod 755 /scripts/container_entry.sh && /scripts/container_entry.sh install --install-nccl "
    "&& mkdir -p /host/bin/nvidia/lib64 && cp -r /var/lib/tcpxo/lib64/. /host/bin/nvidia/lib64",
    Fabric.ROCE: "/scripts/container_entry.sh install && mkdir -p /host/bin/nvidia/lib64 /host/bin/gib "
    "&& cp -r /var/lib/gib/lib64/. /host/bin/nvidia/lib64 && cp -r /var/lib/gib/. /host/bin/gib",
}
"""Fabric -> what its plugin image runs: its own installation, then a copy into the folders that jobs mount."""
NODE_FOLDERS = {
    Fabric.TCPX: {"nvidia": HOST_NVIDIA, "sys": "/sys", "proc-sys": "/proc/sys"},
    Fabric.TCPXO: {"nvidia": HOST_NVIDIA, "sys": "/sys", "proc-sys": "/proc/sys", "aperture-devices": "/dev/aperture_devices"},
    Fabric.ROCE: {"nvidia": HOST_NVIDIA, "gib": HOST_GIB},
}
"""Fabric -> volume -> folder of the node that pods of jobs mount."""
DAEMON_CAPABILITIES = {Fabric.TCPX: ("NET_ADMIN",), Fabric.TCPXO: ("NET_ADMIN", "NET_BIND_SERVICE")}
"""Capabilities of the receive daemon in the pods of jobs."""
DAEMON_DEVICES = {
    Fabric.TCPX: ("/dev/nvidiactl", "/dev/nvidia-uvm"),
    Fabric.TCPXO: ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dmabuf_import_helper"),
}
"""Devices of the receive daemon besides the GPUs."""
DEVICES_ANNOTATION = "devices.gke.io/"
"""Prefix of the annotations by which the device injector gives devices of the node to containers."""
PLUGINS = {Fabric.TCPX: "tcpx-plugin", Fabric.TCPXO: "tcpxo-plugin", Fabric.ROCE: "gib-plugin"}


def fabric_rights(fabric: Fabric, accelerators: int) -> FabricRights:
    """What the namespace of jobs must allow. accelerators: of a node."""
    devices = daemon_devices(fabric, accelerators)
    return FabricRights(tuple(NODE_FOLDERS[fabric].values()), DAEMON_CAPABILITIES.get(fabric, ()), DEVICES_ANNOTATION, devices)


def daemon_devices(fabric: Fabric, accelerators: int) -> dict[str, str]:
    """Annotation that gives the GPUs to the receive daemon; none for a fabric without one."""
    if fabric not in DAEMON_DEVICES:
        return {}
    paths = [*(f"/dev/nvidia{index}" for index in range(accelerators)), *DAEMON_DEVICES[fabric]]
    return {f"{DEVICES_ANNOTATION}container.{fabric}-daemon": "".join(f"- path: {path}\n" for path in paths)}


def fabric_objects(pool: PoolPlan, layout: FabricLayout, networks: Sequence[AcceleratorNetworkPlan], namespace: str) -> list[ManifestPlan]:
    """Everything between a node's interfaces and NCCL. layout: of the pool's machine. namespace: of its jobs."""
    injector = [_device_injector(pool)] if networks else []
    managed = bool(layout.managed_networks_from and layout.interfaces)
    claims = [device_claim(namespace, RDMA_CLAIM, RDMA_DEVICE_CLASS, layout.interfaces or 0)] if managed else []
    return [*_networks(networks), _plugin_installer(pool, layout.fabric), *injector, *claims]


def _networks(networks: Sequence[AcceleratorNetworkPlan]) -> list[ManifestPlan]:
    """Two objects per network, by which pods use it (https://cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx)."""
    found = []
    for network in networks:
        vpc, subnet = (ref(f"network.accelerator.{network.name}.{part}") for part in ("vpc", "subnet"))
        device = {"vpc": vpc, "vpcSubnet": subnet, "deviceMode": network.device_mode}
        parameters = {"group": NETWORKS_API.partition("/")[0], "kind": "GKENetworkParamSet", "name": network.name}
        key = f"network.{network.name}"
        found += [
            ManifestPlan(f"{key}.device", obj(NETWORKS_API, "GKENetworkParamSet", network.name, spec=device), layer="operators"),
            ManifestPlan(
                key,
                obj(NETWORKS_API, "Network", network.name, spec={"type": "Device", "parametersRef": parameters}),
                (f"{key}.device",),
                layer="operators",
            ),
        ]
    return found


def _plugin_installer(pool: PoolPlan, fabric: Fabric) -> ManifestPlan:
    """NCCL's plugin on every accelerator node, before jobs start there; a new node gets it too."""
    mounts = {"var-lib": "/var/lib", "host-bin": "/host/bin"}
    # The images of TCPX and TCPXO leave their libraries in the node's /var/lib; gIB's keeps them in its own.
    used = mounts if fabric is not Fabric.ROCE else {"host-bin": "/host/bin"}
    install = _privileged("install", FABRIC_IMAGES[PLUGINS[fabric]], ["/bin/sh", "-ec", INSTALL[fabric]], used)
    volumes = {"var-lib": "/var/lib", "host-bin": "/home/kubernetes/bin"}
    first = [*_node_setup(fabric), install]
    pause = {"name": "pause", "image": FABRIC_IMAGES["pause"]}
    return _daemon_set(f"nccl-{fabric}-installer", pool, first, [pause], {name: volumes[name] for name in used})


def _node_setup(fabric: Fabric) -> list[Body]:
    """Settings of the node that its fabric needs besides the plugin."""
    if fabric is Fabric.TCPX:
        command = ["/bin/sh", "-ec", f"echo {OPTMEM_BYTES} > /proc/sys/net/core/optmem_max"]
        return [_privileged("socket-buffers", FABRIC_IMAGES["tcpx-plugin"], command, {})]
    if fabric is Fabric.TCPXO:
        script = files("rackwright.compile.kubernetes.gcp").joinpath("tcpxo_node.sh").read_text()
        command = ["nsenter", "--all", "--target", "1", "--", "/bin/bash", "-c", script]
        return [_privileged("node", FABRIC_IMAGES["host-tools"], command, {})]
    return []


def _device_injector(pool: PoolPlan) -> ManifestPlan:
    """Gives the GPUs to the receive daemon of a pod, whose other container has requested them."""
    container = _privileged("device-injector", FABRIC_IMAGES["device-injector"], [], {"dev": "/dev", "nri": "/var/run/nri"})
    return _daemon_set("device-injector", pool, [], [container], {"dev": "/dev", "nri": "/var/run/nri"})


def _privileged(name: str, image: str, command: list[str], mounts: Mapping[str, str]) -> Body:
    """A container that changes its node."""
    volumes = {"volumeMounts": [{"name": volume, "mountPath": path} for volume, path in mounts.items()]} if mounts else {}
    run = {"command": command} if command else {}
    requests = {"requests": {"cpu": "150m", "memory": "64Mi"}}
    return {"name": name, "image": image, **run, "resources": requests, "securityContext": {"privileged": True}, **volumes}


def _daemon_set(name: str, pool: PoolPlan, first: list[Body], containers: list[Body], volumes: Mapping[str, str]) -> ManifestPlan:
    """A DaemonSet on the accelerator nodes, whatever their taints. volumes: name -> path on the node."""
    labels = {"k8s-app": name}
    pod: Body = {
        "priorityClassName": "system-node-critical",
        "nodeSelector": {ROLE_LABEL: dict(pool.labels)[ROLE_LABEL]},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "automountServiceAccountToken": False,
        **({"initContainers": first} if first else {}),
        "containers": containers,
        "volumes": [{"name": volume, "hostPath": {"path": path}} for volume, path in volumes.items()],
    }
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    body = obj("apps/v1", "DaemonSet", name, SYSTEM_NAMESPACE, spec, labels=labels)
    return ManifestPlan(f"fabric.{name}", body, wait_s=0, layer="operators")  # nodes may start later
