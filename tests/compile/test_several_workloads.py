"""Several serving workloads in one EKS fleet: own pools, names that do not collide, and nothing replaced when a workload is added."""

from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.compile.compile import compile_plan, refusals
from rackwright.compile.compile_context import CompileContext
from rackwright.cost.bill import bill
from rackwright.diagnostics.problem import At
from rackwright.sizing.plan import WorkloadFacts
from rackwright.spec.workload import Serve
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import ROLE_LABEL
from rackwright.validation.spec_paths import spec_path
from rackwright.validation.stack import check, quota_needs
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record
from rackwright_pulumi.testing.diff import compare

from tests import plans
from tests.compile.found import after, manifest

KEY = {"api_key": {"secret": "key"}}


def several(team: str = "chat", embed: dict | None = None, **more) -> tuple:
    """The chat of `eks_fleet_case` and an embedding model on two T4 machines. more: of the second candidate."""
    spec, plan, fit = plans.eks_fleet_case()
    second = {"name": "embed", "kind": "serve", "model": {"base": "bert-large"}, "requests_per_second": 40, "sequence_length": 256}
    server = Serve.model_validate(second | {"team": team, "max_replicas": 4} | (embed or {}))
    t4 = plans.candidate("g4dn.xlarge", "NVIDIA T4", 1, 2, **({"replicas": 2, "max_replicas": 4, "price_usd_per_hour": 0.526} | more))
    other = replace(plans.fit(t4, ttft_s=0.05, concurrency=8), workload="embed")
    facts = WorkloadFacts("embed", "serve", "bert-large", 3e8, 3e8, weights_bytes=7e8)
    chosen = replace(fit, workload="chat", further=(other,))
    both = spec.model_copy(update={"workloads": (*spec.workloads, server)})
    return both, replace(plan, fits=(chosen,), further=(plans.sizing(other, facts),)), chosen


@pytest.fixture(scope="module")
def stack() -> StackPlan:
    return plans.compiled(several())


def test_each_workload_has_its_own_pool_and_its_pods_run_there_only(stack):
    assert [(pool.name, pool.machine, pool.serves) for pool in stack.pools[1:]] == [
        ("gpu", "g6e.xlarge", ("chat",)),
        ("gpu-embed", "g4dn.xlarge", ("embed",)),
    ]
    for pool, key in (("gpu", "serving.deployment"), ("gpu-embed", "serving-embed.deployment")):
        selector = manifest(stack, key)["spec"]["template"]["spec"]["nodeSelector"]
        assert selector[ROLE_LABEL] == dict(stack.pool(pool).labels)[ROLE_LABEL]
    labels = [dict(pool.labels)[ROLE_LABEL] for pool in stack.pools]
    assert len(set(labels)) == len(labels)


def test_a_stack_of_several_satisfies_every_rule(stack):
    assert check(stack) == []
    assert StackPlan.from_json(stack.to_json()) == stack


def test_nothing_is_replaced_when_a_second_workload_is_added(stack):
    """The first workload keeps the names and the inputs of its parts."""
    alone = plans.compiled(plans.eks_fleet_case())
    one, two = (record(lambda plan=plan: declare(plan) and None, stack="chat-eks").as_json() for plan in (alone, stack))
    changes = compare(one, two)
    assert {change.operation for change in changes} <= {"create", "update"}
    assert any(change.operation == "create" for change in changes)
    first = {m.key: m for m in alone.manifests}
    assert all(first[key] == found for key, found in {m.key: m for m in stack.manifests}.items() if key in first)


def test_names_do_not_collide_in_a_namespace_that_teams_share():
    plan = plans.compiled(several(team="default", embed=KEY))
    shared = plans.compiled(several(team=plans.eks_fleet_case()[0].workload.team, embed=KEY))
    for each in (plan, shared):
        keys = [m.key for m in each.manifests]
        assert len(set(keys)) == len(keys)
        names = [(m.body["kind"], m.body["metadata"].get("namespace"), m.body["metadata"]["name"]) for m in each.manifests]
        assert len(set(names)) == len(names)
        assert len({identity.key for identity in each.identities}) == len({bucket.key for bucket in each.buckets}) == 2
    assert len({identity.namespace for identity in plan.identities}) == 2
    assert len({identity.service_account for identity in shared.identities}) == 2
    for key in after(shared, "serving-embed.deployment"):
        assert key in {m.key for m in shared.manifests}


def test_each_server_reads_its_own_bucket_only(stack):
    assert {i.key: [grant.bucket for grant in i.grants] for i in stack.identities} == {
        "server": ["weights"],
        "server-embed": ["weights-embed"],
    }


def test_the_bill_and_the_quota_are_of_all_machines(stack):
    spec, _, chosen = several()
    lines = {line.what: line for line in bill(stack, chosen, spec, Catalog.default()).lines}
    assert (lines["g6e.xlarge, on-demand, chat"].quantity, lines["g4dn.xlarge, on-demand, embed"].quantity) == (3, 2)
    assert "pool gpu-embed, g4dn.xlarge, on-demand" not in lines
    (need,) = [need for need in quota_needs(stack) if need.code == "L-DB2E81BA"]
    assert need.amount == 8 * 4 + 4 * 4
    assert need.machine == "g6e.xlarge, g4dn.xlarge"


def test_machines_are_in_zones_that_offer_both():
    spec, plan, chosen = several(zones=("us-east-1b", "us-east-1a"))
    wide = replace(chosen, candidate=replace(chosen.candidate, zones=("us-east-1c", "us-east-1b")))
    pools = compile_plan(spec, plan, wide, today=plans.TODAY).pools
    assert {pool.zones for pool in pools if pool.accelerator_count} == {("us-east-1b",)}


def test_a_pool_without_nodes_of_its_own_has_one_provisioner_with_the_others():
    provisioners = {pool.provisioner for pool in plans.compiled(several()).pools if pool.accelerator_count}
    assert provisioners == {"karpenter"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (At(("pools", 2, "nodes_max")), "workloads[1].max_replicas"),
        (At(("pools", 1, "nodes_max")), "workloads[0].max_replicas"),
        (At(("buckets", 1)), "workloads[1].model.weights.uri"),
    ],
)
def test_problems_point_at_the_workload_that_they_concern(stack, path, expected):
    assert str(spec_path(path, several()[0], 0, stack)) == expected


def test_a_refusal_of_the_second_workload_has_its_path():
    spec, plan, chosen = several(embed={"scale_to_zero": True, "min_replicas": 0})
    found = refusals(CompileContext(spec, plan, chosen, plans.TODAY, catalog=Catalog.default()))
    assert [(problem.code, str(problem.at)) for problem in found] == [("V-92", "workloads[1].scale_to_zero")]


def test_other_blueprints_and_clouds_have_one_workload():
    spec, plan, chosen = several()
    box = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"kind": "box"})})
    (problem,) = refusals(CompileContext(box, plan, chosen, plans.TODAY, catalog=Catalog.default()))
    assert (problem.code, problem.reason) == ("C-many", "A box on aws has one workload; the spec has 2")
