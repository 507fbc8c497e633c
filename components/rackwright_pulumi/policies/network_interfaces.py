"""Network interfaces of launch templates: where they sit, what they carry, which groups stand on them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import CLUSTER, TEMPLATE, GraphView, interfaces, is_fabric, place, yes
from rackwright_pulumi.policies.registry import rule, violation

LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
ADDRESS_FIELDS = (
    *("ipv4AddressCount", "ipv4Addresses", "ipv4PrefixCount", "ipv4Prefixes", "privateIpAddress"),
    *("ipv6AddressCount", "ipv6Addresses", "ipv6PrefixCount", "ipv6Prefixes", "associatePublicIpAddress"),
)


@rule("V-16", Level.ERROR, LAYOUT)
def first_interface_carries_addresses(view: GraphView) -> Iterator[Violation]:
    """The interface at card 0, device 0 carries addresses; it is never efa-only."""
    for node in view.of(TEMPLATE):
        for index, nic in enumerate(interfaces(view.inputs(node))):
            if place(nic) == (0, 0) and nic.get("interfaceType") == "efa-only":
                yield violation(node, ("networkInterfaces", index, "interfaceType"), "set it to interface")


@rule("V-17", Level.ERROR, LAYOUT)
def one_primary_interface(view: GraphView) -> Iterator[Violation]:
    """Exactly one interface sits at card 0, device 0."""
    for node in view.of(TEMPLATE):
        nics = interfaces(view.inputs(node))
        found = sum(place(nic) == (0, 0) for nic in nics)
        if nics and found != 1:
            yield violation(node, ("networkInterfaces",), "put one of type interface there", f"there are {found}")


@rule("V-18", Level.ERROR, LAYOUT)
def interfaces_do_not_share_a_place(view: GraphView) -> Iterator[Violation]:
    """No two interfaces share card and device, and a card carries one EFA at most."""
    for node in view.of(TEMPLATE):
        nics = interfaces(view.inputs(node))
        taken = Counter(place(nic) for nic in nics)
        fabric = Counter(place(nic)[0] for nic in nics if is_fabric(nic))
        for (card, device), count in taken.items():
            if count > 1:
                yield violation(node, ("networkInterfaces",), "move one", f"card {card} device {device} is taken {count} times")
        for card, count in fabric.items():
            if count > 1:
                yield violation(node, ("networkInterfaces",), "keep one", f"card {card} has {count} EFA interfaces")


@rule("V-19", Level.ERROR, LAYOUT)
def card_zero_may_lack_the_fabric(view: GraphView) -> Iterator[Violation]:
    """p6-b300 and p6e-gb200 carry no EFA on card 0."""
    for node in view.of(TEMPLATE):
        machine = str(view.inputs(node).get("instanceType"))
        row = Catalog.default().machine_by_name.get(machine)
        for index, nic in enumerate(interfaces(view.inputs(node))):
            if row and row.efa_cards and not row.card0_efa and is_fabric(nic) and place(nic)[0] == 0:
                yield violation(node, ("networkInterfaces", index), "start EFA at card 1", machine)


@rule("V-22", Level.ERROR, "https://github.com/hashicorp/terraform-provider-aws/issues/4570")
def groups_stand_on_interfaces(view: GraphView) -> Iterator[Violation]:
    """Security groups stand on every interface of a template, or beside a template without interfaces, never both."""
    for node in view.of(TEMPLATE):
        inputs = view.inputs(node)
        nics = interfaces(inputs)
        for key in ("vpcSecurityGroupIds", "securityGroupNames"):
            if nics and inputs.get(key):
                yield violation(node, (key,), "move them to each of networkInterfaces")
        for index, nic in enumerate(nics):
            if not nic.get("securityGroups") and not nic.get("networkInterfaceId"):
                yield violation(node, ("networkInterfaces", index, "securityGroups"), "name one at least", "it has none")


@rule("V-24", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html")
def the_clusters_group_is_named(view: GraphView) -> Iterator[Violation]:
    """Groups of one's own replace the one EKS attaches, so that the cluster's own group is named among them."""
    for group, template in view.pools():
        cluster = view.find(CLUSTER, view.inputs(group).get("clusterName"))
        own = (cluster.state.get("vpcConfig") or {}).get("clusterSecurityGroupId") if cluster else None
        inputs = view.inputs(template)
        lacking = [path for path, groups in _groups(inputs) if groups and own not in groups]
        if own and lacking:
            yield violation(template, lacking[0], f"add {own}, the cluster's vpcConfig.clusterSecurityGroupId")


def _groups(template: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    for index, nic in enumerate(interfaces(template)):
        yield ("networkInterfaces", index), nic.get("securityGroups") or []
    yield ("vpcSecurityGroupIds",), template.get("vpcSecurityGroupIds") or []


@rule("V-25", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html")
def public_addresses_want_one_interface(view: GraphView) -> Iterator[Violation]:
    """AWS gives a public address at launch only to a machine with one interface."""
    for node in view.of(TEMPLATE):
        nics = interfaces(view.inputs(node))
        for index, nic in enumerate(nics):
            if len(nics) > 1 and yes(nic.get("associatePublicIpAddress")):
                yield violation(node, ("networkInterfaces", index, "associatePublicIpAddress"), "set it to false and go out by NAT")


@rule("V-26", Level.ERROR, LAYOUT)
def fabric_only_interfaces_have_no_addresses(view: GraphView) -> Iterator[Violation]:
    """An efa-only interface has no addresses and no prefixes."""
    for node in view.of(TEMPLATE):
        for index, nic in enumerate(interfaces(view.inputs(node))):
            for key in ADDRESS_FIELDS:
                if nic.get("interfaceType") == "efa-only" and nic.get(key):
                    yield violation(node, ("networkInterfaces", index, key), "leave it out")
