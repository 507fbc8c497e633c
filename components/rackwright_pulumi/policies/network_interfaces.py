"""Network interfaces of launch templates: card and device indexes, EFA, addresses, security groups."""

from collections import Counter
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import CLUSTER, TEMPLATE, GraphView, card_and_device, interfaces, is_fabric, is_true
from rackwright_pulumi.policies.registry import rule, violation

LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
ADDRESS_FIELDS = (
    *("ipv4AddressCount", "ipv4Addresses", "ipv4PrefixCount", "ipv4Prefixes", "privateIpAddress"),
    *("ipv6AddressCount", "ipv6Addresses", "ipv6PrefixCount", "ipv6Prefixes", "associatePublicIpAddress"),
)


@rule("V-16", Level.ERROR, LAYOUT)
def first_interface_has_addresses(view: GraphView) -> Iterator[Violation]:
    """The interface at card 0, device 0 needs IP addresses, so it must not be efa-only."""
    for node in view.of(TEMPLATE):
        for index, nic in enumerate(interfaces(view.inputs(node))):
            if card_and_device(nic) == (0, 0) and nic.get("interfaceType") == "efa-only":
                message = "The interface at card 0, device 0 is efa-only and has no IP address"
                yield violation(node, ("networkInterfaces", index, "interfaceType"), message, "set it to interface")


@rule("V-17", Level.ERROR, LAYOUT)
def one_primary_interface(view: GraphView) -> Iterator[Violation]:
    """A launch template must have exactly one interface at card 0, device 0."""
    for node in view.of(TEMPLATE):
        nics = interfaces(view.inputs(node))
        count = sum(card_and_device(nic) == (0, 0) for nic in nics)
        if nics and count != 1:
            message = f"{count} interfaces are at card 0, device 0, instead of 1"
            yield violation(node, ("networkInterfaces",), message, "put one interface of type interface there")


@rule("V-18", Level.ERROR, LAYOUT)
def interfaces_have_distinct_places(view: GraphView) -> Iterator[Violation]:
    """Two interfaces must not share card and device, and a card takes one EFA interface."""
    for node in view.of(TEMPLATE):
        nics = interfaces(view.inputs(node))
        for (card, device), count in Counter(map(card_and_device, nics)).items():
            if count > 1:
                message = f"{count} interfaces are at card {card}, device {device}"
                yield violation(node, ("networkInterfaces",), message, "give each its own deviceIndex")
        for card, count in Counter(card_and_device(nic)[0] for nic in nics if is_fabric(nic)).items():
            if count > 1:
                yield violation(node, ("networkInterfaces",), f"Card {card} has {count} EFA interfaces", "keep one EFA interface per card")


@rule("V-19", Level.ERROR, LAYOUT)
def card_0_of_some_types_has_no_efa(view: GraphView) -> Iterator[Violation]:
    """Card 0 of p6-b300 and p6e-gb200 has no EFA."""
    for node in view.of(TEMPLATE):
        instance_type = str(view.inputs(node).get("instanceType"))
        row = Catalog.default().machine_by_name.get(instance_type)
        for index, nic in enumerate(interfaces(view.inputs(node))):
            if row and row.efa_cards and not row.card0_efa and is_fabric(nic) and card_and_device(nic)[0] == 0:
                message = f"An EFA interface is on card 0, which has no EFA on {instance_type}"
                yield violation(node, ("networkInterfaces", index), message, "start EFA at card 1")


@rule("V-22", Level.ERROR, "https://github.com/hashicorp/terraform-provider-aws/issues/4570")
def security_groups_are_on_interfaces(view: GraphView) -> Iterator[Violation]:
    """A launch template with network interfaces sets security groups on every interface, and none on the template itself."""
    for node in view.of(TEMPLATE):
        inputs = view.inputs(node)
        nics = interfaces(inputs)
        for key in ("vpcSecurityGroupIds", "securityGroupNames"):
            if nics and inputs.get(key):
                message = f"{key} is set beside {len(nics)} networkInterfaces; EC2 accepts one or the other"
                yield violation(node, (key,), message, "move them to each of networkInterfaces")
        for index, nic in enumerate(nics):
            if not nic.get("securityGroups") and not nic.get("networkInterfaceId"):
                message = "The interface has no security group"
                yield violation(node, ("networkInterfaces", index, "securityGroups"), message, "add the ids of its security groups")


@rule("V-24", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html")
def cluster_security_group_is_attached(view: GraphView) -> Iterator[Violation]:
    """EKS attaches the cluster's security group only to launch templates without security groups; others must include it."""
    for group, template in view.pools():
        cluster = view.find(CLUSTER, view.inputs(group).get("clusterName"))
        required = (cluster.state.get("vpcConfig") or {}).get("clusterSecurityGroupId") if cluster else None
        inputs = view.inputs(template)
        nics = enumerate(interfaces(inputs))
        without: list[tuple[str | int, ...]] = [
            ("networkInterfaces", i) for i, nic in nics if required not in (nic.get("securityGroups") or [required])
        ]
        if required not in (inputs.get("vpcSecurityGroupIds") or [required]):
            without.append(("vpcSecurityGroupIds",))
        if required and without:
            message = f"The cluster's security group {required} is missing, so nodes cannot reach the control plane"
            yield violation(template, without[0], message, f"add {required}, the cluster's vpcConfig.clusterSecurityGroupId")


@rule("V-25", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html")
def public_address_needs_one_interface(view: GraphView) -> Iterator[Violation]:
    """EC2 assigns a public address at launch only to an instance with one network interface."""
    for node in view.of(TEMPLATE):
        nics = interfaces(view.inputs(node))
        for index, nic in enumerate(nics):
            if len(nics) > 1 and is_true(nic.get("associatePublicIpAddress")):
                message = f"A public address is requested on an instance with {len(nics)} interfaces"
                path = ("networkInterfaces", index, "associatePublicIpAddress")
                yield violation(node, path, message, "set it to false and use a NAT gateway")


@rule("V-26", Level.ERROR, LAYOUT)
def efa_only_interface_has_no_addresses(view: GraphView) -> Iterator[Violation]:
    """An efa-only interface takes no IP addresses and no prefixes."""
    for node in view.of(TEMPLATE):
        for index, nic in enumerate(interfaces(view.inputs(node))):
            for key in ADDRESS_FIELDS:
                if nic.get("interfaceType") == "efa-only" and nic.get(key):
                    yield violation(node, ("networkInterfaces", index, key), f"{key} is set on an efa-only interface", "remove it")
