"""The real engine with a simulated cloud. Without ``pulumi`` on PATH every test here is skipped visibly."""

from pathlib import Path

import pytest
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.simulator.engine import Engine, installed

PROGRAMS = Path(__file__).parent / "programs"


def pytest_collection_modifyitems(items):
    here = str(Path(__file__).parent)
    for item in (item for item in items if str(item.path).startswith(here)):
        item.add_marker(pytest.mark.engine)
        if not installed():
            item.add_marker(pytest.mark.skip(reason="the pulumi CLI is not on PATH"))


@pytest.fixture
def cloud(tmp_path) -> SimulatedCloud:
    return SimulatedCloud(tmp_path / "cloud.sqlite")


@pytest.fixture
def run(cloud, tmp_path):
    """run("tiny") returns an engine with a new stack of that program."""

    def prepared(program: str) -> Engine:
        engine = Engine(PROGRAMS / program, cloud, tmp_path / "work")
        engine.prepare()
        return engine

    return prepared
