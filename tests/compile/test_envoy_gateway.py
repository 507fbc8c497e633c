"""`blueprint.gateway: {envoy: ...}`: one gateway for all models, its clients, its rates, and models that start from zero."""

import pytest
from rackwright.diagnostics.problem import Level
from rackwright.spec.operators.gateway import EnvoyGateway
from rackwright.validation.stack import check

from tests import own_plans, plans
from tests.compile.found import release
from tests.compile.test_several_workloads import several as several_case
from tests.graphs import recorded
from tests.plans import compiled

KEYS = {"api_keys": {"web": {"secret": "web-key"}, "batch": {"secret": "batch-key"}}}
ZERO = {"min_replicas": 0, "scale_to_zero": True}


def behind(case, envoy: dict, workload: dict | None = None):
    """The case behind a gateway."""
    spec, plan, chosen = case
    gateway = EnvoyGateway.model_validate({"envoy": envoy})
    first = spec.workloads[0].model_copy(update=workload or {})
    blueprint = spec.blueprint.model_copy(update={"gateway": gateway})
    return spec.model_copy(update={"blueprint": blueprint, "workloads": (first, *spec.workloads[1:])}), plan, chosen


def eks(envoy: dict, workload: dict | None = None):
    return compiled(behind(plans.eks_fleet_case(), envoy, workload))


def own(envoy: dict, workload: dict | None = None):
    return compiled(behind(own_plans.own_fleet_case(), envoy, workload))


def several(envoy: dict):
    return compiled(behind(several_case(), envoy))


BUILD = {"eks": eks, "own servers": own, "several": several}


def bodies(plan) -> dict[str, dict]:
    return {manifest.key: manifest.body for manifest in plan.manifests}


@pytest.mark.parametrize("target", BUILD)
def test_one_gateway_is_the_only_entrance(target):
    plan = BUILD[target]({})
    found = bodies(plan)
    assert not any(key.startswith("serving") and key.endswith("entrance") for key in found)
    entrance, gateway = found["gateway.entrance"], found["gateway.gateway"]
    assert entrance["spec"]["selector"]["gateway.envoyproxy.io/owning-gateway-name"] == gateway["metadata"]["name"]
    assert entrance["spec"]["ports"][0]["targetPort"] == gateway["spec"]["listeners"][0]["port"]
    assert gateway["spec"]["gatewayClassName"] == found["gateway.class"]["metadata"]["name"]
    routed = {
        ref["name"] for body in found.values() if body["kind"] == "HTTPRoute" for r in body["spec"]["rules"] for ref in r["backendRefs"]
    }
    served = {body["metadata"]["name"] for key, body in found.items() if key.startswith("serving") and body["kind"] == "Service"}
    assert routed == served
    assert release(plan, "gateway-helm").namespace == gateway["metadata"]["namespace"]


@pytest.mark.parametrize("target", BUILD)
def test_servers_accept_requests_of_the_gateway_alone(target):
    plan = BUILD[target]({})
    for body in (body for key, body in bodies(plan).items() if key.endswith("allow-entrance")):
        spaces = [
            peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
            for rule in body["spec"]["ingress"]
            for peer in rule["from"]
        ]
        assert sorted({*spaces}) == ["envoy-gateway-system", "monitoring"]


@pytest.mark.parametrize("options", [{}, KEYS | {"rate_limit": {"requests": 600}}])
@pytest.mark.parametrize("target", BUILD)
def test_a_stack_with_a_gateway_satisfies_every_rule(target, options):
    assert [problem.advice for problem in check(BUILD[target](options)) if problem.level is Level.ERROR] == []


def test_the_load_balancer_is_internal_and_for_listed_clients():
    entrance = bodies(eks({}))["gateway.entrance"]
    assert entrance["spec"]["type"] == "LoadBalancer"
    assert entrance["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/16"]
    assert entrance["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-internal"] == "true"
    callers = bodies(eks({}))["gateway.policy"]["spec"]["ingress"][0]["from"]
    assert callers == [{"ipBlock": {"cidr": "10.0.0.0/16"}}]


def test_the_load_balancer_is_in_the_zones_of_the_proxies():
    """A gateway whose models have no replica has no accelerator nodes."""
    graph = recorded(eks({}, ZERO))
    (entrance,) = (node for node in graph.nodes.values() if node.name.endswith("gateway.entrance"))
    named = entrance.inputs["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-subnets"].split(",")
    subnets = {node.id: node.name.rpartition("-subnet-")[2] for node in graph.nodes.values() if node.type == "aws:ec2/subnet:Subnet"}
    assert [subnets[name] for name in named] == ["control-1", "control-2"]


def matches(plan, key: str) -> list[dict]:
    return [match for rule in bodies(plan)[key]["spec"]["rules"] for match in rule["matches"]]


def test_the_model_of_a_request_selects_the_route():
    plan = several({})
    routes = [key for key, body in bodies(plan).items() if body["kind"] == "HTTPRoute"]
    names = [{h["value"] for m in matches(plan, key) for h in m.get("headers", ())} for key in routes]
    assert len(routes) > 1
    assert not set.intersection(*names)
    extension = bodies(plan)["gateway.extension"]["spec"]
    router = bodies(plan)["gateway.router.service"]
    assert extension["extProc"][0]["backendRefs"] == [{"name": router["metadata"]["name"], "port": router["spec"]["ports"][0]["port"]}]
    without = [key for key in routes if any("headers" not in match for match in matches(plan, key))]
    assert without == routes[:1], "the router reads requests that match a route"


@pytest.mark.parametrize("how", ["header", "path"])
def test_other_routes_need_no_router(how):
    plan = several({"route_by": how})
    assert not any("router" in key for key in bodies(plan))
    prefixes = [m["path"]["value"] for key, body in bodies(plan).items() if body["kind"] == "HTTPRoute" for m in matches(plan, key)]
    assert len({*prefixes}) == (1 if how == "header" else len(prefixes))


@pytest.mark.parametrize("target", ["eks", "own servers"])
def test_clients_have_keys_that_servers_do_not_see(target):
    found = bodies(BUILD[target](KEYS))
    policy = found["gateway.security"]["spec"]
    secret = found["gateway.keys"]
    assert policy["apiKeyAuth"]["credentialRefs"][0]["name"] == secret["metadata"]["name"]
    assert policy["apiKeyAuth"]["sanitize"] is True
    assert secret["stringData"] == {"web": {"$ref": "secret.web-key"}, "batch": {"$ref": "secret.batch-key"}}
    assert "gateway.security" not in bodies(BUILD[target]({}))


def test_tokens_of_an_issuer():
    issuer = {"issuer": "https://login.example.com", "audiences": ["models"], "jwks": "https://login.example.com/keys"}
    (provider,) = bodies(eks({"oidc": issuer}))["gateway.security"]["spec"]["jwt"]["providers"]
    assert (provider["issuer"], provider["audiences"], provider["remoteJWKS"]) == (issuer["issuer"], ["models"], {"uri": issuer["jwks"]})


def test_a_rate_is_divided_between_the_proxies():
    found = bodies(eks({"rate_limit": {"requests": 600, "per": "minute"}}))
    assert found["gateway.proxy"]["spec"]["provider"]["kubernetes"]["envoyDeployment"]["replicas"] == 2
    (rule,) = found["serving.traffic"]["spec"]["rateLimit"]["local"]["rules"]
    assert rule == {"limit": {"requests": 300, "unit": "Minute"}}


@pytest.mark.parametrize("target", ["eks", "own servers"])
def test_requests_wake_a_model_without_replicas(target):
    found = bodies(BUILD[target]({}, ZERO))
    scaler, traffic = found["serving.scaler"]["spec"], found["serving.traffic"]["spec"]
    assert scaler["minReplicaCount"] == 0
    wake = scaler["triggers"][-1]["metadata"]
    route = found["serving.route"]["metadata"]
    assert f'envoy_cluster_name=~"httproute/{route["namespace"]}/{route["name"]}/rule/.*"' in wake["query"]
    assert wake["activationThreshold"] == "0"
    assert traffic["routingType"] == "Service", "without endpoints the gateway counts no request"
    annotations = found["serving.deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert scaler["cooldownPeriod"] > int(annotations["rackwright/load-seconds"])


@pytest.mark.parametrize("target", ["eks", "own servers"])
def test_a_model_that_keeps_a_replica_is_balanced_by_load(target):
    found = bodies(BUILD[target]({}))
    assert found["serving.traffic"]["spec"]["loadBalancer"] == {"type": "LeastRequest"}
    assert found["serving.scaler"]["spec"]["cooldownPeriod"] == 300
    assert not any("envoy" in trigger["metadata"]["query"] for trigger in found["serving.scaler"]["spec"]["triggers"])
