"""Which network and size of a file system a run gets, and that a running one keeps them."""

import shutil
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path

import pytest
from rackwright.catalog.read import Catalog
from rackwright.cli.session import Session
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.compile.storage.lustre import file_system_of
from rackwright.sizing.node.file_system import LustreSize
from rackwright.validation.stack.storage.lustre import delivered_throughput
from rackwright.workflow.decision import compiled, record
from rackwright.workflow.recorded.revalidation import revalidate

from tests import plans

STATE = Path(__file__).parents[1] / "states" / "0.1.0" / "stacks"
TODAY = datetime(2026, 11, 21)
OVER_TCP = LustreSize(36000, "fsx-lustre-persistent2-500", 500)


def stack(need: tuple[float, float], recorded: LustreSize | None = None, nodes: int = 4, machine: str = "p5.48xlarge", **lustre):
    options = {"ttl": "14d", "kind": "training-cluster", "storage": {"lustre": lustre} if lustre else "lustre"}
    spec, sizing, fit = plans.training_case(nodes, machine, blueprint=options)
    return compile_plan(spec, plans.with_storage(sizing, *need), fit, today=plans.TODAY, running=RunningStack(file_system=recorded))


@pytest.mark.parametrize(
    ("need", "nodes", "expected"),
    [
        ((4e12, 8e9), 4, (16800, 500, False)),  # 7 servers x 4 clients x 5 Gbit/s are 17.5 GB/s
        ((4e12, 8e9), 2, (16800, 500, False)),  # 8.75
        ((4e12, 8e9), 1, (9600, 1000, True)),  # TCP would need 33,600 GiB of the 250 tier: 7,896 USD a month, not 7,488
        ((4.1e12, 16.46e9), 2, (19200, 1000, True)),  # more than 10 GB/s: AWS recommends EFA
        ((4e12, 60e9), 4, (62400, 1000, True)),  # four clients over TCP take 50 GB/s
    ],
)
def test_efa_where_tcp_does_not_deliver_or_costs_more(need, nodes, expected):
    plan = stack(need, nodes=nodes)
    assert (plan.lustre.capacity_gib, plan.lustre.throughput_mb_s_per_tib, plan.lustre.rdma) == expected
    assert delivered_throughput(plan, Catalog.default()).bytes_per_s >= need[1] * 0.999


@pytest.mark.parametrize(("machine", "image"), [("p4d.24xlarge", "al2023"), ("p5.48xlarge", "bottlerocket")])
def test_machines_without_efa_clients_get_what_their_network_takes(machine, image):
    """Four clients over TCP take 50 GB/s: no throughput beyond that is bought."""
    spec, sizing, fit = plans.training_case(4, machine, blueprint={"storage": "lustre", "nodes": {"image": image}})
    plan = compile_plan(spec, plans.with_storage(sizing, 4e12, 60e9), fit, today=plans.TODAY)
    found = delivered_throughput(plan, Catalog.default())
    assert (plan.lustre.rdma, found.bytes_per_s) == (False, 50e9)
    assert found.tier_bytes_per_s < 52e9


def test_one_machine_over_tcp_gets_more_servers():
    """8 GB/s to one client are 13 servers of 5 Gbit/s or more."""
    plan = stack((4e12, 8e9), nodes=1, efa=False)
    found = delivered_throughput(plan, Catalog.default())
    assert found.servers >= 13
    assert found.bytes_per_s >= 8e9


def test_a_given_capacity_that_is_not_sold_with_efa_stays_on_tcp():
    assert not stack((4e12, 16e9), capacity="36000 GiB").lustre.rdma
    assert stack((4e12, 16e9), capacity="38400 GiB").lustre.rdma


class TestRecorded:
    def test_a_running_file_system_keeps_tier_and_network(self):
        need = (4.1e12, 16.46e9)
        assert stack(need, nodes=2).lustre.rdma
        kept = stack(need, OVER_TCP, nodes=2).lustre
        assert (kept.capacity_gib, kept.throughput_mb_s_per_tib, kept.rdma) == (36000, 500, False)

    def test_it_grows_with_the_need_and_never_shrinks(self):
        assert stack((4e12, 30e9), OVER_TCP).lustre.capacity_gib == 62400
        assert stack((4e12, 1e9), OVER_TCP).lustre.capacity_gib == 36000

    def test_options_of_the_spec_change_it(self):
        assert stack((4e12, 8e9), OVER_TCP, efa=True).lustre.rdma
        assert stack((4e12, 8e9), OVER_TCP, throughput=1000).lustre.throughput_mb_s_per_tib == 1000
        assert stack((4e12, 8e9), OVER_TCP, tiering="intelligent").lustre.kind == "tiered"

    def test_a_tiered_one_keeps_its_network_and_throughput(self):
        kept = stack((4e12, 9e9), LustreSize(3726, "fsx-lustre-intelligent-tiering", throughput_mb_s=12000), tiering="intelligent").lustre
        assert (kept.throughput_mb_s, kept.rdma) == (12000, False)

    def test_a_decision_records_it(self):
        spec, sizing, fit = plans.training_case(2)
        sizing = plans.with_storage(sizing, 4.1e12, 16.46e9)
        first = compile_plan(spec, sizing, fit, today=plans.TODAY)
        decision = record(spec, sizing, 1, first, plans.TODAY)
        assert decision.file_system == file_system_of(first.lustre) == LustreSize(19200, "fsx-lustre-persistent2-1000-efa", 1000, True)
        over_tcp = replace(decision, file_system=OVER_TCP)
        assert file_system_of(compiled(over_tcp, spec, plans.TODAY, catalog=Catalog.default()).lustre) == OVER_TCP

    def test_a_decision_of_an_earlier_release_keeps_what_that_release_built(self, tmp_path):
        for file in STATE.glob("llama-70b-sft.*"):
            shutil.copy(file, tmp_path)
        made = partial(Session.of, tmp_path / "llama-70b-sft.yaml", True, TODAY)
        assert file_system_of(made().stack().lustre) == OVER_TCP
        (shown,) = (p for p in made().pipeline.decide().problems if p.code == "D-file-system")
        assert "fsx-lustre-persistent2-500 of 36,000 GiB, is kept; a new stack would get fsx-lustre-persistent2-1000-efa" in shown.reason
        same, other = (made().pipeline.choose(rank).decision for rank in (None, 1))
        assert (same.fit.candidate.machine, same.file_system) == ("p5.48xlarge", OVER_TCP)
        assert (other.fit.candidate.machine, other.file_system) == ("p6-b200.48xlarge", OVER_TCP)
        (tmp_path / "llama-70b-sft.decision.json").unlink()
        assert file_system_of(made().stack().lustre) == LustreSize(4800, "fsx-lustre-persistent2-250", 250)  # for 138 MB/s

    def test_an_edited_spec_keeps_it(self, tmp_path):
        for file in STATE.glob("llama-70b-sft.*"):
            shutil.copy(file, tmp_path)
        path = tmp_path / "llama-70b-sft.yaml"
        path.write_text(path.read_text().replace("interval: auto", "interval: 40m"))
        session = Session.of(path, True, TODAY)
        pipeline = session.pipeline
        decision, found = revalidate(pipeline.recorded, pipeline.spec, pipeline.catalog, path, date(2026, 11, 21))
        assert [p.code for p in found][:1] == ["D-edited"]
        built = compiled(decision, pipeline.spec, date(2026, 11, 21), catalog=pipeline.catalog)
        assert (built.lustre.rdma, built.lustre.throughput_mb_s_per_tib) == (False, 500)


@pytest.mark.parametrize(("region", "tier", "efa"), [("us-east-1", 1000, True), ("ca-west-1", 250, False)])
def test_tiers_that_a_region_does_not_offer_are_not_chosen(region, tier, efa):
    """Calgary has the 125 and 250 tiers without EFA only."""
    spec, sizing, fit = plans.training_case(2, place=plans.AWS | {"regions": [region]}, region=region)
    plan = compile_plan(spec, plans.with_storage(sizing, 4.1e12, 16.46e9), fit, today=plans.TODAY)
    assert (plan.lustre.throughput_mb_s_per_tib, plan.lustre.rdma) == (tier, efa)
