"""Launch templates and machines: what EKS lets a node group's template say, how it buys, how it boots, how it is closed."""

import base64
import binascii
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import INSTANCE, NODE_GROUP, TEMPLATE, GraphView, interfaces, yes
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
USER_DATA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"
USER_DATA_BYTES = 16384
"""Before base64 (AWS's page of user data)."""
MOST_TYPES = 20
"""Instance types of a node group (API_CreateNodegroup)."""
ONLY = "capacity-reservations-only"
IOPS_PER_MIB_S = 4
"""gp3: a quarter MiB/s per IOPS at most (docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html)."""
FREE_IOPS = 3000


@rule("V-23", Level.ERROR, TEMPLATES)
def a_node_groups_template_leaves_to_eks_what_is_eks_s(view: GraphView) -> Iterator[Violation]:
    """A node group's template names no subnet, no instance profile, no hibernation, no shutdown behaviour and no spot request."""
    for _, template in view.pools():
        inputs = view.inputs(template)
        for index, nic in enumerate(interfaces(inputs)):
            if nic.get("subnetId"):
                yield violation(template, ("networkInterfaces", index, "subnetId"), "name it in the node group's subnet_ids")
        if inputs.get("iamInstanceProfile"):
            yield violation(template, ("iamInstanceProfile",), "name the role in the node group's node_role_arn")
        if (inputs.get("hibernationOptions") or {}).get("configured"):
            yield violation(template, ("hibernationOptions",), "leave it out")
        if inputs.get("instanceInitiatedShutdownBehavior") == "stop":
            yield violation(template, ("instanceInitiatedShutdownBehavior",), "leave it out")
        market = inputs.get("instanceMarketOptions") or {}
        if market.get("spotOptions") or market.get("marketType") == "spot":
            yield violation(template, ("instanceMarketOptions",), "set the node group's capacity_type to SPOT")


@rule("V-32", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html")
def one_way_to_buy(view: GraphView) -> Iterator[Violation]:
    """Spot machines use no reservation, and in a placement group they end: they neither stop nor hibernate."""
    for group, template in view.pools():
        if view.inputs(group).get("capacityType") == "SPOT" and _target(view.inputs(template)):
            yield violation(template, ("capacityReservationSpecification",), "leave it out, or set capacity_type to ON_DEMAND")
    for template in view.of(TEMPLATE):
        inputs = view.inputs(template)
        market = inputs.get("instanceMarketOptions") or {}
        ends = (market.get("spotOptions") or {}).get("instanceInterruptionBehavior", "terminate") == "terminate"
        if market.get("marketType") == "spot" and _target(inputs):
            yield violation(template, ("instanceMarketOptions", "marketType"), "leave it out, or leave the reservation out")
        if not ends and (inputs.get("placement") or {}).get("groupName"):
            yield violation(template, ("instanceMarketOptions", "spotOptions", "instanceInterruptionBehavior"), "set it to terminate")


@rule("V-33", Level.ERROR, BLOCKS)
def a_block_is_asked_for_in_four_places(view: GraphView) -> Iterator[Violation]:
    """Machines of a capacity block need capacity_type CAPACITY_BLOCK on the node group, and on its template the market type
    capacity-block, the block's id and the instance type; and subnets of the block's one zone."""
    for group in view.of(NODE_GROUP):
        template, inputs = view.template(group), view.inputs(group)
        asked = view.inputs(template) if template else {}
        bought = inputs.get("capacityType") == "CAPACITY_BLOCK"
        if not (bought or _of_a_block(asked)):
            continue
        if not bought:
            yield violation(group, ("capacityType",), "set it to CAPACITY_BLOCK")
        if template is None:
            yield violation(group, ("launchTemplate",), "give it one that names the block")
        else:
            yield from _asks_for_the_block(template, asked)
        if len(zones := view.zones(inputs.get("subnetIds"))) > 1:
            yield violation(group, ("subnetIds",), "name one subnet, in the block's zone", f"they are in {', '.join(sorted(zones))}")


def _of_a_block(template: Mapping[str, Any]) -> bool:
    return (template.get("instanceMarketOptions") or {}).get("marketType") == "capacity-block"


def _asks_for_the_block(template: Node, asked: Mapping[str, Any]) -> Iterator[Violation]:
    if not _of_a_block(asked):
        yield violation(template, ("instanceMarketOptions", "marketType"), "set it to capacity-block")
    if not (_target(asked) or {}).get("capacityReservationId"):
        path = ("capacityReservationSpecification", "capacityReservationTarget", "capacityReservationId")
        yield violation(template, path, "give the block's cr- id")
    if not asked.get("instanceType"):
        yield violation(template, ("instanceType",), "name the block's type here, and not in the node group's instance_types")


@rule(
    "V-35",
    Level.ERROR,
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_LaunchTemplateCapacityReservationSpecificationRequest.html",
)
def a_target_stands_alone(view: GraphView) -> Iterator[Violation]:
    """A template that names a reservation leaves the preference out, or says capacity-reservations-only."""
    for template in view.of(TEMPLATE):
        wanted = (view.inputs(template).get("capacityReservationSpecification") or {}).get("capacityReservationPreference")
        if _target(view.inputs(template)) and wanted not in (None, ONLY):
            path = ("capacityReservationSpecification", "capacityReservationPreference")
            yield violation(template, path, f"leave it out, or set it to {ONLY}", f"it is {wanted}")


@rule("V-36", Level.ERROR, TEMPLATES)
def the_type_is_said_once(view: GraphView) -> Iterator[Violation]:
    """The instance type stands in the template or in the node group's list of 20 at most, in one of them."""
    for group in view.of(NODE_GROUP):
        template, listed = view.template(group), view.inputs(group).get("instanceTypes") or []
        if len(listed) > MOST_TYPES:
            yield violation(group, ("instanceTypes",), f"keep {MOST_TYPES}", f"there are {len(listed)}")
        said = view.inputs(template).get("instanceType") if template else None
        if said and listed:
            yield violation(group, ("instanceTypes",), f"leave it out: the template says {said}")
        if template and not said and not listed and "instanceType" not in template.unknown_inputs:
            yield violation(group, ("instanceTypes",), "name one, or EKS takes t3.medium")


@rule("V-37", Level.ERROR, TEMPLATES)
def an_image_of_ones_own_boots_itself(view: GraphView) -> Iterator[Violation]:
    """With an image of one's own a node group names no image type and no release, and the template's user data joins the cluster."""
    for group, template in view.pools():
        inputs = view.inputs(group)
        if not view.inputs(template).get("imageId"):
            continue
        if inputs.get("amiType") not in (None, "CUSTOM"):
            yield violation(group, ("amiType",), "leave it out", f"it is {inputs['amiType']}")
        if inputs.get("releaseVersion"):
            yield violation(group, ("releaseVersion",), "leave it out", f"it is {inputs['releaseVersion']}")
        if not view.inputs(template).get("userData"):
            yield violation(template, ("userData",), "write the whole of it: EKS adds nothing to an image it does not know")


@rule("V-38", Level.ERROR, USER_DATA)
def user_data_is_what_the_image_reads(view: GraphView) -> Iterator[Violation]:
    """User data is base64 of 16 KiB at most before encoding: MIME parts on Amazon Linux 2023, TOML on Bottlerocket."""
    families = {template.urn: str(view.inputs(group).get("amiType")) for group, template in view.pools()}
    for node in view.of(TEMPLATE, INSTANCE):
        inputs = view.inputs(node)
        key = "userData" if node.type == TEMPLATE else "userDataBase64"
        if inputs.get(key):
            yield from (violation(node, (key,), fix, words) for fix, words in _unread(inputs[key], families.get(node.urn, "")))
        plain = inputs.get("userData") if node.type == INSTANCE else None
        if plain and len(plain.encode()) > USER_DATA_BYTES:
            words = f"{len(plain.encode()):,} bytes"
            yield violation(node, ("userData",), f"keep {USER_DATA_BYTES:,} bytes, and fetch the rest from a bucket", words)


def _unread(text: str, family: str) -> Iterator[tuple[str, str]]:
    try:
        raw = base64.b64decode(text, validate=True)
        boot = raw.decode()
    except (binascii.Error, ValueError):
        yield "encode it", "it is no base64 of text"
        return
    if len(raw) > USER_DATA_BYTES:
        yield f"keep {USER_DATA_BYTES:,} bytes, and fetch the rest from a bucket", f"{len(raw):,} bytes"
    if family.startswith("AL2023") and "multipart/mixed" not in boot.split("\n\n")[0]:
        yield "wrap it in MIME parts", f"{family} is given no multipart/mixed"
    if family.startswith("BOTTLEROCKET") and not _toml(boot):
        yield "write TOML", f"{family} is given none"


def _toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


@rule("V-40", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html")
def metadata_wants_a_token(view: GraphView) -> Iterator[Violation]:
    """The metadata service wants a token (IMDSv2), and on EKS nodes answers two hops away, where pods are."""
    nodes = {template.urn for _, template in view.pools()}
    for node in view.of(TEMPLATE, INSTANCE):
        options = view.inputs(node).get("metadataOptions") or {}
        if options.get("httpTokens") != "required" and options.get("httpEndpoint") != "disabled":
            yield violation(
                node, ("metadataOptions", "httpTokens"), "set it to required", f"it is {options.get('httpTokens') or 'left out'}"
            )
        if node.urn in nodes and options.get("httpPutResponseHopLimit") != 2:
            words = f"it is {options.get('httpPutResponseHopLimit') or 'left out'}"
            yield violation(node, ("metadataOptions", "httpPutResponseHopLimit"), "set it to 2", words)


@rule("V-41", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html")
def every_disk_is_encrypted(view: GraphView) -> Iterator[Violation]:
    """Every disk a program asks for is encrypted, and a gp3 disk has four IOPS for every MiB/s."""
    for node, path, disk in disks(view):
        if not yes(disk.get("encrypted")):
            yield violation(node, (*path, "encrypted"), "set it to true")
        iops, throughput = disk.get("iops") or FREE_IOPS, disk.get("throughput") or 0
        if throughput * IOPS_PER_MIB_S > iops:
            yield violation(node, (*path, "throughput"), f"set it to {iops // IOPS_PER_MIB_S}", f"{throughput} MiB/s on {iops} IOPS")
    for _, template in view.pools():
        if not view.inputs(template).get("blockDeviceMappings"):
            yield violation(template, ("blockDeviceMappings",), "describe the root disk", "it says nothing of the root disk")


def disks(view: GraphView) -> Iterator[tuple[Node, tuple[str | int, ...], Mapping[str, Any]]]:
    """Every disk of a template or a machine, and every volume, with its place in the inputs."""
    for node in view.of(TEMPLATE):
        for index, mapping in enumerate(view.inputs(node).get("blockDeviceMappings") or ()):
            if mapping.get("ebs"):
                yield node, ("blockDeviceMappings", index, "ebs"), mapping["ebs"]
    for node in view.of(INSTANCE):
        inputs = view.inputs(node)
        yield node, ("rootBlockDevice",), inputs.get("rootBlockDevice") or {}
        yield from ((node, ("ebsBlockDevices", i), disk) for i, disk in enumerate(inputs.get("ebsBlockDevices") or ()))
    yield from ((node, (), view.inputs(node)) for node in view.of("aws:ebs/volume:Volume"))


def _target(template: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return (template.get("capacityReservationSpecification") or {}).get("capacityReservationTarget")
