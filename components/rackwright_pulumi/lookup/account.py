"""One AWS account in one region. Every method is read-only and raises NotAnswered with the reason if a call fails."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

NO_CREDENTIALS = "no AWS credentials found; set AWS_PROFILE, or run `aws sso login`"
MAX_ATTEMPTS, TIMEOUT_S = 3, 10


class NotAnswered(Exception):
    """A call failed: no credentials, no permission, no network, or no matching resource."""


class Account:
    """session: a boto3 session. Clients are created on first use."""

    def __init__(self, session: Any, region: str):
        self.session, self.region = session, region
        self._clients: dict[str, Any] = {}

    @staticmethod
    def of(region: str, profile: str | None = None) -> "Account":
        """The account of the current credentials or of a profile. Raises UserError without boto3 or for a missing profile."""
        try:
            import boto3
            from botocore.exceptions import ProfileNotFound
        except ModuleNotFoundError:
            problem = Problem("U-extra", "This command needs boto3, which is not installed", fix='pip install "rackwright[lookup]"')
            raise UserError([problem]) from None
        try:
            return Account(boto3.Session(profile_name=profile, region_name=region), region)
        except ProfileNotFound as error:
            raise UserError([Problem("U-profile", str(error), fix="use a profile of `aws configure list-profiles`")]) from None

    def number(self) -> str:
        return self._call("sts", "get_caller_identity")["Account"]

    def instance_type(self, name: str) -> dict[str, Any]:
        return self._only("ec2", "describe_instance_types", "InstanceTypes", InstanceTypes=[name])

    def zones_selling(self, name: str, by_id: bool = False) -> list[str]:
        """Zones that offer the instance type: names of this account, or IDs."""
        filters = [{"Name": "instance-type", "Values": [name]}]
        found = self._call(
            "ec2",
            "describe_instance_type_offerings",
            LocationType="availability-zone-id" if by_id else "availability-zone",
            Filters=filters,
        )
        return sorted(row["Location"] for row in found["InstanceTypeOfferings"])

    def image(self, name: str) -> dict[str, Any]:
        """Amazon's image with this name."""
        return self._only("ec2", "describe_images", "Images", Owners=["amazon"], Filters=[{"Name": "name", "Values": [name]}])

    def reservation(self, reservation_id: str) -> dict[str, Any]:
        """A capacity reservation or capacity block."""
        return self._only("ec2", "describe_capacity_reservations", "CapacityReservations", CapacityReservationIds=[reservation_id])

    def cluster_versions(self) -> dict[str, str]:
        """Kubernetes minor version to STANDARD_SUPPORT, EXTENDED_SUPPORT or UNSUPPORTED."""
        rows = self._call("eks", "describe_cluster_versions", includeAll=True)["clusterVersions"]
        return {row["clusterVersion"]: str(row.get("versionStatus") or row.get("status", "")).upper().replace("-", "_") for row in rows}

    def addon_versions(self, addon: str, kubernetes: str) -> list[str]:
        """Versions of an add-on for a Kubernetes minor version, newest first."""
        found = self._call("eks", "describe_addon_versions", addonName=addon, kubernetesVersion=kubernetes)
        return [version["addonVersion"] for row in found["addons"] for version in row["addonVersions"]]

    def parameter(self, name: str) -> str:
        return self._call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]

    def quotas(self, service: str) -> dict[str, tuple[str, float]]:
        """Quota code to (name, value) of a service: the granted value, or AWS's default."""
        found: dict[str, tuple[str, float]] = {}
        for call in ("list_aws_default_service_quotas", "list_service_quotas"):
            with _converted_errors():
                pages = self._client("service-quotas").get_paginator(call).paginate(ServiceCode=service)
                found |= {row["QuotaCode"]: (row["QuotaName"], row["Value"]) for page in pages for row in page["Quotas"]}
        return found

    def tagged(self, key: str, value: str) -> list[dict[str, Any]]:
        """ARN and tags of every resource with a tag. IAM resources come from their own service, which the tagging service leaves out."""
        filters = [{"Key": key, "Values": [value]}]
        found = self._pages("resourcegroupstaggingapi", "get_resources", "ResourceTagMappingList", TagFilters=filters)
        for role in self._pages("iam", "list_roles", "Roles"):
            tags = self._call("iam", "list_role_tags", RoleName=role["RoleName"])["Tags"]
            found += [{"ResourceARN": role["Arn"], "Tags": tags}] if {"Key": key, "Value": value} in tags else []
        return list({row["ResourceARN"]: row for row in found}.values())

    def route_tables(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        return self._pages("ec2", "describe_route_tables", "RouteTables", RouteTableIds=list(ids)) if ids else []

    def group_rules(self, groups: Sequence[str]) -> list[dict[str, Any]]:
        """Rules of security groups."""
        filters = [{"Name": "group-id", "Values": list(groups)}]
        return self._pages("ec2", "describe_security_group_rules", "SecurityGroupRules", Filters=filters) if groups else []

    def role_policies(self, role: str) -> tuple[list[str], list[str]]:
        """Names of the inline policies of a role, and ARNs of the attached ones."""
        inline = self._pages("iam", "list_role_policies", "PolicyNames", RoleName=role)
        attached = self._pages("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role)
        return inline, [row["PolicyArn"] for row in attached]

    def aliases(self) -> list[dict[str, Any]]:
        """Aliases of KMS keys."""
        return self._pages("kms", "list_aliases", "Aliases")

    def _pages(self, service: str, call: str, field: str, **arguments: Any) -> list[Any]:
        with _converted_errors():
            return [row for page in self._client(service).get_paginator(call).paginate(**arguments) for row in page[field]]

    def _only(self, service: str, call: str, field: str, **arguments: Any) -> dict[str, Any]:
        found = self._call(service, call, **arguments)[field]
        if not found:
            raise NotAnswered("not found in this region")
        return found[0]

    def _call(self, service: str, call: str, **arguments: Any) -> dict[str, Any]:
        with _converted_errors():
            return getattr(self._client(service), call)(**arguments)

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            from botocore.config import Config

            config = Config(retries={"max_attempts": MAX_ATTEMPTS, "mode": "standard"}, connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S)
            self._clients[service] = self.session.client(service, region_name=self.region, config=config)
        return self._clients[service]


@contextmanager
def _converted_errors() -> Generator[None]:
    """Convert botocore's exceptions to NotAnswered."""
    from botocore import exceptions

    try:
        yield
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.TokenRetrievalError):
        raise NotAnswered(NO_CREDENTIALS) from None
    except exceptions.ClientError as failure:
        error = failure.response.get("Error", {})
        raise NotAnswered(f"{error.get('Code', 'Error')}: {error.get('Message', '')}".strip(": ")) from None
    except exceptions.BotoCoreError as failure:
        raise NotAnswered(f"{type(failure).__name__}: {failure}") from None
