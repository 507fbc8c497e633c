"""Endpoints that `blueprint.api_access` opens on each cloud, and the words that the plan prints about it."""

import io
from ipaddress import ip_network

import pytest
import yaml
from rackwright.catalog.read import Catalog
from rackwright.report.terminal.stack import show_stack
from rackwright.validation.stack import check
from rackwright_pulumi.resource_graph import unwrap_secrets
from rich.console import Console

from tests import gke_plans, plans
from tests.graphs import recorded

OFFICE = "203.0.113.0/24"
ACCESSES = {"private": "private", "inside": {"runner": "inside"}, "cidrs": {"cidrs": [OFFICE]}, "public": "public"}
TRAINING = {"aws-training": plans.training_case, "gcp-training": gke_plans.gke_training_case}
EVERYWHERE, OUTSIDE_NOBODY = ("0.0.0.0/0",), ()


def compiled(cloud: str, access: str):
    wanted = ACCESSES[access]
    if cloud in TRAINING:
        given, plan, fit = TRAINING[cloud]()
        blueprint = given.blueprint.model_copy(update={"api_access": type(given.blueprint)(api_access=wanted).api_access})
        return plans.compiled((given.model_copy(update={"blueprint": blueprint}), plan, fit))
    case = plans.eks_fleet_case(blueprint={"api_access": wanted}) if cloud == "aws" else plans.fleet_case(access=wanted)
    return plans.compiled(case)


def open_to(graph) -> tuple[str, ...]:
    """Public ranges that reach any endpoint of the cluster's API."""
    for node in graph.by_type("aws:eks/cluster:Cluster"):
        config = node.inputs["vpcConfig"]
        return tuple(config.get("publicAccessCidrs") or EVERYWHERE) if config["endpointPublicAccess"] else OUTSIDE_NOBODY
    inputs = graph.one("gcp:container/cluster:Cluster").inputs
    endpoints = inputs["controlPlaneEndpointsConfig"]
    if endpoints["dnsEndpointConfig"]["allowExternalTraffic"]:
        return EVERYWHERE  # authorized networks do not apply to it
    if not endpoints["ipEndpointsConfig"]["enabled"] or inputs["privateClusterConfig"]["enablePrivateEndpoint"]:
        return OUTSIDE_NOBODY
    return tuple(block["cidrBlock"] for block in inputs["masterAuthorizedNetworksConfig"]["cidrBlocks"])


def kubeconfig_host(graph) -> str:
    config = yaml.safe_load(unwrap_secrets(graph.one("pulumi:providers:kubernetes").inputs["kubeconfig"]))
    return config["clusters"][0]["cluster"]["server"].removeprefix("https://")


@pytest.mark.parametrize("cloud", ["aws", "gcp", *TRAINING])
@pytest.mark.parametrize(
    ("access", "reached_from", "words", "stops_an_update"),
    [
        ("private", OUTSIDE_NOBODY, "API private", True),
        ("inside", OUTSIDE_NOBODY, "API private", False),
        ("cidrs", (OFFICE,), f"API open to {OFFICE}", False),
        ("public", EVERYWHERE, "API open to the internet", False),
    ],
)
def test_the_endpoint_is_open_to_what_the_plan_prints(cloud, access, reached_from, words, stops_an_update):
    plan = compiled(cloud, access)
    assert open_to(recorded(plan)) == reached_from
    printed = io.StringIO()
    show_stack(Console(file=printed, width=200), plan, Catalog.default())
    assert words in next(line for line in printed.getvalue().splitlines() if line.startswith("cluster"))
    assert ("R-03" in {problem.code for problem in check(plan)}) is stops_an_update


@pytest.mark.parametrize(("access", "is_address"), [("private", True), ("cidrs", True), ("public", False)])
def test_the_kubeconfig_of_gke_names_the_open_endpoint(access, is_address):
    host = kubeconfig_host(recorded(compiled("gcp", access)))
    assert host.endswith(".gke.goog") is not is_address
    if is_address:
        assert ip_network(host).is_private is (access == "private")
