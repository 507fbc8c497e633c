"""What shows accelerators and fabric interfaces to the pods of an EKS cluster, once each, for the images its machines start from."""

from collections.abc import Iterable, Sequence

from rackwright.compile.kubernetes.manifests import obj
from rackwright.compile.operators.helm_releases import TOLERATE_ALL, release
from rackwright.stackplan import ManifestPlan, PoolPlan, ReleasePlan
from rackwright.stackplan.images import UBUNTU, image_family
from rackwright.stackplan.labels import EFA_CLAIM, EFA_DEVICE_CLASS, RESOURCES
from rackwright.stackplan.operators import EFA_DRA_DRIVER, EFA_PLUGIN, MONITORING, NEURON_PLUGIN


def device_releases(pools: Sequence[PoolPlan]) -> tuple[ReleasePlan, ...]:
    """Charts for the accelerators of `pools`, each on its own machines only. All GPU pools have images of one family."""
    claimed, plugged = (_instance_types(p for p in pools if p.nics and (p.devices == "dra") is dra) for dra in (True, False))
    fabric = (*([_efa_driver(EFA_DRA_DRIVER, claimed)] if claimed else []), *([_efa_driver(EFA_PLUGIN, plugged)] if plugged else []))
    gpus = [pool for pool in pools if pool.resource == RESOURCES["gpu"]]
    neurons = _instance_types(pool for pool in pools if pool.resource == RESOURCES["neuron"])
    return (*fabric, *(_gpu_stack(gpus) if gpus else ()), *([_neuron_plugin(neurons)] if neurons else []))


def efa_claims(pools: Sequence[PoolPlan], namespace: str) -> tuple[ManifestPlan, ...]:
    """What pods name to be given the fabric: `efa`, and `efa-4` where further pools have machines with another number of interfaces."""
    different = {pool.fabric_interfaces: pool for pool in reversed(pools) if pool.devices == "dra"}
    names = (EFA_CLAIM if pool is pools[0] else f"{EFA_CLAIM}-{count}" for count, pool in different.items())
    return tuple(efa_claim(pool, namespace, name) for name, pool in zip(names, different.values(), strict=True))


def efa_claim(pool: PoolPlan, namespace: str, name: str = EFA_CLAIM) -> ManifestPlan:
    """All EFA interfaces of a node for one pod, to be named in its resourceClaims. Kueue counts exact numbers only."""
    request = {
        "name": EFA_CLAIM,
        "exactly": {"deviceClassName": EFA_DEVICE_CLASS, "allocationMode": "ExactCount", "count": pool.fabric_interfaces},
    }
    body = obj("resource.k8s.io/v1", "ResourceClaimTemplate", name, namespace, {"spec": {"devices": {"requests": [request]}}})
    return ManifestPlan(f"claim.{namespace}.{name}", body, (EFA_DRA_DRIVER,))


def _efa_driver(name: str, machines: list[str]) -> ReleasePlan:
    """A driver of EFA that runs on the machines it lists; its own list lacks new ones."""
    return release(name, "kube-system", {"tolerations": TOLERATE_ALL, "supportedInstanceLabels": {"values": machines}})


def _gpu_stack(pools: list[PoolPlan]) -> tuple[ReleasePlan, ...]:
    """Device plugin, labels and metrics; on Ubuntu one operator brings them and the driver.

    NVIDIA documents AWS's images as the way without its operator, and forbids mixing both
    (docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html).
    """
    family = image_family(pools[0].image)
    if family == UBUNTU:
        return (_gpu_operator(any(pool.nics for pool in pools)),)
    return (_nvidia_plugin(family == "bottlerocket"), _dcgm_exporter(_instance_types(pools), family == "bottlerocket"))


def _nvidia_plugin(own_plugin: bool) -> ReleasePlan:
    """Shows GPUs to pods and labels nodes with what they are; its own node feature discovery is the cluster's only one.

    own_plugin: the image runs a device plugin itself, as Bottlerocket does
    (docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin).
    """
    off = {"devicePlugin": {"enabled": False}} if own_plugin else {}
    return release("nvidia-device-plugin", "kube-system", {"gfd": {"enabled": True}, "tolerations": TOLERATE_ALL} | off)


def _dcgm_exporter(machines: list[str], guarded: bool) -> ReleasePlan:
    """Comes after the chart that brings monitors.

    guarded: only a privileged pod is shown GPUs that it did not ask for (bottlerocket-os/bottlerocket@91632ff SECURITY_GUIDANCE.md).
    """
    here = [{"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": machines}]}]
    values = {
        "tolerations": TOLERATE_ALL,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": here}}},
        "serviceMonitor": {"honorLabels": True},
    }
    allowed = {"securityContext": {"privileged": True, "allowPrivilegeEscalation": True}} if guarded else {}
    return release("dcgm-exporter", "monitoring", values | allowed, (MONITORING,))


def _gpu_operator(fabric: bool) -> ReleasePlan:
    """A driver is never upgraded under a running job, and a pod cannot take GPUs by naming them in its environment.

    The plugin's validation would need an idle GPU; an empty list of its variables is refused (NVIDIA/aicr gpu-operator/values.yaml).
    """
    values = {
        "driver": {"kernelModuleType": "auto", "upgradePolicy": {"autoUpgrade": False}},
        "toolkit": {"env": [{"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}]},
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
        "dcgmExporter": {"serviceMonitor": {"enabled": True, "honorLabels": True}},
        "gdrcopy": {"enabled": fabric},
    }
    return release("gpu-operator", "gpu-operator", values, (MONITORING,))


def _neuron_plugin(machines: list[str]) -> ReleasePlan:
    """Shows Neuron devices. EKS's node monitoring agent already watches their health, and jobs take whole machines, so the chart's problem
    detector and its scheduler of neighbouring cores stay off."""
    values = {"neuronInstances": machines, "npd": {"enabled": False}}
    return release(NEURON_PLUGIN, "kube-system", values)


def _instance_types(pools: Iterable[PoolPlan]) -> list[str]:
    return sorted({pool.machine for pool in pools})
