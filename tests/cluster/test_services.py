"""Stacks with alerts, dashboards, adapters, other servers and an endpoint picker on a real control plane."""

import pytest

from tests import service_plans
from tests.cluster.api import Api
from tests.cluster.stacks import Body, namespaces, objects
from tests.cluster.test_accepted import WITHOUT_CRD, label

APPLIED = {
    name: [body for body in objects(build()) if (body["apiVersion"], body["kind"]) not in WITHOUT_CRD]
    for name, build in service_plans.SERVICES.items()
}


@pytest.mark.parametrize("name", APPLIED)
def test_every_object_is_accepted(api: Api, name):
    bodies = APPLIED[name]
    spaces = sorted(namespaces(tuple(bodies)))
    api.must_apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}} for space in spaces))
    refused = {label(body): answer.message for body in bodies if not (answer := api.apply(body, dry_run=True)).accepted}
    assert refused == {}


@pytest.mark.parametrize("name", ["sglang", "inference-gateway"])
def test_a_second_apply_keeps_the_replicas_of_the_autoscaler(api: Api, name):
    deployment = next(body for body in APPLIED[name] if body["kind"] == "Deployment" and "picker" not in body["metadata"]["name"])
    space: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": deployment["metadata"]["namespace"]}}
    api.must_apply(space, deployment)
    scaled = api.request("PATCH", f"{api.path(deployment)}/scale", {"spec": {"replicas": 3}}, "application/merge-patch+json")
    assert scaled.accepted, scaled.message
    before = api.request("GET", api.path(deployment)).body
    after = api.apply(deployment).body
    assert after["spec"]["replicas"] == 3
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    api.delete(deployment)


def test_a_second_apply_changes_nothing(api: Api):
    kinds = {"ScaledObject", "InferencePool", "PrometheusRule", "PodMonitor", "ConfigMap", "HTTPRoute", "Gateway", "Role", "Secret"}
    for body in (body for bodies in APPLIED.values() for body in bodies if body["kind"] in kinds):
        space = body["metadata"].get("namespace", "default")
        api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}, body)
        first = api.request("GET", api.path(body)).body
        assert content(api.apply(body).body) == content(first), label(body)


def content(body: Body) -> Body:
    """What users set: without versions, managers and status."""
    kept = {key: value for key, value in body["metadata"].items() if key in ("labels", "annotations", "generation")}
    return {key: value for key, value in body.items() if key != "status"} | {"metadata": kept}
