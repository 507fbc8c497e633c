"""API key and TLS of a fleet's clients, on each cloud and with each server image."""

import json

import pytest
from rackwright.compile.kubernetes.aws.serving import TLS_POLICY
from rackwright.diagnostics.errors import UserError
from rackwright.spec.spec import Spec
from rackwright.spec.workload_parts import API_KEY_VARIABLE

from tests import plans

ARN = "arn:aws:acm:{}:123456789012:certificate/1f0a2b3c-4d5e-4f60-8172-93a4b5c6d7e8"
GOOGLE = "projects/my-project/regions/us-central1/sslCertificates/chat"
FLEETS = {
    "gke": plans.fleet_case,
    "karpenter": plans.eks_fleet_case,
    "managed": plans.managed_fleet_case,
    "wide": plans.wide_fleet_case,
    "neuron": plans.neuron_fleet_case,
}
ANNOTATION = "service.beta.kubernetes.io/aws-load-balancer-"


def changed(case, workload: dict | None = None, certificates: tuple[str, ...] = (), secrets: dict | None = None):
    """The compiled stack of a case with more keys of its workload, and certificates."""
    spec, plan, fit = case()
    data = plans._units(spec.model_dump(mode="json", exclude_unset=True))
    data["workloads"][0] |= workload or {}
    data["blueprint"] = data.get("blueprint", {}) | ({"certificates": certificates} if certificates else {})
    return plans.compiled((Spec.model_validate(data | {"secrets": secrets or {}}), plan, fit))


def with_key(case, **more):
    return changed(case, {"api_key": {"secret": "chat-key"}} | more, secrets={"chat-key": {"config": "chatKey"}})


def one(plan, kind: str, *keys: str) -> dict:
    (found,) = [m.body for m in plan.manifests if m.body["kind"] == kind and (not keys or m.key in keys)]
    return found


def servers(plan) -> list[dict]:
    bodies = [m.body["spec"] for m in plan.manifests if m.body["kind"] in ("Deployment", "LeaderWorkerSet")]
    templates = [t for spec in bodies for key, t in (spec.get("leaderWorkerTemplate") or spec).items() if key.lower().endswith("template")]
    return [container for template in templates for container in template["spec"]["containers"]]


@pytest.mark.parametrize("name", FLEETS)
def test_the_server_takes_its_api_key_from_a_secret(name):
    plan = with_key(FLEETS[name])
    reference = {"name": API_KEY_VARIABLE, "valueFrom": {"secretKeyRef": {"name": "run-secrets", "key": API_KEY_VARIABLE}}}
    assert servers(plan)
    assert all(reference in server["env"] for server in servers(plan))
    assert one(plan, "Secret")["stringData"] == {API_KEY_VARIABLE: {"$ref": "secret.chat-key"}}
    assert "api-key" not in json.dumps([server["args"] for server in servers(plan)]), "arguments are visible in the process list"


@pytest.mark.parametrize("name", FLEETS)
def test_probes_and_metrics_use_paths_without_a_key(name):
    plan = with_key(FLEETS[name])
    probes = [server[key] for server in servers(plan) for key in server if key.endswith("Probe")]
    assert {probe["httpGet"]["path"] for probe in probes} == {"/health"}
    assert [endpoint["path"] for endpoint in one(plan, "ServiceMonitor")["spec"]["endpoints"]] == ["/metrics"]


def test_the_key_leaves_other_secrets_in_place():
    workload = {"api_key": {"secret": "chat-key"}, "run": {"secrets": {"HF_TOKEN": {"secret": "hub"}}}}
    plan = changed(plans.fleet_case, workload, secrets={"chat-key": {"config": "a"}, "hub": {"config": "b"}})
    assert [*one(plan, "Secret")["stringData"]] == ["HF_TOKEN", API_KEY_VARIABLE]


@pytest.mark.parametrize("name", ["karpenter", "managed", "wide", "neuron"])
def test_the_load_balancer_on_eks_ends_tls_with_the_certificate_of_its_region(name):
    plan = changed(FLEETS[name], certificates=(ARN.format("us-west-2"), ARN.format("us-east-1"), GOOGLE))
    service = one(plan, "Service", "serving.entrance")
    notes = {key.removeprefix(ANNOTATION): value for key, value in service["metadata"]["annotations"].items() if "ssl" in key}
    assert notes == {"ssl-cert": ARN.format("us-east-1"), "ssl-ports": "443", "ssl-negotiation-policy": TLS_POLICY}
    assert [(port["name"], port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [("https", 443, 8000)]


def test_the_gateway_on_gke_ends_tls_with_the_certificate_of_its_region():
    plan = changed(plans.fleet_case, certificates=(ARN.format("us-central1"), GOOGLE))
    (listener,) = one(plan, "Gateway")["spec"]["listeners"]
    assert (listener["protocol"], listener["port"], listener["tls"]["mode"]) == ("HTTPS", 443, "Terminate")
    assert listener["tls"]["options"] == {"networking.gke.io/pre-shared-certs": "chat"}


@pytest.mark.parametrize("certificates", [(), (ARN.format("us-west-2"),), (GOOGLE,)])
def test_without_a_certificate_of_the_region_the_load_balancer_has_plain_http(certificates):
    service = one(changed(plans.eks_fleet_case, certificates=certificates), "Service", "serving.entrance")
    assert [port["port"] for port in service["spec"]["ports"]] == [80]
    assert not [key for key in service["metadata"]["annotations"] if "ssl" in key]


def test_the_gateway_forwards_only_paths_that_need_the_key():
    """vLLM answers /invocations, /tokenize and others without a key."""
    (rule,) = one(with_key(plans.fleet_case), "HTTPRoute")["spec"]["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/v1"}}]
    for plan in (plans.compiled(plans.fleet_case()), with_key(plans.fleet_case, run={"command": ["my-server"]})):
        assert "matches" not in one(plan, "HTTPRoute")["spec"]["rules"][0]


@pytest.mark.parametrize("name", FLEETS)
def test_servers_start_after_the_network_policies_that_close_their_namespace(name):
    plan = plans.compiled(FLEETS[name]())
    (workload,) = [m for m in plan.manifests if m.body["kind"] in ("Deployment", "LeaderWorkerSet")]
    policies = {m.key for m in plan.manifests if m.body["kind"] == "NetworkPolicy"}
    assert {"policy.team-chat.deny", "policy.team-chat.allow-basics"} <= policies & set(workload.after)


def templates(plan) -> list[dict]:
    bodies = [m.body["spec"] for m in plan.manifests if m.body["kind"] in ("Deployment", "LeaderWorkerSet")]
    return [t for spec in bodies for key, t in (spec.get("leaderWorkerTemplate") or spec).items() if key.lower().endswith("template")]


@pytest.mark.parametrize("name", FLEETS)
def test_servers_restart_with_a_changed_secret_and_after_it(name):
    """Pods read variables at their start only. A pod that starts before the Secret is updated would keep the old key."""
    plan = with_key(FLEETS[name], run={"secrets": {"HF_TOKEN": {"secret": "chat-key"}}})
    notes = [template["metadata"]["annotations"]["rackwright/secrets-digest"] for template in templates(plan)]
    assert notes == [{"$digest": True, "$refs": ["secret.chat-key"]}] * len(templates(plan))
    (workload,) = [m for m in plan.manifests if m.body["kind"] in ("Deployment", "LeaderWorkerSet")]
    assert "secret.team-chat" in workload.after
    assert "rackwright/secrets-digest" not in json.dumps([m.body for m in plans.compiled(FLEETS[name]()).manifests])


@pytest.mark.parametrize("name", FLEETS)
def test_the_port_of_clients_changes_after_the_servers(name):
    """A server that is not updated would otherwise answer without a key behind a port that clients do not use yet."""
    plan = with_key(FLEETS[name])
    (workload,) = [m.key for m in plan.manifests if m.body["kind"] in ("Deployment", "LeaderWorkerSet")]
    (entrance,) = [m for m in plan.manifests if m.key in ("serving.entrance", "serving.gateway")]
    assert workload in entrance.after


@pytest.mark.parametrize(
    ("speculation", "config"),
    [
        ({"acceptance": "70 %"}, {"method": "ngram", "prompt_lookup_max": 4, "num_speculative_tokens": 3}),
        (
            {"draft": 5, "acceptance": "70 %", "draft_model": "org/small", "draft_share": "15 %"},
            {"model": "org/small", "num_speculative_tokens": 5},
        ),
    ],
)
def test_drafts_are_configured_in_the_server(speculation, config):
    (server,) = servers(changed(FLEETS["gke"], {"speculation": speculation}))
    (given,) = [arg.partition("=")[2] for arg in server["args"] if arg.startswith("--speculative-config=")]
    assert json.loads(given) == config


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"kv_dtype": "fp8"}, "--kv-cache-dtype=fp8"),
        ({"kv_dtype": "int8"}, "--kv-cache-dtype=int8_per_token_head"),
        ({"max_batched_tokens": 4096}, "--max-num-batched-tokens=4096"),
        ({"chunked_prefill": True}, "--enable-chunked-prefill"),
        ({"chunked_prefill": False}, "--no-enable-chunked-prefill"),
        ({"chunked_prefill": False}, "--max-num-batched-tokens=8192"),
        ({"chunked_prefill": False, "max_context": 16384}, "--max-num-batched-tokens=16384"),
    ],
)
def test_options_are_arguments_of_the_server(options, argument):
    (server,) = servers(changed(FLEETS["gke"], options))
    assert argument in server["args"]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"disaggregation": "auto"}, "workloads[0].disaggregation"),
        ({"kv_dtype": "int8", "model": {"base": "deepseek-v2-lite"}}, "workloads[0].kv_dtype"),
    ],
)
def test_options_that_the_server_lacks_are_refused(options, path):
    with pytest.raises(UserError) as fault:
        changed(FLEETS["gke"], options)
    assert [(p.code, str(p.at)) for p in fault.value.problems] == [("C-server-option", path)]
