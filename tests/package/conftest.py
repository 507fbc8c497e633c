"""One plugin process for all tests here, with the recorder as its engine."""

import pytest
from pulumi.runtime.proto import engine_pb2_grpc

from tests.package import toy


def pytest_collection_modifyitems(items):
    for item in items:
        if "plugin" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("package"))


@pytest.fixture(scope="session")
def plugin():
    logs = toy.Logs()
    server, address = toy.served(engine_pb2_grpc.add_EngineServicer_to_server, logs)
    process = toy.start(address)
    yield toy.connect(process)
    process.terminate()
    process.communicate()
    server.stop(None)
    assert not logs.errors
