"""Properties of every plan with any blueprint, machine, count and capacity mode."""

import json
from fnmatch import fnmatch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rackwright.diagnostics.problem import Level
from rackwright.stackplan import REFS, StackPlan
from rackwright.validation.stack import check

from tests import plans

BUILT = {name: build() for name, build in plans.ALL.items()} | {"two slices": plans.compiled(plans.tpu_case(slices=2))}
PARTS = ("pools", "manifests", "releases", "addons", "identities", "buckets", "namespaces", "services")


def refs_in(value):
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else value.get("$refs", ())
        for item in value.values():
            yield from refs_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from refs_in(item)


def used_refs(plan):
    return set(refs_in(json.loads(plan.to_json())))


@pytest.mark.parametrize("name", BUILT)
def test_every_ref_is_documented(name):
    assert {ref for ref in used_refs(BUILT[name]) if not any(fnmatch(ref, known) for known in REFS)} == set()


@pytest.mark.parametrize("name", BUILT)
def test_every_ref_has_a_target_in_the_plan(name):
    plan = BUILT[name]
    keys = {bucket.key for bucket in plan.buckets}
    for ref in used_refs(plan):
        kind, _, rest = ref.partition(".")
        assert kind != "bucket" or rest.partition(".")[0] in keys, ref
        assert kind != "lustre" or plan.lustre, ref


@pytest.mark.parametrize("name", BUILT)
def test_every_dependency_is_in_the_plan(name):
    plan = BUILT[name]
    names = {release.name for release in plan.releases} | {manifest.key for manifest in plan.manifests}
    assert {wait for want in (*plan.releases, *plan.manifests) for wait in want.after} <= names


@pytest.mark.parametrize("name", BUILT)
def test_every_namespace_is_created_or_exists(name):
    plan = BUILT[name]
    made = {namespace for namespace, _ in plan.namespaces} | {"kube-system"}
    used = {release.namespace for release in plan.releases} | {m.body["metadata"].get("namespace", "kube-system") for m in plan.manifests}
    assert used <= made


@pytest.mark.parametrize("name", BUILT)
def test_keys_are_unique(name):
    plan = BUILT[name]
    keys = [*(release.name for release in plan.releases), *(manifest.key for manifest in plan.manifests)]
    objects = [(m.body["kind"], m.body["metadata"].get("namespace"), m.body["metadata"]["name"]) for m in plan.manifests]
    assert len(keys) == len(set(keys))
    assert len(objects) == len(set(objects))


@pytest.mark.parametrize("name", BUILT)
def test_identities_reach_only_buckets_of_the_plan(name):
    plan = BUILT[name]
    assert {grant.bucket for identity in plan.identities for grant in identity.grants} <= {bucket.key for bucket in plan.buckets}


@pytest.mark.parametrize("name", BUILT)
def test_plans_contain_no_jobs(name):
    assert not {m.body["kind"] for m in BUILT[name].manifests} & {"Job", "JobSet", "Pod", "LeaderWorkerSet"}


@pytest.mark.parametrize("name", BUILT)
def test_team_namespaces_are_closed_by_default(name):
    plan = BUILT[name]
    teams = {namespace for namespace, _ in plan.namespaces if namespace.startswith("team-")}
    denied = {m.body["metadata"]["namespace"] for m in plan.manifests if m.body["metadata"]["name"] == "default-deny"}
    assert denied == teams


@given(
    nodes=st.integers(2, 1900),
    machine=st.sampled_from(["p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "g6e.48xlarge"]),
    mode=st.sampled_from(["on-demand", "spot", "capacity-block"]),
    zone=st.sampled_from(["us-east-1a", "us-east-1e", "us-east-1f"]),
)
@settings(max_examples=60, deadline=None)
def test_any_efa_cluster_satisfies_every_rule(nodes, machine, mode, zone):
    assume(mode != "capacity-block" or machine != "g6e.48xlarge")  # of which no block is sold
    block = "cr-0123456789abcdef0" if mode == "capacity-block" else ""
    plan = plans.compiled(plans.training_case(nodes, machine, capacity=mode, capacity_id=block, zones=(zone,)))
    assert [p for p in check(plan) if p.level is Level.ERROR] == []
    assert StackPlan.from_json(plan.to_json()) == plan
    assert [len(getattr(plan, part)) for part in PARTS] == [len(getattr(BUILT["training"], part)) for part in PARTS]


@given(slices=st.integers(1, 8), shape=st.sampled_from([("2x4", 2), ("4x4", 4), ("4x8", 8), ("16x16", 64)]), flex=st.booleans())
@settings(max_examples=30, deadline=None)
def test_any_pod_satisfies_every_rule(slices, shape, flex):
    topology, hosts = shape
    plan = plans.compiled(plans.tpu_case(slices, hosts, topology, capacity="flex-start" if flex else "spot"))
    assert check(plan) == []
    assert len(plan.pools) == 1 + slices
    assert len(plan.manifests) == len(BUILT["tpu"].manifests)


@given(least=st.integers(1, 4), more=st.integers(0, 60))
@settings(max_examples=30, deadline=None)
def test_any_fleet_satisfies_every_rule(least, more):
    case = plans.fleet_case({"min_replicas": least, "max_replicas": least + more})
    spec, sizing, fit = case
    fit = plans.with_replicas(fit, least, least + more)
    plan = plans.compiled((spec, sizing, fit))
    assert check(plan) == []
    assert (plan.pool("gpu").nodes_min, plan.pool("gpu").nodes_max) == (least, least + more)
