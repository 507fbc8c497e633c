"""Device plugins and operators that make accelerators and EFA interfaces available to pods on EKS."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rackwright.compile.kubernetes.manifests import device_claim
from rackwright.compile.nodes.sharing import DEFAULT_CONFIG, plugin_configs
from rackwright.compile.operators.helm_releases import TOLERATE_ALL, release
from rackwright.stackplan import ManifestPlan, PoolPlan, ReleasePlan, SharingPlan
from rackwright.stackplan.images import UBUNTU, image_family
from rackwright.stackplan.labels import EFA_CLAIM, EFA_DEVICE_CLASS, RESOURCES
from rackwright.stackplan.namespaces import MONITORING_NAMESPACE, SYSTEM_NAMESPACE
from rackwright.stackplan.operators import EFA_DRA_DRIVER, EFA_PLUGIN, GPU_OPERATOR, MONITORING, NEURON_PLUGIN

PLUGIN_CONFIGS = "device-plugin-configs"
"""ConfigMap of the GPU operator's device plugin."""


def device_releases(pools: Sequence[PoolPlan]) -> tuple[ReleasePlan, ...]:
    """Charts for the accelerators of `pools`, each on its instance types only. All GPU pools have images of one family."""
    claimed, plugged = (_instance_types(p for p in pools if p.nics and (p.devices == "dra") is dra) for dra in (True, False))
    fabric = (*([_efa_driver(EFA_DRA_DRIVER, claimed)] if claimed else []), *([_efa_driver(EFA_PLUGIN, plugged)] if plugged else []))
    gpus = [pool for pool in pools if pool.resource == RESOURCES["gpu"]]
    neurons = _instance_types(pool for pool in pools if pool.resource == RESOURCES["neuron"])
    # The chart's problem detector is off: EKS's node monitoring agent checks device health.
    neuron_plugin = [release(NEURON_PLUGIN, SYSTEM_NAMESPACE, {"neuronInstances": neurons, "npd": {"enabled": False}})] if neurons else []
    return (*fabric, *(_gpu_stack(gpus) if gpus else ()), *neuron_plugin)


def efa_claims(pools: Sequence[PoolPlan], namespace: str) -> tuple[ManifestPlan, ...]:
    """Claim templates for EFA: `efa`, and for example `efa-4` for pools with another number of interfaces."""
    different = {pool.fabric_interfaces: pool for pool in reversed(pools) if pool.devices == "dra"}
    names = (EFA_CLAIM if pool is pools[0] else f"{EFA_CLAIM}-{count}" for count, pool in different.items())
    return tuple(efa_claim(pool, namespace, name) for name, pool in zip(names, different.values(), strict=True))


def efa_claim(pool: PoolPlan, namespace: str, name: str = EFA_CLAIM) -> ManifestPlan:
    """Claim template for all EFA interfaces of a node."""
    return device_claim(namespace, name, EFA_DEVICE_CLASS, pool.fabric_interfaces, (EFA_DRA_DRIVER,), EFA_CLAIM)


def _efa_driver(name: str, machines: list[str]) -> ReleasePlan:
    """An EFA driver for the listed instance types; the chart's default list lacks new ones."""
    return release(name, SYSTEM_NAMESPACE, {"tolerations": TOLERATE_ALL, "supportedInstanceLabels": {"values": machines}})


def _gpu_stack(pools: list[PoolPlan]) -> tuple[ReleasePlan, ...]:
    """Device plugin, labels and metrics; on Ubuntu the GPU operator installs them and the driver.

    NVIDIA documents AWS's images without its operator, and does not support both together
    (docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html).
    """
    family = image_family(pools[0].image)
    if family == UBUNTU:
        return (gpu_operator(any(pool.nics for pool in pools), sharing=_sharing(pools)),)
    # Bottlerocket contains a device plugin (docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin).
    own = family == "bottlerocket"
    values: dict[str, Any] = {"gfd": {"enabled": True}, "tolerations": TOLERATE_ALL} | ({"devicePlugin": {"enabled": False}} if own else {})
    if shared := _sharing(pools):
        values |= {"config": {"map": plugin_configs(shared), "default": DEFAULT_CONFIG}}
    return (release("nvidia-device-plugin", SYSTEM_NAMESPACE, values), _dcgm_exporter(_instance_types(pools), guarded=own))


def _sharing(pools: Iterable[PoolPlan]) -> list[SharingPlan]:
    """Divisions of the pools, once each."""
    return list(dict.fromkeys(pool.sharing for pool in pools if pool.sharing))


def _dcgm_exporter(machines: list[str], guarded: bool) -> ReleasePlan:
    """GPU metrics, installed after the chart that defines ServiceMonitor.

    guarded: only privileged pods see GPUs that they did not request (bottlerocket-os/bottlerocket@91632ff SECURITY_GUIDANCE.md).
    """
    here = [{"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": machines}]}]
    values = {
        "tolerations": TOLERATE_ALL,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": here}}},
        "serviceMonitor": {"honorLabels": True},
    }
    allowed = {"securityContext": {"privileged": True, "allowPrivilegeEscalation": True}} if guarded else {}
    return release("dcgm-exporter", MONITORING_NAMESPACE, values | allowed, (MONITORING,))


def gpu_operator(fabric: bool, driver: Mapping[str, Any] = MappingProxyType({}), sharing: Sequence[SharingPlan] = ()) -> ReleasePlan:
    """GPU operator without driver upgrades under running jobs, and without GPU access by environment variables.

    driver: further values of its driver. sharing: of the pools; node labels select the configuration of the device plugin, and of MIG.

    The plugin's validation needs an idle GPU, so it is off; an empty variable list is rejected (NVIDIA/aicr gpu-operator/values.yaml).
    """
    values = {
        "driver": {"kernelModuleType": "auto", "upgradePolicy": {"autoUpgrade": False}, **driver},
        "toolkit": {"env": [{"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}]},
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
        "dcgmExporter": {"serviceMonitor": {"enabled": True, "honorLabels": True}},
        "gdrcopy": {"enabled": fabric},
    }
    if sharing:
        config = {"create": True, "name": PLUGIN_CONFIGS, "default": DEFAULT_CONFIG, "data": plugin_configs(list(sharing))}
        values |= {"devicePlugin": {"config": config}, "mig": {"strategy": "mixed"}}
    return release(GPU_OPERATOR, GPU_OPERATOR, values, (MONITORING,))


def _instance_types(pools: Iterable[PoolPlan]) -> list[str]:
    return sorted({pool.machine for pool in pools})
