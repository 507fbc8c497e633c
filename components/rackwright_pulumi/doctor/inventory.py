"""Resources of a cloud: of the simulator's file, or of an AWS account (read only)."""

import csv
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from rackwright_pulumi.lookup.account import Account
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.store import Store

STACK_TAG = "rackwright-stack"
ROUTE, ASSOCIATION = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"
GROUP_RULES = {
    True: "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    False: "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
}
ROLE_POLICY, ATTACHMENT = "aws:iam/rolePolicy:RolePolicy", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ALIAS = "aws:kms/alias:Alias"


@dataclass(frozen=True)
class CloudResource:
    """One resource. values: known inputs and outputs by wire name. import_id: the ID for `pulumi import`, if it is not `id`."""

    type: str
    id: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    import_id: str = ""


def simulated_inventory(path: Path) -> list[CloudResource]:
    """All resources in a file of the simulated cloud."""
    found = []
    for record in Store(path).all():
        state = unwrap_secrets(record.state)
        found.append(CloudResource(record.type, record.id, state | {"id": record.id}, state.get("tagsAll") or state.get("tags") or {}))
    return found


def account_inventory(account: Account, stack: str) -> list[CloudResource]:
    """Resources with the stack's tag, the untagged parts of those, and all aliases of keys. Raises NotAnswered."""
    tagged = [found for row in account.tagged(STACK_TAG, stack) if (found := _of_arn(row["ResourceARN"], row["Tags"]))]
    ids: dict[str, list[str]] = {}
    for each in tagged:
        ids.setdefault(each.type, []).append(each.id)
    parts = [*_routes(account, ids.get("aws:ec2/routeTable:RouteTable", []))]
    parts += _group_rules(account, ids.get("aws:ec2/securityGroup:SecurityGroup", []))
    parts += [part for role in ids.get("aws:iam/role:Role", []) for part in _role_policies(account, role)]
    tagged_ids = {each.id for each in tagged}
    parts += [CloudResource(ALIAS, row["AliasName"], {"name": row["AliasName"]}) for row in account.aliases() if row.get("TargetKeyId")]
    return tagged + [part for part in parts if part.id not in tagged_ids]


def _of_arn(arn: str, tags: list[dict[str, str]]) -> CloudResource | None:
    """A tagged resource; None for a type that no component creates.

    Formats of ARNs: AWS Service Authorization Reference; of IDs: the section Import of each type in the Pulumi Registry.
    """
    _, partition, service, _, _, resource = arn.split(":", 5)
    for row in _rows("arns"):
        match = re.fullmatch(row["resource"], resource) if row["service"] == service else None
        if match:
            parts = {"arn": arn, "partition": partition, **match.groupdict()}
            id_ = row["id"].format(**parts) or match["name"]
            given = {tag["Key"]: tag["Value"] for tag in tags}
            return CloudResource(row["type"], id_, {"id": id_, "arn": arn, "name": match["name"]}, given, row["import_id"].format(**parts))
    return None


def _routes(account: Account, tables: list[str]) -> Iterator[CloudResource]:
    for table in account.route_tables(tables):
        owner = {"routeTableId": table["RouteTableId"]}
        for route in table["Routes"]:
            target = route.get("DestinationCidrBlock") or route.get("DestinationIpv6CidrBlock") or route.get("DestinationPrefixListId")
            if route.get("Origin") == "CreateRoute":
                values = owner | {"destinationCidrBlock": route.get("DestinationCidrBlock")}
                yield CloudResource(ROUTE, f"{table['RouteTableId']}_{target}", values)
        for joined in table["Associations"]:
            if joined.get("SubnetId"):
                id_ = f"{joined['SubnetId']}/{table['RouteTableId']}"
                yield CloudResource(ASSOCIATION, id_, owner | {"subnetId": joined["SubnetId"]})


def _group_rules(account: Account, groups: list[str]) -> Iterator[CloudResource]:
    for rule in account.group_rules(groups):
        values = {
            "securityGroupId": rule["GroupId"],
            "ipProtocol": rule["IpProtocol"],
            "cidrIpv4": rule.get("CidrIpv4"),
            "referencedSecurityGroupId": rule.get("ReferencedGroupInfo", {}).get("GroupId"),
            "fromPort": rule.get("FromPort"),
            "toPort": rule.get("ToPort"),
        }
        tags = {tag["Key"]: tag["Value"] for tag in rule.get("Tags", [])}
        given = {key: value for key, value in values.items() if value is not None}
        yield CloudResource(GROUP_RULES[rule["IsEgress"]], rule["SecurityGroupRuleId"], given, tags)


def _role_policies(account: Account, role: str) -> Iterator[CloudResource]:
    inline, attached = account.role_policies(role)
    for name in inline:
        yield CloudResource(ROLE_POLICY, f"{role}:{name}", {"role": role, "name": name})
    for arn in attached:
        yield CloudResource(ATTACHMENT, f"{role}/{arn}", {"role": role, "policyArn": arn})


@functools.cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files("rackwright_pulumi.doctor").joinpath(f"data/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
