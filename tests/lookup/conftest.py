"""An account with answers: moto where it supports the service, recorded answers otherwise, validated by the service's model."""

import json
from datetime import datetime
from pathlib import Path

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader
from botocore.stub import Stubber
from moto import mock_aws
from rackwright_pulumi.lookup import Account

CASES = Path(__file__).parents[1] / "cases" / "lookup"
REGION = "us-east-1"
MODELS = create_loader()
"""Models of the services, read once: a session of its own reads megabytes of them for its first client."""


@pytest.fixture
def account(monkeypatch):
    """moto's account 123456789012 with moto's credentials; no request leaves this process."""
    for name, value in {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    core = botocore.session.get_session()
    core.register_component("data_loader", MODELS)
    session = boto3.Session(region_name=REGION, botocore_session=core)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session)
    with mock_aws():
        yield Account(session, REGION)


@pytest.fixture
def nobody(monkeypatch):
    """An environment without credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    return Account.of(REGION)


@pytest.fixture
def answering(account):
    """`answering("eks", "eks.json")`: the account with answers of that service from a file, for any number of calls."""

    def answer(service: str, file: str, times: int = 1) -> Account:
        client = boto3.client(service, region_name=REGION)
        stub = Stubber(client)
        for _ in range(times):
            for call, response in json.loads((CASES / file).read_text(), object_hook=_dates).items():
                stub.add_response(call, response)
        stub.activate()
        account._clients[service] = client
        return account

    return answer


def _dates(row):
    return row | {"EndDate": datetime.fromisoformat(row["EndDate"])} if "EndDate" in row else row


@pytest.fixture
def refusing(account):
    """`refusing("eks", "describe_cluster_versions")`: the account without that permission."""

    def refuse(service: str, call: str) -> Account:
        client = boto3.client(service, region_name=REGION)
        stub = Stubber(client)
        stub.add_client_error(call, "AccessDeniedException", "not authorized to perform it")
        stub.activate()
        account._clients[service] = client
        return account

    return refuse
