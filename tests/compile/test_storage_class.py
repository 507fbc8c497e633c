"""Storage classes of new clusters, and the disk of Prometheus."""

from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.compile.kubernetes.gcp.storage_class import storage_classes
from rackwright.stackplan import ref
from rackwright.validation.stack import check, quota_needs

from tests import plans

INSIDE = {"api_access": {"runner": "inside"}, "ttl": "14d", "storage": "none"}
EXISTING = INSIDE | {"cluster": {"name": "shared"}}
WITH_METRICS = {"training": plans.training_case, "eks fleet": plans.eks_fleet_case, "gke fleet": plans.fleet_case}
GP3 = "L-7A658B76"
PROMETHEUS = "kube-prometheus-stack"
ANNOTATION = "storageclass.kubernetes.io/is-default-class"


def classes(plan):
    return [manifest.body for manifest in plan.manifests if manifest.body["kind"] == "StorageClass"]


def prometheus(plan):
    return next(release for release in plan.releases if release.name == PROMETHEUS)


@pytest.mark.parametrize("case", [plans.training_case, plans.eks_fleet_case])
def test_a_new_eks_cluster_has_an_encrypted_default_class(case):
    (found,) = classes(plans.compiled(case()))
    assert found["metadata"]["annotations"] == {ANNOTATION: "true"}
    assert found["parameters"]["kmsKeyId"] == ref("key.arn")
    assert found["parameters"]["type"] == "gp3"


@pytest.mark.parametrize("case", [plans.fleet_case, plans.tpu_case])
def test_a_gke_cluster_has_an_encrypted_default_class(case):
    plan = plans.compiled(case())
    (found,) = [body for body in classes(plan) if body["metadata"]["annotations"] == {ANNOTATION: "true"}]
    assert found["provisioner"] == "pd.csi.storage.gke.io"
    assert found["parameters"]["disk-encryption-kms-key"] == ref("key.id")
    assert found["parameters"]["labels"] == f"rackwright-stack={plan.name}"


def test_the_default_class_of_gke_is_one_that_the_accelerator_machine_supports():
    system, pool = plans.compiled(plans.fleet_case()).pools
    balanced, hyperdisk = storage_classes("chat", [system, replace(pool, disk=replace(pool.disk, kind="hyperdisk-balanced"))])
    assert (balanced.body["parameters"]["type"], balanced.body["metadata"]["annotations"]) == ("pd-balanced", {ANNOTATION: "false"})
    assert (hyperdisk.body["parameters"]["type"], hyperdisk.body["metadata"]["annotations"]) == ("hyperdisk-balanced", {ANNOTATION: "true"})


def test_an_existing_cluster_keeps_its_default_class_and_its_prometheus():
    plan = plans.compiled(plans.training_case(blueprint=EXISTING))
    assert classes(plan) == []
    assert "V-127" not in {problem.code for problem in check(plan)}


@pytest.mark.parametrize("case", WITH_METRICS.values(), ids=WITH_METRICS)
def test_prometheus_keeps_its_metrics_on_a_disk_of_a_class_that_system_machines_support(case):
    plan = plans.compiled(case())
    spec = prometheus(plan).values["prometheus"]["prometheusSpec"]
    claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]
    named = {body["metadata"]["name"]: body for body in classes(plan)}
    assert named[claim["storageClassName"]]["parameters"]["type"] in ("gp3", "pd-balanced")
    assert claim["resources"]["requests"]["storage"] == f"{prometheus(plan).claims[0].size_gib}Gi"
    assert "role" in str(spec["nodeSelector"])


def test_prometheus_deletes_metrics_before_its_disk_is_full():
    limits = {limit: Catalog.default().storage_limit("prometheus", limit) for limit in ("disk_gib", "retention_gib", "retention_days")}
    spec = prometheus(plans.training_plan()).values["prometheus"]["prometheusSpec"]
    assert (spec["retention"], spec["retentionSize"]) == (f"{limits['retention_days']}d", f"{limits['retention_gib']}GB")
    assert 0.7 < limits["retention_gib"] / limits["disk_gib"] <= 0.85


@pytest.mark.parametrize("case", WITH_METRICS.values(), ids=WITH_METRICS)
def test_the_disk_of_prometheus_goes_with_its_claim_before_the_driver(case):
    plan = plans.compiled(case())
    release = prometheus(plan)
    retention = release.values["prometheus"]["prometheusSpec"]["persistentVolumeClaimRetentionPolicy"]
    assert {body["reclaimPolicy"] for body in classes(plan)} == {"Delete"}
    assert retention["whenDeleted"] == "Delete"
    assert release.teardown_values == {"prometheus": {"enabled": False}}


def test_the_disk_of_prometheus_counts_towards_the_quota():
    plan = plans.training_plan()
    without = tuple(replace(release, claims=()) for release in plan.releases)
    sizes = [next(need.amount for need in quota_needs(each) if need.code == GP3) for each in (plan, replace(plan, releases=without))]
    assert sizes[0] - sizes[1] == pytest.approx(sum(disk.size_gib for disk in prometheus(plan).claims) / 1024, abs=0.01)


@pytest.mark.parametrize("plan", [plans.training_plan(), plans.fleet_plan(), plans.FLEETS["fleet-eks"]()], ids=["training", "gke", "eks"])
def test_prometheus_has_room_and_priority(plan):
    """Without requests it is the first pod that a full node evicts, and scaling stops with it."""
    given = prometheus(plan).values["prometheus"]["prometheusSpec"]
    assert given["resources"]["requests"].keys() == {"cpu", "memory"}
    (priority,) = (
        m for m in plan.manifests if m.body["kind"] == "PriorityClass" and m.body["metadata"]["name"] == given["priorityClassName"]
    )
    assert priority.key in prometheus(plan).after
    assert (priority.layer, priority.body["preemptionPolicy"]) == ("operators", "PreemptLowerPriority")
