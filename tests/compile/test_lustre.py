"""The file system by the options of the spec, and by sizing for the others."""

from functools import partial

import pytest
from rackwright.catalog.read import Catalog
from rackwright.compile.compile import compile_plan
from rackwright.cost import bill
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.units import GIB
from rackwright.validation.stack import check

from tests import plans


def described(need: tuple[float, float] = (4e12, 8e9), case=plans.training_case, **lustre):
    spec, sizing, fit = case(blueprint={"ttl": "14d", "storage": {"lustre": lustre}})
    return compile_plan(spec, plans.with_storage(sizing, *need), fit, today=plans.TODAY)


def lustre_problems(plan, level=None):
    found = [problem for problem in check(plan) if str(problem.at).startswith("lustre")]
    return [problem for problem in found if level in (None, problem.level)]


def test_lustre_without_options_equals_the_word_lustre():
    assert described().lustre == plans.training_plan().lustre


def test_a_given_size_uses_the_slowest_sufficient_tier():
    """8 GB/s from 19,200 GiB is 427 MB/s per TiB."""
    want = described(capacity="19200 GiB").lustre
    assert (want.capacity_gib, want.throughput_mb_s_per_tib) == (19200, 500)


def test_a_given_throughput_uses_the_smallest_size():
    want = described(throughput=1000).lustre
    assert (want.capacity_gib, want.throughput_mb_s_per_tib) == (9600, 1000)


def test_a_given_size_and_throughput_are_used():
    want = described(capacity="2400 GiB", throughput=125).lustre
    assert (want.capacity_gib, want.throughput_mb_s_per_tib) == (2400, 125)


@pytest.mark.parametrize(
    ("lustre", "code", "fix"),
    [
        ({"capacity": "5000 GiB"}, "V-50", "set it to 4800 or 7200"),
        ({"capacity": "1 TiB"}, "V-50", "set it to 1200"),
        ({"capacity": "30000 GiB", "throughput": 250, "efa": True}, "V-51", "set it to 19200 or 38400"),
    ],
)
def test_sizes_between_steps_are_rejected_with_the_nearest_valid_ones(lustre, code, fix):
    (problem,) = lustre_problems(described(**lustre), Level.ERROR)
    assert (problem.code, problem.fix) == (code, fix)
    assert problem.link.startswith("https://docs.aws.amazon.com/fsx/")


def test_efa_follows_the_spec_or_the_required_rate():
    over = (4e12, 60e9)
    assert described(over).lustre.rdma
    assert not described(over, efa=False).lustre.rdma
    assert described(efa=True).lustre.rdma
    assert lustre_problems(described(efa=True)) == []


@pytest.mark.parametrize(
    ("nodes", "machine", "interfaces"),
    [(4, "p5.48xlarge", 8), (4, "p5en.48xlarge", 8), (4, "p6-b300.48xlarge", 16), (4, "g6e.48xlarge", 2), (256, "p5.48xlarge", 4)],
)
def test_lustre_interfaces_are_limited_by_fsx_and_the_file_system(nodes, machine, interfaces):
    """FSx permits 1,024 connections of all clients together."""
    case = partial(plans.training_case, nodes=nodes, machine=machine)
    assert described(efa=True, case=case).pool("gpu").lustre_interfaces == interfaces


def test_lustre_over_tcp_uses_no_efa_interfaces():
    assert plans.training_plan().pool("gpu").lustre_interfaces == 0


@pytest.mark.parametrize("machine", ["p4d.24xlarge", "trn2.48xlarge"])
def test_lustre_over_efa_requires_supported_machines(machine):
    case = partial(plans.training_case, machine=machine)
    assert not described((4e12, 60e9), case=case).lustre.rdma
    (problem,) = lustre_problems(described(efa=True, case=case))
    assert (problem.code, problem.fix) == ("V-51", "set it to false")


def test_bottlerocket_reads_over_tcp():
    nodes = {"nodes": {"image": "bottlerocket"}}
    spec, sizing, fit = plans.training_case(blueprint={"ttl": "14d", "storage": "lustre"} | nodes)
    assert not compile_plan(spec, plans.with_storage(sizing, 4e12, 60e9), fit, today=plans.TODAY).lustre.rdma


def test_checkpoints_are_exported_to_created_buckets_only():
    spec, sizing, fit = plans.training_case()
    workload = spec.workload.model_copy(update={"checkpoint": spec.workload.checkpoint.model_copy(update={"uri": None})})
    ours = compile_plan(spec.model_copy(update={"workloads": (workload,)}), sizing, fit, today=plans.TODAY)
    assert ours.lustre.exports == (("/checkpoints", "checkpoints"),)
    assert plans.training_plan().lustre.exports == ()


def test_backups_are_billed_by_use():
    """FSx makes no backups of a file system that is linked to a bucket."""
    spec, _, fit = plans.training_case()
    linked = plans.training_plan()
    alone = plans.replace(linked, lustre=plans.replace(linked.lustre, imports=()))
    backups = [[line for line in bill(plan, fit, spec, Catalog.default()).lines if "backups" in line.what] for plan in (linked, alone)]
    assert backups[0] == []
    assert (backups[1][0].quantity, backups[1][0].unit_price_usd) == (None, 0.05)


class TestTiers:
    def test_throughput_fits_the_run_and_the_cache_its_dataset(self):
        want = described((4e12, 9e9), tiering="intelligent").lustre
        assert (want.kind, want.throughput_mb_s, want.metadata_iops) == ("tiered", 12000, 6000)
        assert want.cache_gib == 3 * 32
        assert want.capacity_gib == 3726

    def test_compiled_sizes_are_valid(self):
        assert lustre_problems(described(tiering="intelligent")) == []
        assert lustre_problems(described(tiering="intelligent", efa=True)) == []

    def test_no_bucket_is_linked(self):
        want = described(tiering="intelligent").lustre
        assert (want.imports, want.exports, want.backup_days) == ((), (), 0)

    def test_the_bill_has_fixed_and_usage_based_lines(self):
        plan = described(tiering="intelligent", capacity="10000 GiB")
        spec, _, fit = plans.training_case()
        found = {line.what: line for line in bill(plan, fit, spec, Catalog.default()).lines if "tiers" in line.what}
        a_month = {what.partition(": ")[2]: (line.hourly_usd or 0) * 730 for what, line in found.items()}
        assert a_month["data"] == pytest.approx(230)
        assert a_month["throughput"] == pytest.approx(8000 * 0.52)
        assert a_month["metadata"] == pytest.approx(330)
        assert found["Lustre file system in tiers: requests"].unit_price_usd is None

    def test_the_cache_holds_the_dataset(self):
        spec, sizing, fit = plans.training_case(blueprint={"storage": {"lustre": {"tiering": "intelligent"}}})
        facts = plans.replace(sizing.facts, dataset_bytes=5000 * GIB)
        want = compile_plan(spec, plans.replace(sizing, facts=facts), fit, today=plans.TODAY).lustre
        assert want.cache_gib == 5000


def test_a_box_rejects_every_lustre_option():
    spec, sizing, fit = plans.box_case()
    shape = plans.training_case(blueprint={"storage": {"lustre": {"capacity": "1200 GiB"}}})[0].blueprint
    with pytest.raises(UserError, match="supports Lustre in a training-cluster only, and this stack is a box"):
        compile_plan(spec.model_copy(update={"blueprint": shape}), sizing, fit, today=plans.TODAY)
