"""A control plane with the CRDs of the pinned versions, started once for all tests of this folder."""

from collections.abc import Iterator

import pytest
import yaml

from tests.cluster import binaries
from tests.cluster.api import Api, wait_until
from tests.cluster.control_plane import running
from tests.cluster.page import Report
from tests.compile.contracts import ROOT

CRDS_READY_S = 30


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API of a running control plane. Tests are skipped visibly without its binaries, etcd or the CRDs."""
    if not ROOT.is_dir():
        pytest.skip("no ../shared/contracts and RACKWRIGHT_CONTRACTS is not set")
    if binaries.missing():
        pytest.skip(f"no {', '.join(binaries.missing())} in {binaries.folder()}; `make test-cluster` builds them with Go")
    if not (etcd := binaries.etcd()):
        pytest.skip("no etcd on PATH: apt-get install etcd-server")
    with running(binaries.folder(), etcd, tmp_path_factory.mktemp("cluster")) as plane:
        _install_crds(plane.api)
        yield plane.api


@pytest.fixture(scope="session")
def report() -> Report:
    """What the tests of this run found, for docs/control-plane.md."""
    return Report()


def _install_crds(api: Api) -> None:
    definitions = [body for file in sorted((ROOT / "crds").glob("*/*.yaml")) for body in yaml.load_all(file.read_text(), yaml.CSafeLoader)]
    api.must_apply(*(body for body in definitions if body and body["kind"] == "CustomResourceDefinition"))
    served = {
        (f"{body['spec']['group']}/{version['name']}", body["spec"]["names"]["kind"])
        for body in definitions
        if body and body["kind"] == "CustomResourceDefinition"
        for version in body["spec"]["versions"]
        if version["served"]
    }
    assert wait_until(lambda: all(api.serves(*kind) for kind in served), CRDS_READY_S), "the API server does not serve the CRDs"
