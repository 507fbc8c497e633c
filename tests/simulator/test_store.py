"""One cloud file with several writers."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.simulator.store import Fault, NameTaken, Record, Store

WRITER = textwrap.dedent(
    """
    import sys, threading
    from rackwright_pulumi.simulator.computed import Context
    from rackwright_pulumi.simulator.provider.operations import Cloud, CloudError
    from rackwright_pulumi.simulator.store import Store

    path, me = sys.argv[1], sys.argv[2]
    cloud = Cloud("aws", Store(path), Context(region="us-east-1"), {}, threading.Event())
    won = 0
    for i in range(50):
        cloud.create("aws:ec2/vpc:Vpc", f"{me}-{i}", f"urn:pulumi:s::p::aws:ec2/vpc:Vpc::{me}-{i}", {})
        try:
            cloud.create("aws:iam/role:Role", f"{me}-{i}", f"urn:pulumi:s::p::aws:iam/role:Role::{me}-{i}", {"name": f"role-{i}"})
            won += 1
        except CloudError:
            pass
    print(won)
    """
)


def record(name: str, unique_key: str | None = None) -> Record:
    return Record("t", name, "here", f"urn::{name}", name, {}, {}, unique_key)


def test_three_processes_write_without_loss_or_shared_names(tmp_path):
    path = tmp_path / "cloud.sqlite"
    cloud = SimulatedCloud(path)
    started = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(i)], stdout=subprocess.PIPE, text=True) for i in range(3)]
    won = [int(process.communicate(timeout=60)[0]) for process in started]
    assert len(cloud.resources("aws:ec2/vpc:Vpc")) == 150
    assert len({r.id for r in cloud.resources("aws:ec2/vpc:Vpc")}) == 150
    assert sum(won) == len(cloud.resources("aws:iam/role:Role")) == 50


def test_a_fault_is_counted_once_among_threads(tmp_path):
    store = Store(tmp_path / "cloud.sqlite")
    store.add_fault(Fault(error="no", times=5))
    with ThreadPoolExecutor(8) as pool:
        struck = list(pool.map(lambda _: len(store.next_faults("create", "t", "n")), range(40)))
    assert sum(struck) == 5


def test_a_failed_transaction_is_rolled_back(tmp_path):
    store = Store(tmp_path / "cloud.sqlite")
    store.add(record("a", unique_key="name"))

    def both():
        with store.transaction():
            store.add(record("b"))
            store.add(record("c", unique_key="name"))

    with pytest.raises(NameTaken):
        both()
    assert [r.id for r in store.all()] == ["a"]


def test_settings_are_stored_in_the_file(tmp_path):
    SimulatedCloud(tmp_path / "cloud.sqlite").quota = {"L-417A185B": 192}
    again = SimulatedCloud(tmp_path / "cloud.sqlite")
    assert again.quota == {"L-417A185B": 192}
    again.reset()
    assert SimulatedCloud(tmp_path / "cloud.sqlite").quota == {}


def test_an_external_resource_can_be_read_and_is_not_counted(aws, cloud):
    cloud.exists("aws:ec2/vpc:Vpc", "vpc-0abc", cidrBlock="10.0.0.0/16")
    from tests.simulator.client import Made

    assert aws.read(Made("aws:ec2/vpc:Vpc", "net", "vpc-0abc", {}, {})) == {"cidrBlock": "10.0.0.0/16"}
    assert cloud.is_empty()
