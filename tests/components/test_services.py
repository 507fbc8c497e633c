"""Stacks with receivers of alerts, Grafana, and an endpoint picker as resources."""

import pulumi
import pytest
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.resource_graph import unwrap_secrets
from rackwright_pulumi.testing import Graph, record

from tests import service_plans

RELEASE, SECRET = "kubernetes:helm.sh/v3:Release", "kubernetes:core/v1:Secret"


def graph(name: str) -> Graph:
    def program() -> None:
        secrets = {secret: pulumi.Output.secret(f"value-of-{secret}") for secret in ("slack", "hook", "smtp", "grafana")}
        declare(service_plans.SERVICES[name](), secrets=secrets)

    return record(program)


def waits(found: Graph, node) -> set[str]:
    return {urn.rpartition("::")[2] for urn in found.direct_dependencies(node)}


def test_prometheus_waits_for_the_secrets_of_its_receivers():
    found = graph("observed")
    release = next(node for node in found.nodes.values() if node.type == RELEASE and node.inputs["name"] == "kube-prometheus-stack")
    assert {name.rpartition("layer-")[2] for name in waits(found, release)} >= {"alerts.receivers", "grafana.admin"}
    secret = next(node for node in found.nodes.values() if node.type == SECRET and node.inputs["metadata"]["name"] == "alert-receivers")
    assert unwrap_secrets(secret.inputs["stringData"])["slack-1"] == "value-of-slack"
    assert "value-of" not in str(release.inputs)


def test_rules_wait_for_the_definition_of_their_kind():
    found = graph("observed")
    rules = [node for node in found.nodes.values() if node.type.endswith(":PrometheusRule")]
    assert {node.inputs["metadata"]["name"] for node in rules} == {"cost", "checkpoints"}


@pytest.mark.parametrize("name", ["inference-gateway", "adapters", "sglang", "own-server", "own-server-gke"])
def test_every_service_is_declared(name):
    found = graph(name)
    assert [node for node in found.nodes.values() if node.type.endswith(":ScaledObject")]


def test_the_pool_waits_for_its_picker():
    found = graph("inference-gateway")
    pool = found.one("kubernetes:inference.networking.k8s.io/v1:InferencePool")
    assert {name.rpartition("layer-")[2] for name in waits(found, pool)} >= {"picker.deployment"}
