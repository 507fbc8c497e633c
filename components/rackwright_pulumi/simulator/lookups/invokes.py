"""Provider functions of the simulated clouds. All others fail with their name."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from rackwright_pulumi.naming import SIMULATED_USER
from rackwright_pulumi.simulator.computed.arns import partition, zone_id, zones
from rackwright_pulumi.simulator.computed.context import Context
from rackwright_pulumi.simulator.lookups.aws import AwsFunctions
from rackwright_pulumi.simulator.lookups.gcp import GcpFunctions
from rackwright_pulumi.simulator.store import Store

ProviderFunction = Callable[[Mapping[str, Any]], dict[str, Any]]

AMI_ID = "ami-0123456789abcdef0"
"""Value of every SSM parameter of an AMI."""

DEPLOYER = "deployer"
"""Name of the role that runs updates."""


def invokes(context: Context, store: Store | None = None) -> dict[str, ProviderFunction]:
    """Function token to function, for one provider's account and region. A function raises LookupError for deleted resources."""
    aws_region, gcp_region = context.region or "us-east-1", context.region or "us-central1"
    name = partition(aws_region)
    suffix = "amazonaws.com.cn" if name == "aws-cn" else "amazonaws.com"
    session = f"arn:{name}:sts::{context.account}:assumed-role/{DEPLOYER}/simulated"
    caller = {"accountId": context.account, "arn": session, "id": context.account, "userId": SIMULATED_USER}
    client = {"project": context.project, "region": gcp_region, "zone": context.zone, "id": context.project, "accessToken": "simulated"}
    project = {"projectId": context.project, "name": context.project, "number": context.project_number, "id": f"projects/{context.project}"}
    agent = f"service-{context.project_number}@gs-project-accounts.iam.gserviceaccount.com"
    return {
        **AwsFunctions(context, store).functions(),
        "aws:index/getCallerIdentity:getCallerIdentity": lambda args: caller,
        "aws:index/getRegion:getRegion": lambda args: dict.fromkeys(("region", "name", "id", "description"), aws_region),
        "aws:index/getPartition:getPartition": lambda args: {"partition": name, "dnsSuffix": suffix, "id": name},
        "aws:index/getAvailabilityZones:getAvailabilityZones": lambda args: _zones(args.get("region") or aws_region),
        "aws:ec2/getAmi:getAmi": _image,
        "aws:iam/getSessionContext:getSessionContext": _session,
        "aws:ssm/getParameter:getParameter": _parameter,
        "gcp:organizations/getClientConfig:getClientConfig": lambda args: client,
        "gcp:organizations/getProject:getProject": lambda args: project,
        "gcp:storage/getProjectServiceAccount:getProjectServiceAccount": lambda args: {
            "emailAddress": agent,
            "member": f"serviceAccount:{agent}",
            "id": agent,
            "project": context.project,
        },
        "gcp:container/getCluster:getCluster": GcpFunctions(context, store).cluster,
        "gcp:compute/getZones:getZones": lambda args: {"names": [f"{gcp_region}-{z}" for z in "abc"], "id": gcp_region},
    }


def _zones(region: str) -> dict[str, Any]:
    names = zones(region)
    return {"names": names, "zoneIds": [zone_id(name) for name in names], "groupNames": [region], "id": region, "region": region}


def _image(args: Mapping[str, Any]) -> dict[str, Any]:
    """An image with the requested name."""
    name = next((value for f in args.get("filters") or () if f["name"] == "name" for value in f["values"]), "image")
    found = {"id": f"ami-0{sha256(name.encode()).hexdigest()[:16]}", "name": name, "state": "available"}
    return found | {"imageId": found["id"], "arch": "arm64" if "ARM64" in name else "x86_64", "ownerId": "898082745236"}


def _session(args: Mapping[str, Any]) -> dict[str, Any]:
    """The role of a session, without a path; other principals are passed through."""
    arn = str(args["arn"])
    account, _, resource = arn.partition(":sts::")[2].partition(":")
    role, session = resource.split("/")[1:3] if resource.startswith("assumed-role/") else ("", "")
    issuer = f"arn:{arn.split(':')[1]}:iam::{account}:role/{role}" if role else arn
    return {"arn": arn, "id": arn, "issuerArn": issuer, "issuerId": role, "issuerName": role, "sessionName": session}


def _parameter(args: Mapping[str, Any]) -> dict[str, Any]:
    name = str(args.get("name"))
    value = AMI_ID if "ami" in name or "image" in name else "simulated"
    return {"name": name, "value": value, "insecureValue": value, "type": "String", "version": 1, "id": name, "arn": name}
