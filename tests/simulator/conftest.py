"""A simulated cloud per test, and clients that call it as the engine does."""

from pathlib import Path

import pytest
from rackwright_pulumi.simulator import SimulatedCloud

from tests.simulator.client import Client


@pytest.fixture
def cloud(tmp_path: Path) -> SimulatedCloud:
    return SimulatedCloud(tmp_path / "cloud.sqlite")


@pytest.fixture
def connect(cloud):
    """connect("aws", region="eu-west-1") returns a client, which is closed after the test."""
    clients = []

    def open_(package: str, **config) -> Client:
        clients.append(Client(cloud, package, **config))
        return clients[-1]

    yield open_
    for client in clients:
        client.close()


@pytest.fixture
def aws(connect) -> Client:
    return connect("aws", region="us-east-1")


@pytest.fixture
def gcp(connect) -> Client:
    return connect("gcp", project="team", region="us-central1")
