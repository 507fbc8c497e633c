"""Rules over the inventory of a stack: its age, and the versions of operators that the cluster has."""

from datetime import UTC, datetime

import pytest
from rackwright.catalog import Catalog
from rackwright.catalog.release.chart_images import chart_images
from rackwright.catalog.release.operator_matrix import operator_release
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.diagnostics.problem import Level, Stage
from rackwright.sizing.offers.own_servers import with_own_servers
from rackwright.spec.spec import Acknowledgement
from rackwright.validation.stack import StackContext, check, stack_problems

from tests import plans
from tests.own_plans import own_box_case, own_fleet_case, own_training_case, place


def found(where=None, now=datetime(2026, 11, 21, 12, tzinfo=UTC), build=own_training_case):
    case = build(where=where)
    spec, _, fit = case
    context = StackContext(plans.compiled(case), with_own_servers(Catalog.default(), spec), fit=fit, spec=spec, now=now)
    return {problem.code: problem for problem in stack_problems(context)}


def test_an_inventory_of_today_is_recent():
    assert found() == {}


def test_an_inventory_older_than_a_day_is_a_warning():
    problem = found(now=datetime(2026, 11, 24, 12, tzinfo=UTC))["V-176"]
    assert (problem.level, problem.stage) == (Level.WARNING, Stage.PLAN)
    assert "3 days old" in problem.reason


@pytest.mark.parametrize(("version", "differs"), [("0.19.2", False), ("v0.19.2", False), ("0.9.1", True)])
def test_installed_operators_are_compared_with_the_pinned_versions(version, differs):
    known = found(place(installed=[{"name": "kueue", "version": version, "namespace": "kueue-system"}]))
    assert ("V-177" in known) is differs
    if differs:
        assert "this release is written for 0.19.2" in known["V-177"].reason
        assert known["V-177"].stage is Stage.BUILD


def test_charts_that_this_release_does_not_use_are_ignored():
    assert found(place(installed=[{"name": "argo-cd", "version": "7.0.0", "namespace": "argocd"}])) == {}


RUN = {"image": "registry.example/lab@sha256:0", "command": ["python", "train.py"], "launcher": "torchrun"}


def of_box(run, acknowledge=(), **blueprint):
    """What S-201 finds in a box on own servers: (path, reason)."""
    spec, sizing, fit = own_box_case(run)
    entries = tuple(Acknowledgement(rule=rule, reason="known") for rule in acknowledge)
    spec = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update=blueprint), "acknowledge": entries})
    context = StackContext(plans.compiled((spec, sizing, fit)), with_own_servers(Catalog.default(), spec), fit=fit, spec=spec)
    return {str(problem.at): problem.reason for problem in stack_problems(context) if problem.code == "S-201"}


@pytest.mark.parametrize("kind", ["auto", "box"])
def test_a_box_uses_the_container_and_its_launcher_but_no_options_of_queues(kind):
    assert of_box(RUN, kind=kind) == {}
    found = of_box(RUN | {"priority": "urgent", "max_restarts": 9}, kind=kind)
    reason = "The chosen stack is a box (xe9680-h100) whose container has no queue, so `priority` has no effect"
    assert found == {"workloads[0].run.priority": reason}


def test_a_launcher_without_a_command_and_a_command_without_an_image_are_reported():
    assert [*of_box({"image": "a/b:1", "launcher": "torchrun"})] == ["workloads[0].run.launcher"]
    (reason,) = of_box({"command": ["train"]}).values()
    assert reason.endswith("a box (xe9680-h100) without `run.image`, so `run` (command) is not used")


def test_an_acknowledgement_of_earlier_releases_counts_for_a_box_of_the_spec():
    assert of_box({"command": ["train"]}, ["S-111"], kind="box") == {}


def test_the_service_of_an_installed_prometheus_is_named():
    installed = {"name": "kube-prometheus-stack", "version": "88.5.3", "namespace": "observability"}
    problem = found(place(installed=[installed]), build=own_fleet_case)["V-178"]
    assert (problem.level, problem.stage) == (Level.WARNING, Stage.PLAN)
    assert "prometheus-operated in namespace observability" in problem.reason
    assert "V-178" not in found(place(installed=[installed | {"service": "kps-prometheus"}]), build=own_fleet_case)
    assert "V-178" not in found(place(installed=[installed])), "jobs are not scaled"


@pytest.mark.parametrize("chart", ["kube-prometheus-stack", "gpu-operator", "network-operator", "jobset", "kueue", "keda", "lws"])
@pytest.mark.parametrize("build", [own_training_case, own_fleet_case, own_box_case])
def test_a_cluster_that_has_one_of_the_operators_satisfies_every_rule(chart, build):
    where = place(installed=[{"name": chart, "version": "1.0.0", "namespace": "elsewhere"}])
    warned = {"V-179"} if (chart, build) == ("network-operator", own_training_case) else set()
    assert {problem.code for problem in check(plans.compiled(build(where=where)))} == warned


GPU_OPERATOR, NETWORK_OPERATOR = {"name": "gpu-operator", "namespace": "gpu-operator"}, {"name": "network-operator", "namespace": "net"}


@pytest.mark.parametrize(
    ("installed", "kubernetes", "code", "words"),
    [
        ([GPU_OPERATOR | {"version": "v25.3.4"}], "1.35", "V-220", "support has ended; its default driver is 580.82.07"),
        ([GPU_OPERATOR | {"version": "v23.9.0"}], "1.35", "V-220", "which the matrix of drivers lacks; it has 26.7, 26.3, 25.10, 25.3"),
        ([NETWORK_OPERATOR | {"version": "26.1.2"}, GPU_OPERATOR | {"version": "v24.9.2"}], "1.35", "V-221", "GPU operator 25.3 or newer"),
        ([NETWORK_OPERATOR | {"version": "26.1.2"}], "1.36", "V-221", "supports Kubernetes 1.31 to 1.35; the cluster has 1.36"),
    ],
)
def test_operators_outside_the_matrix_are_found(installed, kubernetes, code, words):
    where = place(installed=installed, cluster={"name": "lab", "kubernetes": kubernetes})
    assert words in found(where)[code].reason


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"gpu_driver": "470.256.02"}, "GPU driver 470.256.02 of group h100 is older than branch 580"),
        ({"nic_driver": "23.10-1.1.9.0"}, "NIC driver 23.10-1.1.9.0 of group h100 is in no release of the matrix"),
    ],
)
def test_drivers_outside_the_matrix_are_found(servers, words):
    assert words in found(place(servers=servers))["V-222"].reason


@pytest.mark.parametrize(("firmware", "is_old"), [("28.42.1000", True), ("28.43.1014", False), ("28.44.1036", False)])
def test_nic_firmware_is_compared_with_that_of_the_driver(firmware, is_old):
    nics = [{"kind": "infiniband", "speed": "NDR", "count": 8, "firmware": firmware}]
    known = found(place(servers={"nic_driver": "MLNX_OFED_LINUX-24.10-0.7.0.0:", "nics": nics}))
    assert ("V-222" in known) is is_old
    if is_old:
        assert "older than 28.43.1014 of driver" in known["V-222"].reason


def test_operators_and_drivers_inside_the_matrix_are_silent():
    installed = [GPU_OPERATOR | {"version": "v26.3.3"}, NETWORK_OPERATOR | {"version": "26.4.1"}]
    assert not {"V-220", "V-221", "V-222"} & set(found(place(installed=installed, servers={"gpu_driver": "580.126.20"})))


def test_the_matrix_has_the_pinned_operators_and_their_drivers():
    versions, images = pinned_versions("chart"), pinned_versions("network-image")
    assert operator_release("network-operator", versions["network-operator"].version).driver == images["doca-driver"].version
    assert operator_release("gpu-operator", versions["gpu-operator"].version).driver in {i.tag for i in chart_images("gpu-operator")}
