"""Namespaces of operators admit the pods of their charts: what a chart sets, merged with the values of the plan."""

from typing import Any

import pytest
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests import plans
from tests.cluster.nodes import container
from tests.compile.contracts import chart_values, merged
from tests.compile.found import release

PLANS = {"lws": "fleet-wide", "keda": "fleet-wide", "jobset": "training", "kueue": "training"}
POD = {
    "lws": ("podSecurityContext",),
    "keda": ("podSecurityContext", "operator"),
    "jobset": ("controller", "podSecurityContext"),
    "kueue": ("controllerManager", "manager", "podSecurityContext"),
}
"""Chart -> path of the pod's security context in its values."""
CONTAINER = {
    "lws": ("securityContext",),
    "keda": ("securityContext", "operator"),
    "jobset": ("controller", "securityContext"),
    "kueue": ("controllerManager", "manager", "containerSecurityContext"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_restricted_namespace_admits_the_pods_of_its_chart(name, api):
    plan = plans.training_plan() if PLANS[name] == "training" else plans.FLEETS[PLANS[name]]()
    wanted = release(plan, name)
    values = merged(chart_values(wanted.chart.rpartition("/")[2], wanted.chart_version), wanted.values)
    level = dict(plan.namespaces)[wanted.namespace]
    api.must_apply(namespace_body(wanted.namespace, level))
    main = container({"cpu": "100m"}) | {"securityContext": at(values, CONTAINER[name])}
    spec = {"containers": [main], "securityContext": at(values, POD[name])}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": wanted.namespace}, "spec": spec}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": wanted.namespace}}
    api.must_apply(account)
    answer = api.apply(pod, dry_run=True)
    assert (level, answer.message) == ("restricted", "")


def at(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        values = values[key]
    return values
