"""Alerts and dashboards: receivers that no Alertmanager of the stack uses."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import BlueprintKind
from rackwright.stackplan.operators import MONITORING
from rackwright.validation.stack.registry import StackContext, context_rule

CHART = "https://github.com/prometheus-community/helm-charts/tree/main/charts/kube-prometheus-stack"


@context_rule("R-115", Level.WARNING, CHART, Stage.BUILD)
def receivers_have_an_alertmanager(context: StackContext) -> Iterator[Violation]:
    """Receivers of alerts of the cluster, and Grafana, need a stack that installs Prometheus; a cluster that has one keeps its own."""
    spec, plan = context.spec, context.plan
    if spec is None or (_installs_prometheus(context) and plan.kind is not BlueprintKind.BOX):
        return
    where = "the cluster has its own Prometheus" if plan.installed or (plan.cluster and plan.cluster.existing) else "the stack has none"
    parts = {"monitoring": spec.blueprint.monitoring.grafana is not None, "notify": spec.blueprint.has_cluster_receivers}
    for key in (key for key, given in parts.items() if given):
        what = "Grafana is" if key == "monitoring" else "Receivers of alerts of the cluster are"
        fix = "add them to the Prometheus and Grafana of the cluster" if plan.cluster else "remove it"
        yield Violation(At() / "blueprint" / key, fix, f"{what} not set up: {where}", blocks_update=False)


def _installs_prometheus(context: StackContext) -> bool:
    plan = context.plan
    here = any(release.name == MONITORING for release in plan.releases)
    return here and bool(plan.cluster) and ("operators" in plan.layers or bool(plan.below))
