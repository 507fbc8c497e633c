"""Quotas of the account limit the number of machines in the search; an existing cluster excludes machines outside it."""

import pytest
from rackwright.compile.compile import blueprint_of
from rackwright.sizing.rejection import Limit, Reason
from rackwright.spec import read
from rackwright.workflow.pipeline import Pipeline

from tests.sizing.helpers import AWS, GCP, TODAY, finetune, labels, plan, rejection, serve

P = "L-417A185B"
FULL = finetune("llama-3.1-70b", "none")


def limited(**amounts: int) -> str:
    quotas = ", ".join(f"{code.replace('_', '-')}: {amount}" for code, amount in amounts.items())
    return AWS.replace("regions", f"quotas: {{us-east-1: {{{quotas}}}}}, regions")


def test_a_quota_counts_every_machine():
    p = plan(FULL, limited(L_417A185B=96, L_DB2E81BA=768))
    assert p.chosen.candidate.machine.startswith("g7e")
    for f in p.fits:
        assert f.candidate.nodes * {"24xlarge": 96, "12xlarge": 48, "48xlarge": 192}[f.candidate.machine.split(".")[1]] <= 768
    over = rejection(p, "2 x p4de.24xlarge us-east-1 on-demand", Limit.QUOTA)
    assert (over.need, over.have, over.unit, over.subject) == (192, 96, "vCPU", P)


def test_the_number_of_machines_that_a_quota_allows_is_searched():
    p = plan(finetune(), limited(L_417A185B=3 * 192))
    assert any(label.startswith("3 x p5.48xlarge ") for label in labels(p) + [r.candidate.label for r in p.rejected])
    assert not any(f.candidate.machine == "p5.48xlarge" and f.candidate.nodes > 3 for f in p.fits)


def test_a_server_needs_the_quota_of_its_maximum_size():
    work = serve(rate=4, more="tpot: {target: 50 ms}, min_replicas: 1, max_replicas: 8")
    chosen = plan(work).chosen.candidate
    assert (chosen.machine, chosen.nodes, chosen.max_replicas) == ("g7e.2xlarge", 1, 8)
    over = rejection(plan(work, limited(L_DB2E81BA=63)), chosen.label, Limit.QUOTA)
    assert (over.need, over.have, over.reason) == (8 * 8, 63, Reason.VCPU_QUOTA)
    assert chosen.label in labels(plan(work, limited(L_DB2E81BA=64)))


EXISTING = "network: {existing: {vpc: vpc-0123456789abcdef0, subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]}}, regions"


def test_an_existing_cluster_gets_no_box():
    text = f"{{api_version: rackwright/v1, name: test, workloads: [{finetune()}], infra: {{any_of: [{AWS.replace('regions', EXISTING)}]}}, "
    spec = read(text + "blueprint: {cluster: {name: mine}}}")
    at = Pipeline.of_spec(spec, TODAY)
    assert at.plan.chosen.candidate.nodes == 1
    assert {blueprint_of(spec, f) for f in at.plan.fits} == {"training-cluster"}
    assert at.preview().stack.cluster.existing
    assert "because" not in at.plan.scaling


@pytest.mark.parametrize(("nodes", "topology"), [(1, "2x2"), (8, "4x8"), (64, "16x16")])
def test_a_tpu_pin_selects_the_slice_with_as_many_hosts(nodes, topology):
    work = finetune("gemma-2-2b", "none").replace("global_batch_size: 64", "global_batch_size: 256")
    p = plan(work, GCP.replace("regions", f"pin: {{instance: ct5lp-hightpu-4t, nodes: {nodes}}}, regions"))
    assert {f.candidate.topology for f in p.fits if f.candidate.pinned} <= {topology}
    assert all(f.candidate.accelerators == 4 * f.candidate.nodes for f in (*p.fits, *p.rejected) if f.candidate.topology == topology)
    others = {r.rejections[0].limit for r in p.rejected if r.candidate.machine == "ct5lp-hightpu-4t" and r.candidate.topology != topology}
    assert Limit.PIN in others
