"""The real scheduler places daemons, operators, gangs and fleets on nodes shaped like the planned pools."""

import pytest

from tests import plans
from tests.cluster.api import wait_until
from tests.cluster.scene import OPERATORS, Scene

TRAINING = {"training": plans.training_plan, "tpu": plans.tpu_plan} | {name: plans.NODES[name] for name in ("fallback", "ubuntu", "neuron")}
FLEETS = {"fleet": plans.fleet_plan} | plans.FLEETS


@pytest.fixture
def scene_of(api):
    built: list[Scene] = []

    def build(plan) -> Scene:
        scene = Scene(api, plan)
        built.append(scene)
        scene.build()
        return scene

    yield build
    for scene in built:
        scene.clear()


def shown(scene: Scene, app: str) -> tuple[int, str]:
    """Number of the placed pods, and their pools."""
    placed = scene.placed(app)
    return len(placed), ", ".join(sorted({pool.removeprefix(f"{scene.plan.name}-") for pool in placed}))


def workers(scene: Scene) -> list[str]:
    return [scene.pool_name(pool) for pool in scene.plan.pools if pool.does_the_work]


@pytest.mark.parametrize("name", TRAINING)
def test_a_gang_of_the_planned_size_fits_beside_the_daemons(name, scene_of, report):
    scene = scene_of(TRAINING[name]())
    daemons = wait_until(lambda: len(scene.placed("kube-proxy", "kube-system")) == len(scene.pools))
    assert daemons, "daemons tolerate the taints of every pool"
    count = scene.gang()
    wait_until(lambda: len(scene.placed("worker")) == count)
    assert len(scene.placed("worker")) == count
    assert {*scene.placed("worker")} <= {*workers(scene)}
    report.placed[name] = (len(scene.pools), "a job for all machines", *shown(scene, "worker"))
    assert wait_until(lambda: len(scene.placed(OPERATORS, "kube-system")) == 6)
    assert {*scene.placed(OPERATORS, "kube-system")} == {f"{scene.plan.name}-system"}


@pytest.mark.parametrize("name", FLEETS)
def test_a_fleet_fits_at_its_maximum(name, scene_of, report):
    plan = FLEETS[name]()
    scaler = next(manifest.body["spec"] for manifest in plan.manifests if manifest.key == "serving.scaler")
    scene = scene_of(plan)
    assert wait_until(lambda: len(scene.placed("kube-proxy", "kube-system")) == len(scene.pools))
    count = scene.serve(scaler["maxReplicaCount"])
    app = scaler["scaleTargetRef"]["name"]
    wait_until(lambda: len(scene.placed(app)) == count)
    assert len(scene.placed(app)) == count
    assert {*scene.placed(app)} <= {*workers(scene)}
    report.placed[name] = (len(scene.pools), f"{scaler['maxReplicaCount']} replicas", *shown(scene, app))


def test_device_plugins_run_on_accelerators_only(scene_of):
    scene = scene_of(plans.training_plan())
    for name in ("aws-efa-k8s-device-plugin", "dcgm-exporter"):
        assert wait_until(lambda name=name: len(scene.placed(name, "kube-system")) == 4), name
        assert {*scene.placed(name, "kube-system")} == {*workers(scene)}


def test_a_full_fleet_updates_without_another_machine(scene_of):
    plan = plans.FLEETS["fleet-managed"]()
    scene = scene_of(plan)
    count = scene.serve(8)
    assert wait_until(lambda: len(scene.placed("chat")) == count)
    deployment = next(manifest.body for manifest in plan.manifests if manifest.body["kind"] == "Deployment")
    assert wait_until(lambda: _status(scene, deployment).get("readyReplicas") == count)
    scene.update(deployment, 8)
    assert wait_until(lambda: _is_updated(scene, deployment, count), 60), _status(scene, deployment)


@pytest.mark.parametrize("order", [("spot", "on-demand"), ("on-demand", "spot")], ids="-then-".join)
def test_the_first_pool_of_a_fallback_is_filled_first(order, scene_of):
    """Both orders, because the scheduler has an order of its own for equal nodes."""
    scene = scene_of(plans.compiled(plans.eks_fleet_case(place=plans.AWS | {"capacity": {"fallback": [*order]}})))
    assert scene.serve(6) == 6
    assert wait_until(lambda: len(scene.placed("chat")) == 6)
    assert {*scene.placed("chat")} == {scene.pool_name(scene.plan.fallback_pools[0])}


def _status(scene: Scene, deployment: dict) -> dict:
    return scene.api.request("GET", scene.api.path(deployment)).body.get("status", {})


def _is_updated(scene: Scene, deployment: dict, count: int) -> bool:
    found = scene.api.request("GET", scene.api.path(deployment)).body
    status, observed = found["status"], found["metadata"]["generation"]
    wanted = ("replicas", "updatedReplicas", "readyReplicas")
    return status.get("observedGeneration") == observed and all(status.get(key) == count for key in wanted)
