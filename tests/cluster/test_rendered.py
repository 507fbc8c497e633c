"""Charts rendered by Helm with the values of a plan: the API server accepts their objects, and their namespaces admit their pods."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.compile.mirror import with_mirror
from rackwright.stackplan import ReleasePlan, StackPlan
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests import plans
from tests.cluster.stacks import filled
from tests.compile.contracts import ROOT
from tests.compile.found import release
from tests.compile.test_mirror import MIRROR
from tests.render.renderers import needed_binary, needed_source

CHARTS = {
    "kueue": ("kueue", "charts/kueue", "training"),
    "jobset": ("jobset", "charts/jobset", "training"),
    "karpenter": ("karpenter", "charts/karpenter", "fleet-eks"),
    "karpenter-crd": ("karpenter", "charts/karpenter-crd", "fleet-eks"),
}
"""Chart -> (Go module that has its files, folder in it, plan with its release)."""
NOT_RENDERED = {
    "kube-prometheus-stack": "its repository is no Go module",
    "keda": "its repository is no Go module",
    "dcgm-exporter": "the module proxy refuses its module",
    "nvidia-device-plugin": "the module proxy refuses its module",
    "gpu-operator": "the module proxy refuses its module",
    "network-operator": "the module proxy refuses its module",
    "lws": "the module proxy refuses v0.10.0",
    "aws-efa-k8s-device-plugin": "its repository is no Go module",
    "aws-dranet": "its repository is no Go module",
}
"""Charts whose values are compared with the chart's own values file instead (tests/compile/test_contracts.py)."""
NOT_CHECKED = {
    "neuron-helm-chart": "only its image values are in the catalog; its values file is not among the contracts",
    "kubeflow-trainer": "it contains other charts; tests/cluster/test_job_operators.py renders it without them",
    "gateway-helm": "its values are a template; tests/cluster/test_gateway.py renders it",
    "kuberay-operator": "the Go module of its repository has no charts",
    "cluster-autoscaler": "its values file is not among the contracts",
    "aws-for-fluent-bit": "its values file is not among the contracts",
}
"""Charts of whose values no source is in the contracts."""
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "Job")


def plan_of(name: str) -> StackPlan:
    return plans.training_plan() if name == "training" else plans.FLEETS[name]()


def rendered(wanted: ReleasePlan, module: str, folder: str) -> list[dict[str, Any]]:
    """Objects of a chart with the values of a release."""
    return rendered_from(wanted, needed_source(module) / folder)


def rendered_from(wanted: ReleasePlan, chart: Path) -> list[dict[str, Any]]:
    """Objects of the chart in a folder."""
    helm = needed_binary("helm")
    version = f"{pinned_versions('kubernetes')['cluster'].version}.0"
    command = [str(helm), "template", wanted.name, str(chart), "--namespace", wanted.namespace, "--include-crds", "--values", "-"]
    # Without a cluster Helm knows no API, and charts select old ones.
    command += ["--kube-version", version, "--api-versions", "policy/v1", "--api-versions", "policy/v1/PodDisruptionBudget"]
    made = subprocess.run(command, input=yaml.safe_dump(filled(wanted.values)), capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return [body for body in yaml.load_all(made.stdout, yaml.CSafeLoader) if body]


def test_every_pinned_chart_is_checked_or_explained():
    pinned = set(pinned_versions("chart"))
    assert pinned == set(CHARTS) | set(NOT_RENDERED) | set(NOT_CHECKED)
    if ROOT.is_dir():
        files = {path.stem.rpartition("-")[0] for path in (ROOT / "chart-values").glob("*.yaml")}
        assert set(NOT_RENDERED) <= files


@pytest.mark.parametrize("name", CHARTS)
def test_the_api_server_accepts_a_rendered_chart(name, api):
    module, folder, plan_name = CHARTS[name]
    plan = plan_of(plan_name)
    wanted = release(plan, name)
    level = dict(plan.namespaces).get(wanted.namespace, "privileged")
    api.must_apply(namespace_body(wanted.namespace, level))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": wanted.namespace}}
    refused = {}
    for body in rendered(wanted, module, folder):
        if body["kind"] == "CustomResourceDefinition":
            continue
        answer = api.apply(in_namespace(body, wanted.namespace, api), dry_run=True)
        refused |= {} if answer.accepted else {f"{body['kind']} {body['metadata']['name']}": answer.message}
        if body["kind"] in WORKLOADS:
            spec = body["spec"]["template"]["spec"]
            api.must_apply(account | {"metadata": {"name": spec.get("serviceAccountName", "default"), "namespace": wanted.namespace}})
            spec = {key: value for key, value in spec.items() if key != "priorityClassName"} if wanted.namespace != "kube-system" else spec
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rendered", "namespace": wanted.namespace}, "spec": spec}
            admitted = api.apply(pod, dry_run=True)
            refused |= {} if admitted.accepted else {f"pod of {body['kind']} {body['metadata']['name']}": admitted.message}
    assert refused == {}


@pytest.mark.parametrize("name", [name for name in CHARTS if name != "karpenter-crd"])
def test_every_image_of_a_rendered_chart_is_in_the_mirror(name):
    module, folder, plan_name = CHARTS[name]
    wanted = next(each for each in with_mirror(plan_of(plan_name), MIRROR).releases if each.name == name)
    specs = [body["spec"]["template"]["spec"] for body in rendered(wanted, module, folder) if body["kind"] in WORKLOADS]
    found = [each["image"] for spec in specs for key in ("containers", "initContainers") for each in spec.get(key, [])]
    assert found
    assert [image for image in found if not image.startswith(f"{MIRROR}/")] == []


def in_namespace(body: dict[str, Any], namespace: str, api: Any) -> dict[str, Any]:
    """The object with the namespace of the release, which Helm adds where a chart leaves it out."""
    kinds = api._kinds(body["apiVersion"], body["kind"])
    namespaced = kinds.get(body["kind"], ("", False))[1]
    if not namespaced or body["metadata"].get("namespace"):
        return body
    return body | {"metadata": body["metadata"] | {"namespace": namespace}}


def test_sources_are_those_of_the_pinned_versions():
    from tests.render.renderers import SOURCES

    for name in CHARTS:
        version = pinned_versions("chart")[name].version.partition("@")[0].removeprefix("v")
        assert SOURCES[CHARTS[name][0]].endswith(f"@v{version}"), name
