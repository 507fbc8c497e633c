"""Launch templates and instances: fields EKS reserves, capacity, user data, metadata service, encryption."""

import base64
import binascii
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import INSTANCE, NODE_GROUP, TEMPLATE, GraphView, interfaces, is_true
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
RESERVATIONS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
RESERVATION_SPECIFICATION = (
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_LaunchTemplateCapacityReservationSpecificationRequest.html"
)
USER_DATA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"
METADATA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html"
USER_DATA_BYTES = 16384
"""Before base64 encoding (USER_DATA)."""
MAX_INSTANCE_TYPES = 20
"""Of a node group: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html"""
RESERVATIONS_ONLY = "capacity-reservations-only"


@rule("V-23", Level.ERROR, TEMPLATES)
def template_omits_the_fields_of_eks(view: GraphView) -> Iterator[Violation]:
    """The launch template of a node group must not set a subnet, instance profile, hibernation, shutdown behavior or spot request."""
    for _, template in view.pools():
        for path, fix in _reserved_fields(view.inputs(template)):
            yield violation(template, path, f"{path[-1]} is set, which EKS does not accept in the template of a node group", fix)


def _reserved_fields(template: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for index, nic in enumerate(interfaces(dict(template))):
        if nic.get("subnetId"):
            yield ("networkInterfaces", index, "subnetId"), "set the node group's subnet_ids instead"
    if template.get("iamInstanceProfile"):
        yield ("iamInstanceProfile",), "set the node group's node_role_arn instead"
    if (template.get("hibernationOptions") or {}).get("configured"):
        yield ("hibernationOptions",), "remove it"
    if template.get("instanceInitiatedShutdownBehavior") == "stop":
        yield ("instanceInitiatedShutdownBehavior",), "remove it"
    market = template.get("instanceMarketOptions") or {}
    if market.get("spotOptions") or market.get("marketType") == "spot":
        yield ("instanceMarketOptions",), "set the node group's capacity_type to SPOT instead"


@rule("V-32", Level.ERROR, RESERVATIONS)
def spot_uses_no_reservation(view: GraphView) -> Iterator[Violation]:
    """Spot instances cannot use a capacity reservation, and in a placement group they can only terminate, not stop or hibernate."""
    message = "Spot instances cannot use the capacity reservation that the template targets"
    for group, template in view.pools():
        if view.inputs(group).get("capacityType") == "SPOT" and _target(view.inputs(template)):
            yield violation(template, ("capacityReservationSpecification",), message, "remove it, or set capacity_type to ON_DEMAND")
    for template in view.of(TEMPLATE):
        inputs = view.inputs(template)
        market = inputs.get("instanceMarketOptions") or {}
        behavior = (market.get("spotOptions") or {}).get("instanceInterruptionBehavior", "terminate")
        if market.get("marketType") == "spot" and _target(inputs):
            yield violation(template, ("instanceMarketOptions", "marketType"), message, "remove it, or remove the reservation")
        if behavior != "terminate" and (inputs.get("placement") or {}).get("groupName"):
            path = ("instanceMarketOptions", "spotOptions", "instanceInterruptionBehavior")
            yield violation(template, path, f"Spot instances in a placement group cannot {behavior}", "set it to terminate")


@rule("V-33", Level.ERROR, BLOCKS)
def capacity_block_is_complete(view: GraphView) -> Iterator[Violation]:
    """A node group on a capacity block needs capacity_type CAPACITY_BLOCK and subnets of one zone. Its launch template has market
    type capacity-block, the block's id and the instance type."""
    for group in view.of(NODE_GROUP):
        template, inputs = view.template(group), view.inputs(group)
        template_inputs = view.inputs(template) if template else {}
        is_block = inputs.get("capacityType") == "CAPACITY_BLOCK"
        if not (is_block or _is_block_market(template_inputs)):
            continue
        if not is_block:
            message = f"capacity_type is {inputs.get('capacityType') or 'not set'}, and the template's market type is capacity-block"
            yield violation(group, ("capacityType",), message, "set it to CAPACITY_BLOCK")
        if template is None:
            message = "A node group on a capacity block has no launch template of this program"
            yield violation(group, ("launchTemplate",), message, "set a template with the block's id")
        else:
            yield from _incomplete_block_template(template, template_inputs)
        if len(zones := view.zones(inputs.get("subnetIds"))) > 1:
            message = f"The subnets are in {', '.join(sorted(zones))}, and a capacity block is in one zone"
            yield violation(group, ("subnetIds",), message, "keep one subnet, in the block's zone")


def _is_block_market(template: Mapping[str, Any]) -> bool:
    return (template.get("instanceMarketOptions") or {}).get("marketType") == "capacity-block"


def _incomplete_block_template(template: Node, inputs: Mapping[str, Any]) -> Iterator[Violation]:
    if not _is_block_market(inputs):
        message = "The market type is not capacity-block, and the node group uses a capacity block"
        yield violation(template, ("instanceMarketOptions", "marketType"), message, "set it to capacity-block")
    if not (_target(inputs) or {}).get("capacityReservationId"):
        path = ("capacityReservationSpecification", "capacityReservationTarget", "capacityReservationId")
        yield violation(template, path, "The id of the capacity block is not set", "set it to the block's cr- id")
    if not inputs.get("instanceType"):
        message = "The instance type of the capacity block is not set in the template"
        yield violation(template, ("instanceType",), message, "set it here, and not in the node group's instance_types")


@rule("V-35", Level.ERROR, RESERVATION_SPECIFICATION)
def reservation_target_has_no_preference(view: GraphView) -> Iterator[Violation]:
    """A launch template that targets a capacity reservation sets no preference, or capacity-reservations-only."""
    for template in view.of(TEMPLATE):
        preference = (view.inputs(template).get("capacityReservationSpecification") or {}).get("capacityReservationPreference")
        if _target(view.inputs(template)) and preference not in (None, RESERVATIONS_ONLY):
            path = ("capacityReservationSpecification", "capacityReservationPreference")
            message = f"Preference {preference} cannot be combined with a reservation target"
            yield violation(template, path, message, f"remove it, or set it to {RESERVATIONS_ONLY}")


@rule("V-36", Level.ERROR, TEMPLATES)
def instance_type_is_set_once(view: GraphView) -> Iterator[Violation]:
    """The instance type is set either in the launch template or in the node group's instance_types, which has at most 20 entries."""
    for group in view.of(NODE_GROUP):
        template, listed = view.template(group), view.inputs(group).get("instanceTypes") or []
        if len(listed) > MAX_INSTANCE_TYPES:
            message = f"{len(listed)} instance types exceed {MAX_INSTANCE_TYPES}, the limit of a node group"
            yield violation(group, ("instanceTypes",), message, f"keep {MAX_INSTANCE_TYPES}")
        in_template = view.inputs(template).get("instanceType") if template else None
        if in_template and listed:
            message = f"instance_types is set, and the launch template sets {in_template}"
            yield violation(group, ("instanceTypes",), message, "remove it")
        if template and not in_template and not listed and "instanceType" not in template.unknown_inputs:
            message = "No instance type is set, so EKS uses t3.medium"
            yield violation(group, ("instanceTypes",), message, "set it here or in the launch template")


@rule("V-37", Level.ERROR, TEMPLATES)
def custom_image_has_user_data(view: GraphView) -> Iterator[Violation]:
    """With an image id in the launch template, a node group sets no ami_type and no release_version, and user data joins the cluster."""
    for group, template in view.pools():
        inputs = view.inputs(group)
        image = view.inputs(template).get("imageId")
        if not image:
            continue
        if inputs.get("amiType") not in (None, "CUSTOM"):
            message = f"ami_type {inputs['amiType']} cannot be combined with image {image} of the launch template"
            yield violation(group, ("amiType",), message, "remove it")
        if inputs.get("releaseVersion"):
            message = f"release_version {inputs['releaseVersion']} cannot be combined with image {image} of the launch template"
            yield violation(group, ("releaseVersion",), message, "remove it")
        if not view.inputs(template).get("userData"):
            message = f"User data is not set, and EKS adds none to image {image}, so nodes do not join the cluster"
            yield violation(template, ("userData",), message, "set the complete user data")


@rule("V-38", Level.ERROR, USER_DATA)
def user_data_has_the_format_of_the_image(view: GraphView) -> Iterator[Violation]:
    """User data is base64 of at most 16,384 bytes: a MIME multipart document on Amazon Linux 2023, TOML on Bottlerocket."""
    families = {template.urn: str(view.inputs(group).get("amiType")) for group, template in view.pools()}
    for node in view.of(TEMPLATE, INSTANCE):
        inputs = view.inputs(node)
        key = "userData" if node.type == TEMPLATE else "userDataBase64"
        if inputs.get(key):
            yield from (violation(node, (key,), *wrong) for wrong in _wrong_format(inputs[key], families.get(node.urn, "")))
        plain = inputs.get("userData") if node.type == INSTANCE else None
        if plain:
            yield from (violation(node, ("userData",), *wrong) for wrong in _too_long(plain.encode()))


def _wrong_format(text: str, family: str) -> Iterator[tuple[str, str]]:
    """Messages and fixes. family: the node group's amiType, or empty."""
    try:
        raw = base64.b64decode(text, validate=True)
        boot = raw.decode()
    except (binascii.Error, ValueError):
        yield "User data is not base64 of text", "encode it in base64"
        return
    yield from _too_long(raw)
    if family.startswith("AL2023") and "multipart/mixed" not in boot.split("\n\n")[0]:
        yield f"User data of {family} is not a multipart/mixed document", "wrap it in a MIME multipart document"
    try:
        settings = tomllib.loads(boot) if family.startswith("BOTTLEROCKET") else True
    except tomllib.TOMLDecodeError:
        settings = {}
    if not settings:
        yield f"User data of {family} is not TOML", "write it as TOML"


def _too_long(raw: bytes) -> Iterator[tuple[str, str]]:
    if len(raw) > USER_DATA_BYTES:
        message = f"User data has {len(raw):,} bytes, which exceeds {USER_DATA_BYTES:,}"
        yield message, f"keep {USER_DATA_BYTES:,} bytes, and download the rest from a bucket"


@rule("V-40", Level.ERROR, METADATA)
def metadata_service_requires_tokens(view: GraphView) -> Iterator[Violation]:
    """The instance metadata service must require tokens (IMDSv2), and on EKS nodes allow one hop, so that pods cannot get
    the credentials of the node."""
    node_templates = {template.urn for _, template in view.pools()}
    for node in view.of(TEMPLATE, INSTANCE):
        options = view.inputs(node).get("metadataOptions") or {}
        tokens, hops = options.get("httpTokens"), options.get("httpPutResponseHopLimit")
        if tokens != "required" and options.get("httpEndpoint") != "disabled":
            message = f"http_tokens is {tokens or 'not set'}, so the metadata service accepts requests without a token (IMDSv1)"
            yield violation(node, ("metadataOptions", "httpTokens"), message, "set it to required")
        if node.urn in node_templates and hops != 1:
            message = f"The hop limit is {hops or 'not set'}, so pods can get the credentials of the node; Pod Identity needs no second hop"
            yield violation(node, ("metadataOptions", "httpPutResponseHopLimit"), message, "set it to 1")


@rule("V-41", Level.ERROR, "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html")
def disks_are_encrypted(view: GraphView) -> Iterator[Violation]:
    """Every disk must be encrypted, and a gp3 disk needs 4 IOPS per MiB/s of throughput."""
    included, per_mib_s = gp3_limit("included_iops"), gp3_limit("iops_per_mib_s")
    for node, path, disk in disks(view):
        if not is_true(disk.get("encrypted")):
            yield violation(node, (*path, "encrypted"), "The disk is not encrypted", "set it to true")
        iops, throughput = disk.get("iops") or included, disk.get("throughput") or 0
        if throughput * per_mib_s > iops:
            message = f"{throughput:,} MiB/s needs {throughput * per_mib_s:,} IOPS, and the disk has {iops:,}"
            yield violation(node, (*path, "throughput"), message, f"set it to {iops // per_mib_s}")
    for _, template in view.pools():
        if not view.inputs(template).get("blockDeviceMappings"):
            message = "The root disk is not configured, so it may be unencrypted"
            yield violation(template, ("blockDeviceMappings",), message, "add the root disk with encrypted set to true")


def disks(view: GraphView) -> Iterator[tuple[Node, tuple[str | int, ...], Mapping[str, Any]]]:
    """Every disk of a launch template or instance and every volume: (resource, path in its inputs, disk)."""
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


def gp3_limit(limit: str) -> int:
    """A limit of gp3 volumes: `included_iops` is also that of a volume that sets none."""
    return Catalog.default().storage_limit("ebs-gp3", limit)
