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
    report.placed[name] = (len(scene.pools), "a job for all machines", count)
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
    report.placed[name] = (len(scene.pools), f"{scaler['maxReplicaCount']} replicas", count)


def test_device_plugins_run_on_accelerators_only(scene_of):
    scene = scene_of(plans.training_plan())
    for name in ("aws-efa-k8s-device-plugin", "dcgm-exporter"):
        assert wait_until(lambda name=name: len(scene.placed(name, "kube-system")) == 4), name
        assert {*scene.placed(name, "kube-system")} == {*workers(scene)}


def test_a_full_fleet_updates_without_another_machine(scene_of):
    """The surplus server of an update has no machine until an old one stops."""
    spec, sizing, fit = plans.managed_fleet_case(workload={"max_replicas": 3})
    plan = plans.compiled((spec, sizing, plans.with_replicas(fit, 1, 3)))
    scene = scene_of(plan)
    count = scene.serve(3)
    assert wait_until(lambda: len(scene.placed("chat")) == count)
    deployment = next(manifest.body for manifest in plan.manifests if manifest.body["kind"] == "Deployment")
    assert wait_until(lambda: scene.ready(deployment) == count), "kwok answers for the pods"
    scene.update(deployment, count)
    assert wait_until(lambda: _updated(scene), 60), "the new server waits for a machine"


@pytest.mark.parametrize("order", [("spot", "on-demand"), ("on-demand", "spot")], ids="-then-".join)
def test_the_first_pool_of_a_fallback_is_filled_first(order, scene_of):
    """Both orders, because the scheduler has an order of its own for equal nodes."""
    scene = scene_of(plans.compiled(plans.eks_fleet_case(place=plans.AWS | {"capacity": {"fallback": [*order]}})))
    assert scene.serve(6) == 6
    assert wait_until(lambda: len(scene.placed("chat")) == 6)
    assert {*scene.placed("chat")} == {scene.pool_name(scene.plan.fallback_pools[0])}


def _updated(scene: Scene) -> list[dict]:
    """Placed pods of the changed Deployment."""
    pods = scene.api.items("v1", "Pod", scene.team, "app=chat")
    return [pod for pod in pods if pod["spec"].get("nodeName") and "changed" in pod["metadata"]["annotations"]]
