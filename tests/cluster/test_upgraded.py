"""Objects of the previous release become those of today by server-side apply: no change of an immutable field.

tests/states/<release>/ has specs with their decisions, and graphs as that release recorded them.
"""

import json
from datetime import datetime
from pathlib import Path

import pytest
from rackwright.cli.session import Session
from rackwright_pulumi.recorded_stack import graph_of

from tests.cluster.api import Api, wait_until
from tests.cluster.stacks import Body, graph_objects, namespaces
from tests.cluster.test_accepted import WITHOUT_CRD, label

STATES = sorted((Path(__file__).parents[1] / "states").glob("*/*.json"))
BUILT_IN = {"default", "kube-system"}
GONE_SECONDS = 30


def key(body: Body) -> tuple[str, str, str]:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def applicable(graph: dict) -> dict[tuple[str, str, str], Body]:
    """Objects of a graph whose kinds the control plane serves."""
    return {key(body): body for body in graph_objects(graph) if (body["apiVersion"], body["kind"]) not in WITHOUT_CRD}


def of_today(path: Path, planned_on: str) -> dict:
    """The graph that this release makes of the spec and the decision of a state."""
    session = Session.of(path.parent / "stacks" / f"{path.stem}.yaml", True, datetime.fromisoformat(planned_on))
    return json.loads(json.dumps(graph_of(session), default=str))


@pytest.fixture
def kept(api: Api):
    """Applies objects and deletes them after the test, and those of other tests with their names before; namespaces stay."""
    made: list[Body] = []

    def remove(bodies: list[Body]) -> None:
        rest = [body for body in bodies if body["kind"] != "Namespace"]
        for body in rest:
            api.delete(body)
            unbound = {"metadata": {"finalizers": None}}  # volumes wait for claims
            api.request("PATCH", api.path(body), unbound, "application/merge-patch+json")
        assert wait_until(lambda: not [body for body in rest if api.request("GET", api.path(body)).status == 200], GONE_SECONDS)

    def keep(bodies: list[Body]) -> None:
        for space in sorted(namespaces(tuple(bodies)) - BUILT_IN):
            api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        if not made:
            remove(bodies[::-1])
        for body in bodies:
            api.must_apply(body)
            made.append(body)

    yield keep
    remove(made[::-1])


@pytest.mark.parametrize("path", STATES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_objects_of_the_previous_release_upgrade(path, api, kept):
    state = json.loads(path.read_text())
    before, after = applicable(state), applicable(of_today(path, state["planned_on"]))
    kept(list(before.values()))
    both = [after[name] for name in after if name in before]
    answers = {label(body): api.apply(body, dry_run=True) for body in both}
    assert {name: answer.message for name, answer in answers.items() if not answer.accepted} == {}
    assert both or not before


def test_a_change_of_an_immutable_field_is_found(api, kept):
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "upgrade-test"}, "value": 1}
    kept([body])
    assert "may not be changed in an update" in api.apply(body | {"value": 2}, dry_run=True).message
