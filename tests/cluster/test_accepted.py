"""The API server accepts every object of every stack: no unknown field, no deprecated version."""

import json

import pytest

from tests.cluster.api import Answer, Api
from tests.cluster.page import NOT_APPLIED
from tests.cluster.stacks import Body, namespaces, stacks

WITHOUT_CRD = {("networking.gke.io/v1", "HealthCheckPolicy"), ("networking.gke.io/v1", "GCPBackendPolicy")}
"""Kinds whose CRDs only GKE itself has."""


def answers(api: Api) -> dict[str, tuple[Body, Answer]]:
    """Answers to a server-side apply of each different object, without keeping it. Their namespaces are kept."""
    found: dict[str, tuple[Body, Answer]] = {}
    known: set[str] = set()
    for bodies in stacks().values():
        for space in sorted(namespaces(bodies) - known):
            api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
            known.add(space)
        for body in bodies:
            text = json.dumps(body, sort_keys=True)
            if text not in found and (body["apiVersion"], body["kind"]) not in WITHOUT_CRD:
                found[text] = (body, api.apply(body, dry_run=True))
    return found


@pytest.fixture(scope="session")
def applied(api: Api) -> dict[str, tuple[Body, Answer]]:
    return answers(api)


def label(body: Body) -> str:
    return f"{body['apiVersion']} {body['kind']} {body['metadata']['name']}"


def test_every_object_of_every_stack_is_accepted(applied, report):
    for body, answer in applied.values():
        kind = (body["kind"], body["apiVersion"])
        report.accepted[kind] = "yes" if answer.accepted and report.accepted.get(kind, "yes") == "yes" else "no"
    report.accepted |= {(kind, api): NOT_APPLIED for api, kind in WITHOUT_CRD}
    assert len(stacks()) > 100
    assert len(applied) > 200
    assert {label(body): answer.message for body, answer in applied.values() if not answer.accepted} == {}


def test_no_object_uses_a_deprecated_version_or_field(applied):
    warned = {label(body): answer.warnings for body, answer in applied.values() if answer.warnings}
    assert {name: texts for name, texts in warned.items() if any("PodSecurity" not in text for text in texts)} == {}


def test_an_unknown_field_is_refused(api):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "test", "namespace": "default"}, "values": {}}
    answer = api.apply(body, dry_run=True)
    assert not answer.accepted
    assert "values" in answer.message
