"""One AWS account in one region, as plain data. Every method reads; what the account does not answer raises NotAnswered with the reason."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

NO_CREDENTIALS = "there are no AWS credentials (AWS_PROFILE, or `aws sso login`)"
ATTEMPTS, SECONDS = 3, 10
"""Tries of one call, and how long each waits for the network."""


class NotAnswered(Exception):
    """The account did not answer: no credentials, no permission, no network, or no such thing to ask about."""


class Account:
    """`session`: a boto3 session. Clients are made when first asked."""

    def __init__(self, session: Any, region: str):
        self.session, self.region = session, region
        self._clients: dict[str, Any] = {}

    @staticmethod
    def of(region: str, profile: str | None = None) -> "Account":
        """The account of the credentials at hand, or of a profile. Raises UserError without boto3, or where the profile is missing."""
        try:
            import boto3
            from botocore.exceptions import ProfileNotFound
        except ModuleNotFoundError:
            raise UserError([Problem("U-extra", "this command needs boto3", fix='pip install "rackwright[lookup]"')]) from None
        try:
            return Account(boto3.Session(profile_name=profile, region_name=region), region)
        except ProfileNotFound as missing:
            raise UserError([Problem("U-profile", str(missing), fix="name one of `aws configure list-profiles`")]) from None

    def number(self) -> str:
        return self._call("sts", "get_caller_identity")["Account"]

    def instance_type(self, name: str) -> dict[str, Any]:
        return self._only("ec2", "describe_instance_types", "InstanceTypes", InstanceTypes=[name])

    def zones_selling(self, name: str) -> list[str]:
        """Names of the region's zones, as this account calls them."""
        named = [{"Name": "instance-type", "Values": [name]}]
        found = self._call("ec2", "describe_instance_type_offerings", LocationType="availability-zone", Filters=named)
        return sorted(row["Location"] for row in found["InstanceTypeOfferings"])

    def image(self, name: str) -> dict[str, Any]:
        """Amazon's image of that name."""
        return self._only("ec2", "describe_images", "Images", Owners=["amazon"], Filters=[{"Name": "name", "Values": [name]}])

    def reservation(self, reservation_id: str) -> dict[str, Any]:
        """A capacity reservation, capacity blocks included."""
        return self._only("ec2", "describe_capacity_reservations", "CapacityReservations", CapacityReservationIds=[reservation_id])

    def cluster_versions(self) -> dict[str, str]:
        """Kubernetes minor -> STANDARD_SUPPORT, EXTENDED_SUPPORT or UNSUPPORTED."""
        rows = self._call("eks", "describe_cluster_versions", includeAll=True)["clusterVersions"]
        return {row["clusterVersion"]: str(row.get("versionStatus") or row.get("status", "")).upper().replace("-", "_") for row in rows}

    def addon_versions(self, addon: str, kubernetes: str) -> list[str]:
        """Builds of an add-on that EKS installs on that Kubernetes minor, newest first."""
        found = self._call("eks", "describe_addon_versions", addonName=addon, kubernetesVersion=kubernetes)
        return [version["addonVersion"] for row in found["addons"] for version in row["addonVersions"]]

    def parameter(self, name: str) -> str:
        return self._call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]

    def quotas(self, service: str) -> dict[str, tuple[str, float]]:
        """Quota code -> (name, value) of a service: what was granted, else AWS's default."""
        found: dict[str, tuple[str, float]] = {}
        for call in ("list_aws_default_service_quotas", "list_service_quotas"):
            with _answering():
                pages = self._client("service-quotas").get_paginator(call).paginate(ServiceCode=service)
                found |= {row["QuotaCode"]: (row["QuotaName"], row["Value"]) for page in pages for row in page["Quotas"]}
        return found

    def _only(self, service: str, call: str, field: str, **arguments: Any) -> dict[str, Any]:
        found = self._call(service, call, **arguments)[field]
        if not found:
            raise NotAnswered("there is none in this region")
        return found[0]

    def _call(self, service: str, call: str, **arguments: Any) -> dict[str, Any]:
        with _answering():
            return getattr(self._client(service), call)(**arguments)

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            from botocore.config import Config

            patience = Config(retries={"max_attempts": ATTEMPTS, "mode": "standard"}, connect_timeout=SECONDS, read_timeout=SECONDS)
            self._clients[service] = self.session.client(service, region_name=self.region, config=patience)
        return self._clients[service]


@contextmanager
def _answering() -> Generator[None]:
    """botocore's failures in our words."""
    from botocore import exceptions

    try:
        yield
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.TokenRetrievalError):
        raise NotAnswered(NO_CREDENTIALS) from None
    except exceptions.ClientError as refused:
        error = refused.response.get("Error", {})
        raise NotAnswered(f"{error.get('Code', 'refused')}: {error.get('Message', '')}".strip(": ")) from None
    except exceptions.BotoCoreError as failed:
        raise NotAnswered(f"{type(failed).__name__}: {failed}") from None
