"""V-200 to V-202: pools whose accelerators are divided."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.sharing import MAX_MPS_CLIENTS
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import ROLE_LABEL
from rackwright.validation.stack.registry import accelerators, catalog_rule, pod_templates, rule

MIG_GUIDE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"
PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus"
KARPENTER_PARTS = "https://github.com/kubernetes-sigs/karpenter/issues/2140"


@catalog_rule("V-200", Level.ERROR, MIG_GUIDE)
def parts_are_those_of_the_accelerator(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A MIG profile of a pool is one of its accelerator, with as many instances as it has room for; MPS has at most 48 clients."""
    for at, pool in accelerators(plan):
        sharing = pool.sharing
        if sharing is None:
            continue
        if sharing.strategy == "mps" and sharing.parts > MAX_MPS_CLIENTS:
            message = f"Pool {pool.name} has {sharing.parts} clients of MPS per GPU; the limit is {MAX_MPS_CLIENTS}"
            yield Violation(at / "sharing" / "parts", f"set {MAX_MPS_CLIENTS} or fewer", message)
        if sharing.strategy != "mig":
            continue
        rows = {row.profile: row.instances for row in catalog.mig_profiles if row.accelerator == pool.accelerator}
        if sharing.profile not in rows:
            fix = f"use {', '.join(rows)}" if rows else "use mps"
            message = f"Pool {pool.name} has {pool.accelerator}, which has no MIG profile {sharing.profile}"
            yield Violation(at / "sharing" / "profile", fix, message)
        elif sharing.parts > rows[sharing.profile]:
            have = rows[sharing.profile]
            message = f"{sharing.parts} x {sharing.profile} exceed {pool.accelerator}, which has room for {have}"
            yield Violation(at / "sharing" / "parts", f"set {have}", message)


@rule("V-201", Level.ERROR, PLUGIN)
def pods_request_one_part(plan: StackPlan) -> Iterator[Violation]:
    """Pods of a pool with divided accelerators request one part: several parts are no larger device, and the plugin refuses them."""
    pools = {value: pool for _, pool in accelerators(plan) if pool.sharing for key, value in pool.labels if key == ROLE_LABEL}
    for at, manifest, template in pod_templates(plan):
        pool = pools.get(template["spec"].get("nodeSelector", {}).get(ROLE_LABEL, ""))
        if pool is None:
            continue
        for index, container in enumerate(template["spec"]["containers"]):
            limits = container.get("resources", {}).get("limits", {})
            requested = limits.get(pool.pod_resource, "0")
            if requested != "1":
                message = f"Pods of {manifest.body['metadata']['name']} request {requested} of {pool.pod_resource} on pool {pool.name}"
                where = at / "spec" / "containers" / index / "resources" / "limits"
                yield Violation(where, f"request 1 of {pool.pod_resource}", message)


@rule("V-202", Level.ERROR, KARPENTER_PARTS)
def shared_pools_are_node_groups(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter starts no pool with divided accelerators: it counts a request for a part as a whole accelerator."""
    for at, pool in accelerators(plan):
        if pool.sharing and pool.provisioner == "karpenter":
            message = f"Karpenter provisions pool {pool.name}, whose GPUs are divided in {pool.sharing.parts}"
            yield Violation(at / "provisioner", "set managed", message)
