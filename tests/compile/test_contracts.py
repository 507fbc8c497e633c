"""Compiled values and objects satisfy the charts and CRDs of the pinned versions."""

import pytest

from tests import gke_plans, own_plans, plans, service_plans
from tests.compile.contracts import errors_of, needs_contracts, unknown_values

TAINTED = own_plans.place(servers={"taints": [{"key": "dedicated", "value": "ml"}]})
SERVICES = {name: service_plans.SERVICES[name] for name in ("inference-gateway", "observed", "own-server-gke")}
PLANS = {name: build() for name, build in (plans.ALL | gke_plans.GKE | SERVICES | own_plans.OWN).items()} | {
    "own-tainted": own_plans.own_training_plan(TAINTED)
}
OUTSIDE = {
    ("networking.gke.io/v1", "HealthCheckPolicy"),
    ("networking.gke.io/v1", "GCPBackendPolicy"),
}
"""Kinds whose CRDs only GKE itself has."""


@needs_contracts
@pytest.mark.parametrize("name", PLANS)
def test_every_chart_value_exists_in_the_chart(name):
    for release in PLANS[name].releases:
        assert unknown_values(release.values, release.chart.rpartition("/")[2], release.chart_version) == [], release.name


@needs_contracts
@pytest.mark.parametrize("name", PLANS)
def test_every_custom_resource_fits_its_crd(name):
    for manifest in PLANS[name].manifests:
        body = filled(manifest.body)
        own = "." in body["apiVersion"].split("/")[0] and not body["apiVersion"].split("/")[0].endswith(".k8s.io")
        errors = errors_of(body)
        kind = (body["apiVersion"], body["kind"])
        if own or body["kind"] in ("Gateway", "HTTPRoute") or "kueue" in body["apiVersion"]:
            assert errors is not None or kind in OUTSIDE, f"no CRD for {kind}"
        assert not errors, f"{manifest.key}: {errors}"


def filled(value):
    """The object with a literal for each ref."""
    if isinstance(value, dict):
        return "literal" if "$ref" in value or "$refs" in value else {k: filled(v) for k, v in value.items()}
    return [filled(v) for v in value] if isinstance(value, list) else value
