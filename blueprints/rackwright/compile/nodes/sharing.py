"""Division of a pool's accelerators: the resource that pods request, and the node labels that configure NVIDIA's operators."""

from rackwright.catalog.rows import Sharing
from rackwright.catalog.sharing import RENAMED_GPU
from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.stackplan import SharingPlan
from rackwright.stackplan.images import UBUNTU, image_family
from rackwright.stackplan.labels import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL, RESOURCES

PLUGIN_CONFIG = """\
version: v1
flags:
  migStrategy: {}
"""
SHARED_CONFIG = """\
sharing:
  {}:
    renameByDefault: true
{}    resources:
      - name: nvidia.com/gpu
        replicas: {}
"""
KEYS = {"mps": "mps", "time-slicing": "timeSlicing"}
"""Strategy -> key of the device plugin's configuration."""
FAIL_ABOVE_ONE = "    failRequestsGreaterThanOne: true\n"
"""More than one part of a time-sliced GPU gives no more of it; MPS always refuses such requests."""
DEFAULT_CONFIG = "default"


def sharing_plan(context: CompileContext) -> SharingPlan | None:
    """The division that the candidate was sized with; None for whole accelerators."""
    sharing = context.candidate.sharing
    if sharing is None:
        return None
    resource = RESOURCES["gpu"] if profile(context.candidate.cloud).keeps_shared_name else _renamed(sharing)
    return SharingPlan(sharing.strategy, sharing.parts, resource, sharing.profile)


def _renamed(sharing: Sharing) -> str:
    """Name of a part with the plugin's strategy `mixed` for MIG, and `renameByDefault` for the others."""
    return f"nvidia.com/mig-{sharing.profile}" if sharing.profile else RENAMED_GPU


def sharing_labels(sharing: SharingPlan | None, image: str) -> tuple[tuple[str, str], ...]:
    """Node labels of a divided pool. image: of the pool; the GPU operator of Ubuntu and of own servers also divides GPUs by MIG."""
    if sharing is None:
        return ()
    managed = sharing.mig_config and image_family(image) in (UBUNTU, "")
    return ((PLUGIN_CONFIG_LABEL, sharing.config), *([(MIG_CONFIG_LABEL, sharing.mig_config)] if managed else []))


def plugin_configs(plans: list[SharingPlan]) -> dict[str, str]:
    """Configurations of the device plugin by name, with that of nodes with whole GPUs."""
    whole = {DEFAULT_CONFIG: PLUGIN_CONFIG.format("none")}
    return whole | {plan.config: _plugin_config(plan) for plan in plans}


def _plugin_config(plan: SharingPlan) -> str:
    if plan.profile:
        return PLUGIN_CONFIG.format("mixed")
    fails = FAIL_ABOVE_ONE if plan.strategy == "time-slicing" else ""
    return PLUGIN_CONFIG.format("none") + SHARED_CONFIG.format(KEYS[plan.strategy], fails, plan.parts)
