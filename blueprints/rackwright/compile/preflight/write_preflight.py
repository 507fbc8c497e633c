"""The check of a stack's nodes, with its problems."""

from dataclasses import dataclass

from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.kubernetes.manifests import Body
from rackwright.compile.preflight.objects import check_selector, cluster_objects, namespace_name, node_objects
from rackwright.compile.preflight.refusals import preflight_problems
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem
from rackwright.stackplan.labels import EFA_RESOURCE


@dataclass(frozen=True)
class Preflight:
    """A check of nodes, then of the fabric and the shared storage. context: the stack that is checked."""

    context: JobContext
    image: str
    warnings: tuple[Problem, ...] = ()

    @property
    def namespace(self) -> str:
        return namespace_name(self.context)

    @property
    def selector(self) -> dict[str, str]:
        return check_selector(self.context)

    @property
    def node_objects(self) -> list[Body]:
        return node_objects(self.context, self.image)

    @property
    def has_cluster_check(self) -> bool:
        """Whether nodes are checked together: jobs of the stack run on several of them."""
        return self.context.stack.runs_jobs

    def cluster_objects(self, nodes: int) -> list[Body]:
        """Objects for this number of nodes."""
        return cluster_objects(self.context, self.image, nodes)

    @property
    def device_amounts(self) -> dict[str, int]:
        """Resource -> amount that every node must offer to pods."""
        pool, found = self.context.pool, {}
        found[pool.resource] = pool.accelerator_count
        if pool.fabric_interfaces and pool.devices == "plugin":
            found[EFA_RESOURCE] = pool.fabric_interfaces
        return found


def preflight_of(context: JobContext, image: str = "") -> Preflight:
    """image: instead of that of the spec. Raises UserError with every reason why the nodes cannot be checked."""
    used = image or context.spec.blueprint.preflight.image or context.run.image or ""
    found = list(preflight_problems(context, used))
    if any(problem.level is Level.ERROR for problem in found):
        raise UserError(found)
    return Preflight(context, used, tuple(found))
