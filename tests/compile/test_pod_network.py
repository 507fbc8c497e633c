"""Ingress and egress of a team's pods: closed, except for the traffic that jobs and servers need."""

from ipaddress import ip_address, ip_network

import pytest

from tests import plans

DNS, EC2_METADATA = ("169.254.20.10", 53), ("169.254.169.254", 80)
IDENTITY = {"aws": ("169.254.170.23", 80), "gcp": ("169.254.169.254", 80)}
PLANS = {"training": plans.training_plan, "fleet": plans.fleet_plan, "tpu": plans.tpu_plan}


def rules(plan, direction: str) -> list[dict]:
    policies = [m.body["spec"] for m in plan.manifests if m.body["kind"] == "NetworkPolicy"]
    return [rule for spec in policies for rule in spec.get(direction, ())]


def leads_out(plan, address: str, port: int) -> bool:
    """True if a port of an address outside the cluster can be reached."""

    def matches(rule) -> bool:
        blocks = [peer["ipBlock"]["cidr"] for peer in rule["to"] if "ipBlock" in peer] if "to" in rule else ["0.0.0.0/0"]
        ports = {p["port"] for p in rule.get("ports", ())} or {port}
        return port in ports and any(ip_address(address) in ip_network(block) for block in blocks)

    return any(map(matches, rules(plan, "egress")))


def may_call(plan, namespace: str) -> list[set[int]]:
    """Ports that pods of another namespace can reach, per rule; an empty set is every port."""
    selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    return [{p["port"] for p in rule.get("ports", ())} for rule in rules(plan, "ingress") if selector in rule["from"]]


@pytest.mark.parametrize("name", PLANS)
def test_policies_allow_dns_identity_and_https_only(name):
    plan = PLANS[name]()
    assert leads_out(plan, *DNS)
    assert leads_out(plan, *IDENTITY[plan.place.cloud])
    assert leads_out(plan, "203.0.113.7", 443)
    assert not leads_out(plan, "203.0.113.7", 22)


def test_policies_allow_both_addresses_of_the_gke_metadata_server():
    assert leads_out(plans.tpu_plan(), "169.254.169.252", 988)


def test_eks_pods_cannot_use_the_role_of_their_node():
    assert not leads_out(plans.training_plan(), *EC2_METADATA)


def test_prometheus_can_read_metrics_of_jobs_and_servers():
    assert may_call(plans.training_plan(), "monitoring") == [set()]
    assert may_call(plans.fleet_plan(), "monitoring") == [{8000}]
    assert may_call(plans.tpu_plan(), "monitoring") == []


@pytest.mark.parametrize("name", PLANS)
def test_policies_reject_other_ingress(name):
    assert not may_call(PLANS[name](), "default")
