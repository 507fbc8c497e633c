"""The Kubernetes layer: order without chains, manifests unchanged, pinned versions."""

import graphlib
from dataclasses import replace

import pulumi
import pytest
from pulumi_kubernetes import Provider
from rackwright.stackplan import ManifestPlan, ReleasePlan, format_refs, ref
from rackwright_pulumi.kubernetes.objects import namespace_body
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer
from rackwright_pulumi.testing import record

from tests import plans
from tests.graphs import recorded

KUEUE = "oci://registry.k8s.io/kueue/charts/kueue"
RELEASES = (
    ReleasePlan("kueue", "kueue-system", KUEUE, "0.19.2", after=("jobset",), values={"bucket": ref("bucket.data.name")}),
    ReleasePlan("jobset", "jobset-system", "oci://registry.k8s.io/jobset/charts/jobset", "0.12.0", timeout_s=600),
    ReleasePlan("keda", "keda", "keda", "2.20.2", repository="https://kedacore.github.io/charts"),
)


def body(api, kind, name, namespace="", **rest):
    metadata = {"name": name, "labels": {"api_version": "kept"}, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


MANIFESTS = (
    ManifestPlan("queue.cluster", body("kueue.x-k8s.io/v1beta2", "ClusterQueue", "all", spec={"cohortName": "c"}), after=("kueue",)),
    ManifestPlan("queue.local", body("kueue.x-k8s.io/v1beta2", "LocalQueue", "nlp", "nlp", spec={}), after=("kueue", "queue.cluster")),
    ManifestPlan("queue.high", body("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "high", value=1000), after=("kueue",)),
    ManifestPlan("shared", body("v1", "PersistentVolumeClaim", "shared", "nlp", spec={"volumeName": ref("lustre.id")}), data=True),
    ManifestPlan("token", body("v1", "Secret", "token", "nlp", stringData={"t": format_refs("{0}/{1}", "secret.t", "lustre.id")})),
)
NAMESPACES = (("nlp", "baseline"), ("kueue-system", "privileged"), ("jobset-system", "privileged"), ("keda", "restricted"))


def layer(releases=RELEASES, manifests=MANIFESTS, protect=True):
    def program():
        provider = Provider("k8s", kubeconfig="{}")
        refs = {"bucket.data.name": pulumi.Output.from_input("b-1"), "lustre.id": "fs-1", "secret.t": pulumi.Output.secret("s3cr3t")}
        args = {"namespaces": NAMESPACES, "releases": releases, "manifests": manifests, "refs": refs, "protect": protect}
        KubernetesLayer("sft-layer", args, pulumi.ResourceOptions(provider=provider))

    return record(program)


@pytest.fixture(scope="module")
def graph():
    return layer()


def waits_for(graph, node):
    return {graph.nodes[urn].name for urn in node.depends_on if graph.nodes[urn].custom} - {"k8s"}


def release(graph, name):
    return graph.one("kubernetes:helm.sh/v3:Release", f"sft-layer-{name}")


def test_each_part_depends_only_on_its_after_and_its_namespace(graph):
    assert waits_for(graph, release(graph, "kueue")) == {"sft-layer-jobset", "sft-layer-ns-kueue-system"}
    assert waits_for(graph, release(graph, "keda")) == {"sft-layer-ns-keda"}
    queue = graph.one("kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue", "sft-layer-queue.local")
    assert waits_for(graph, queue) == {"sft-layer-queue.cluster", "sft-layer-ns-nlp"}, "both wait for kueue"
    assert not any("deletedWith" in node.options for node in graph.nodes.values())


def test_f26_team_namespaces_are_deleted_before_the_operators(graph):
    space = graph.one("kubernetes:core/v1:Namespace", "sft-layer-ns-nlp")
    assert waits_for(graph, space) == {"sft-layer-kueue", "sft-layer-keda"}, "kueue waits for jobset"
    assert not waits_for(graph, graph.one("kubernetes:core/v1:Namespace", "sft-layer-ns-kueue-system"))


@pytest.mark.parametrize("protect", [True, False])
def test_f26_queues_drain_during_a_teardown(protect):
    spec = layer(protect=protect).one("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", "sft-layer-queue.cluster").inputs["spec"]
    assert spec == {"cohortName": "c"} | ({} if protect else {"stopPolicy": "HoldAndDrain"})


@pytest.mark.parametrize("protect", [True, False])
def test_f26_a_release_removes_its_disk_in_a_teardown_while_the_driver_runs(protect):
    plan = replace(
        RELEASES[0], values={"prometheus": {"retention": "15d"}, "grafana": 1}, teardown_values={"prometheus": {"enabled": False}}
    )
    found = release(layer((plan, *RELEASES[1:]), protect=protect), plan.name).inputs["values"]
    assert found == {"prometheus": {"retention": "15d"} if protect else {"enabled": False}, "grafana": 1}


def test_a_release_waits_for_an_object_of_its_layer():
    storage = ManifestPlan("class", body("storage.k8s.io/v1", "StorageClass", "disks"), layer="operators")
    first = replace(RELEASES[0], after=(*RELEASES[0].after, "class"))
    graph = layer((first, *RELEASES[1:]), (*MANIFESTS, storage))
    assert "sft-layer-class" in waits_for(graph, release(graph, first.name))


def test_manifests_are_not_changed(graph):
    priority = graph.one("kubernetes:kueue.x-k8s.io/v1beta2:WorkloadPriorityClass", "sft-layer-queue.high")
    assert priority.inputs == MANIFESTS[2].body
    claim = graph.one("kubernetes:core/v1:PersistentVolumeClaim", "sft-layer-shared")
    assert claim.inputs["spec"] == {"volumeName": "fs-1"}


@pytest.mark.parametrize(("kind", "api", "marked"), [("Deployment", "apps/v1", True), ("Service", "v1", True), ("Job", "batch/v1", True)])
def test_an_update_does_not_wait_for_a_server_without_weights(kind, api, marked):
    graph = layer((), (ManifestPlan("server", body(api, kind, "chat", "nlp", spec={})),))
    (node,) = [node for node in graph.nodes.values() if node.name == "sft-layer-server"]
    annotations = node.inputs["metadata"].get("annotations", {})
    assert annotations == ({"pulumi.com/skipAwait": "true"} if marked else {})


def test_the_digest_of_a_chart_is_part_of_its_reference_and_not_of_its_version():
    digest = f"sha256:{'0' * 64}"
    inputs = release(layer((ReleasePlan("kueue", "kueue-system", KUEUE, f"0.19.2@{digest}"),), ()), "kueue").inputs
    assert (inputs["chart"], inputs["version"]) == (f"{KUEUE}@{digest}", "0.19.2")


def test_releases_are_pinned_atomic_and_named_as_in_the_plan(graph):
    inputs = release(graph, "kueue").inputs
    assert (inputs["name"], inputs["version"], inputs["chart"]) == ("kueue", "0.19.2", KUEUE)
    safe = {"atomic": True, "cleanupOnFail": True, "skipAwait": False, "maxHistory": 5}
    assert {key: inputs[key] for key in safe} == safe
    assert "repositoryOpts" not in inputs
    assert inputs["values"] == {"bucket": "b-1"}
    assert release(graph, "keda").inputs["repositoryOpts"] == {"repo": "https://kedacore.github.io/charts"}
    assert release(graph, "jobset").inputs["timeout"] == 600


def test_namespaces_have_their_pod_security_level(graph):
    labels = graph.one("kubernetes:core/v1:Namespace", "sft-layer-ns-nlp").inputs["metadata"]["labels"]
    levels = {f"pod-security.kubernetes.io/{mode}": "baseline" for mode in ("enforce", "audit", "warn")}
    assert labels == levels | {"rackwright/queues": "true"}


def test_secrets_stay_secret(graph):
    token = graph.one("kubernetes:core/v1:Secret", "sft-layer-token")
    assert "stringData" in token.secret_inputs
    assert set(token.options["additionalSecretOutputs"]) == {"data", "stringData"}


@pytest.mark.parametrize("protect", [True, False])
def test_only_objects_with_data_or_jobs_are_protected_until_a_teardown(protect):
    """Jobs of a team are not in the state: a renamed team must not delete them. Operators can be replaced."""
    graph = layer(protect=protect)
    kept = {"sft-layer-shared", "sft-layer-ns-nlp"}
    assert {node.name for node in graph.nodes.values() if node.protect} == (kept if protect else set())


def test_every_object_uses_the_provider_of_the_layer(graph):
    assert not graph.unregistered()
    assert all("::k8s::" in node.provider for node in graph.nodes.values() if node.custom and node.name != "k8s")


@pytest.mark.parametrize(
    ("releases", "error"),
    [
        ((ReleasePlan("a", "x", "c", "1", after=("b",)),), KeyError),
        ((ReleasePlan("a", "x", "c", "1", after=("b",)), ReleasePlan("b", "x", "c", "1", after=("a",))), graphlib.CycleError),
        ((ReleasePlan("a", "x", "c", "1"), ReleasePlan("a", "y", "c", "1")), ValueError),
    ],
)
def test_a_plan_with_cycles_or_equal_keys_raises(releases, error):
    with pytest.raises(error):
        layer(releases, ())


def annotation_with(secret):
    """(digest of a secret, secret inputs) of a Deployment."""
    template = {"metadata": {"annotations": {"rackwright/secrets-digest": {"$digest": True, "$refs": ["secret.t"]}}}}
    plan = ManifestPlan("server", body("apps/v1", "Deployment", "chat", "nlp", spec={"template": template}))

    def program():
        refs = {"secret.t": pulumi.Output.secret(secret)}
        args = {"namespaces": NAMESPACES[:1], "releases": (), "manifests": (plan,), "refs": refs, "protect": True}
        KubernetesLayer("sft-layer", args, pulumi.ResourceOptions(provider=Provider("k8s", kubeconfig="{}")))

    node = record(program).one("kubernetes:apps/v1:Deployment", "sft-layer-server")
    return node.inputs["spec"]["template"]["metadata"]["annotations"]["rackwright/secrets-digest"], node.secret_inputs


def test_a_changed_secret_changes_the_pods_and_hides_no_other_part():
    """An unchanged pod template keeps the pods, and their key."""
    old, hidden = annotation_with("k-1")
    assert (annotation_with("k-1")[0], len(old), hidden) == (old, 32, set())
    assert annotation_with("k-2")[0] != old
    assert "k-1" not in old


def test_privileged_pods_of_a_team_are_admitted_but_reported():
    """RDMA needs IPC_LOCK, which baseline forbids; operators of a privileged namespace are not reported."""
    team, operator = namespace_body("team-nlp", "privileged", is_of_team=True), namespace_body("monitoring", "privileged")
    name = "pod-security.kubernetes.io"
    assert team["metadata"]["labels"] == {f"{name}/enforce": "privileged", f"{name}/audit": "baseline", f"{name}/warn": "baseline"}
    assert set(operator["metadata"]["labels"].values()) == {"privileged"}


def test_namespaces_of_releases_are_operators_and_others_are_teams():
    plan = plans.training_plan()
    graph = recorded(plan)
    warned = {
        node.inputs["metadata"]["name"]: node.inputs["metadata"]["labels"]["pod-security.kubernetes.io/warn"]
        for node in graph.by_type("kubernetes:core/v1:Namespace")
    }
    assert (warned["team-nlp"], warned["monitoring"]) == ("baseline", "privileged")
