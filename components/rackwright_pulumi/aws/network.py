"""The network of a stack: private subnets behind one NAT gateway, endpoints, flow logs; or one that exists already."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from rackwright.compile.wants import NetworkWant, SubnetWant

from rackwright_pulumi.args import PartInput, part
from rackwright_pulumi.aws.endpoints import private_endpoints
from rackwright_pulumi.aws.fabric import fabric_group
from rackwright_pulumi.aws.flow_logs import flow_logs
from rackwright_pulumi.aws.tags import Kin
from rackwright_pulumi.aws.vpc import Subnets, build_vpc
from rackwright_pulumi.unsupported import Unsupported


class AwsNetworkArgs(TypedDict):
    """network: NetworkWant. vpc_id and subnet_ids: a network that exists, in place of the ids in the plan; subnets in the plan's order."""

    network: PartInput
    region: str
    kms_key_arn: Input[str]
    tags: Mapping[str, str]
    teardown: bool
    vpc_id: NotRequired[Input[str]]
    subnet_ids: NotRequired[Sequence[Input[str]]]


class AwsNetwork(pulumi.ComponentResource):
    """VPC, subnets, NAT, endpoints and flow logs; where members of a fabric must reach one another, their security group.

    A network that exists is left as it is: only the fabric's security group is added to it.
    """

    vpc_id: Output[str]
    subnet_ids: Output[Sequence[str]]
    fabric_group_id: Output[str] | None

    def __init__(self, name: str, args: AwsNetworkArgs, opts: ResourceOptions | None = None):
        super().__init__("rackwright:index:AwsNetwork", name, None, opts)
        want, kin = part(NetworkWant, args["network"]), Kin(self, name, args["tags"])
        existing = args.get("vpc_id") or want.existing_id
        if existing:
            self.vpc_id = Output.from_input(existing)
            self.subnets = _existing(want, args.get("subnet_ids") or want.existing_subnet_ids)
        else:
            self.vpc_id, self.subnets = self._create(want, kin, args)
        self.fabric_group_id = fabric_group(kin, self.vpc_id) if want.self_reachable else None
        self.subnet_ids = Output.all(*dict.fromkeys(subnet_id for _, subnet_id in self.subnets))
        self.register_outputs({"vpcId": self.vpc_id, "subnetIds": self.subnet_ids, "fabricGroupId": self.fabric_group_id})

    def _create(self, want: NetworkWant, kin: Kin, args: AwsNetworkArgs) -> tuple[Output[str], Subnets]:
        vpc, subnets, private_table = build_vpc(kin, want, not args["teardown"])
        private_endpoints(kin, want, args["region"], vpc.id, private_table.id, subnets)
        if want.flow_logs:
            flow_logs(kin, vpc.id, args["kms_key_arn"])
        return vpc.id, subnets

    def machine_subnets(self, zones: Sequence[str]) -> list[Output[str]]:
        """Where accelerators go: the `nodes` subnets of the zones. Raises Unsupported where there is none."""
        found = [subnet_id for want, subnet_id in self.subnets if want.purpose == "nodes" and want.zone in (*zones, "")]
        if not found:
            there = ", ".join(sorted({want.zone for want, _ in self.subnets if want.purpose == "nodes"}))
            raise Unsupported(f"machines in {', '.join(zones)} without a subnet there", "network.subnets", f"machines in {there}")
        return found

    def control_subnets(self, zones: Sequence[str] = ()) -> list[Output[str]]:
        """Where the control plane and system machines go: the `control` subnets (of the zones), else the `nodes` ones."""
        found = [s for want, s in self.subnets if want.purpose == "control" and (not zones or want.zone in (*zones, ""))]
        return found or [subnet_id for want, subnet_id in self.subnets if want.purpose == "nodes"]


def _existing(want: NetworkWant, ids: Sequence[Input[str]]) -> Subnets:
    """The plan's subnets describe existing ones in order; undescribed, the first is the machines' and all are the control plane's."""
    known = [Output.from_input(subnet_id) for subnet_id in ids]
    if want.subnets:
        return list(zip(want.subnets, known, strict=True))
    control = [(SubnetWant(f"existing-{i}", "", zone="", purpose="control"), subnet_id) for i, subnet_id in enumerate(known)]
    return [(SubnetWant("existing", "", zone=""), known[0]), *control]
