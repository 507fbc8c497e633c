"""InferenceFleet, TpuPod and TrainingCluster on GKE as whole programs with a plan."""

from dataclasses import replace
from functools import cache

import pulumi
import pytest
from pulumi_gcp import Provider
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check
from rackwright_pulumi.blueprints.inference_fleet import InferenceFleet
from rackwright_pulumi.blueprints.tpu_pod import TpuPod
from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
from rackwright_pulumi.testing import Graph, record
from rackwright_pulumi.unsupported import Unsupported

from tests import gke_plans, plans
from tests.components.waits import all_before, longest_path
from tests.graphs import recorded

BLUEPRINTS = {"fleet": (InferenceFleet, plans.fleet_plan), "tpu": (TpuPod, plans.tpu_plan)} | {
    name: (TrainingCluster, gke_plans.GKE[name]) for name in ("gke-tcpxo", "gke-roce", "gke-lustre")
}
TOPS = {f"rackwright:index:{kind.__name__}" for kind, _ in BLUEPRINTS.values()}
NODE_POOL, RELEASE = "gcp:container/nodePool:NodePool", "kubernetes:helm.sh/v3:Release"
NAMED_BY_THE_ENGINE = {
    "gcp:compute/network:Network",
    "gcp:compute/subnetwork:Subnetwork",
    "gcp:compute/firewall:Firewall",
    "gcp:compute/router:Router",
    "gcp:compute/routerNat:RouterNat",
    "gcp:kms/keyRing:KeyRing",
    "gcp:kms/cryptoKey:CryptoKey",
    "gcp:storage/bucket:Bucket",
}
PATH_LIMIT = 15
"""Steps of the longest way through the dependencies: API, key, grant, cluster, system pool, provider, namespace, two releases, and then
namespace, policy, server, gateway and route, or three queue objects; a chain would grow with what the plan wants."""


def graph_of(blueprint: str, plan: StackPlan | str | None = None, preview: bool = False, **args) -> Graph:
    kind, default = BLUEPRINTS[blueprint]

    def program():
        provider = Provider("gcp", project="my-project", region="us-central1")
        kind(default().name, {"plan": plan or default(), **args}, pulumi.ResourceOptions(provider=provider))

    return record(program, preview=preview)


@cache
def standard(blueprint: str) -> Graph:
    return graph_of(blueprint)


@pytest.fixture(params=BLUEPRINTS)
def graph(request) -> Graph:
    return standard(request.param)


def test_apis_for_the_project_number_and_for_grants_are_enabled_first(graph):
    """Both need the Cloud Resource Manager API, which a new project has not enabled."""
    on = {node.inputs["service"] for node in graph.by_type("gcp:projects/service:Service")}
    assert "cloudresourcemanager.googleapis.com" in on
    apis = {node.urn for node in graph.by_type("gcp:projects/service:Service")}
    for node in graph.by_type("gcp:projects/iAMMember:IAMMember"):
        assert apis <= set(node.property_dependencies["project"])


def test_every_component_registers_outputs(graph):
    assert not graph.unregistered()


def test_every_resource_is_below_the_blueprint(graph):
    assert [node.name for node in graph.nodes.values() if not node.parent and node.name != "gcp"] == [
        node.name for node in graph.nodes.values() if node.type in TOPS
    ]


def test_every_cloud_resource_uses_the_provider_of_the_component(graph):
    cloud = [node for node in graph.nodes.values() if node.type.startswith("gcp:")]
    assert all("pulumi:providers:gcp::gcp::" in node.provider for node in cloud)


def test_dependencies_are_direct(graph):
    assert longest_path(graph) <= PATH_LIMIT
    # a pool reads the names of the VPC, subnet and firewall rule of each accelerator network
    networks = sum(node.type.endswith(":Firewall") for node in graph.nodes.values()) - 1
    assert max(len(node.depends_on) for node in graph.nodes.values()) < 20 + 3 * networks


def test_every_resource_with_labels_has_the_owner(graph):
    labels = [node.inputs.get("labels", node.inputs.get("resourceLabels")) for node in graph.nodes.values() if node.type.startswith("gcp:")]
    labels += [node.inputs["nodeConfig"]["resourceLabels"] for node in graph.by_type(NODE_POOL)]
    assert len([owned for owned in labels if owned]) >= 5
    assert all(owned["owner"] == "test" for owned in labels if owned)


def test_kubernetes_objects_depend_on_the_system_nodes(graph):
    (system,) = [node for node in graph.by_type(NODE_POOL) if node.inputs["name"] == "system"]
    (provider,) = graph.by_type("pulumi:providers:kubernetes")
    inside = [node for node in graph.nodes.values() if node.type.startswith("kubernetes:")]
    assert inside
    assert all(provider.urn in node.provider and system.urn in all_before(graph, node.urn) for node in inside)


def test_releases_are_pinned(graph):
    for release in graph.by_type(RELEASE):
        assert release.inputs["version"]
        assert release.inputs["atomic"] is True


def test_grants_depend_on_the_cluster_that_creates_the_workload_pool(graph):
    cluster = graph.one("gcp:container/cluster:Cluster")
    grants = graph.by_type("gcp:storage/bucketIAMMember:BucketIAMMember")
    assert grants
    assert all(cluster.urn in grant.property_dependencies["member"] for grant in grants)


def test_a_teardown_removes_every_protection(graph):
    assert any(node.protect for node in graph.nodes.values())
    for blueprint in BLUEPRINTS:
        lifted = graph_of(blueprint, teardown=True)
        assert not [node.label for node in lifted.nodes.values() if node.protect]
        assert "PREVENT" not in {node.inputs.get("deletionPolicy") for node in lifted.nodes.values()}


def test_exactly_the_resources_with_state_are_protected(graph):
    kinds = {node.type.rpartition(":")[2] for node in graph.nodes.values() if node.protect}
    has_file_system = any(node.type == "gcp:lustre/instance:Instance" for node in graph.nodes.values())
    volumes = {"Instance", "PersistentVolume", "PersistentVolumeClaim"} if has_file_system else set()
    assert kinds == {"Network", "KeyRing", "CryptoKey", "Bucket", "Cluster", "Namespace"} | volumes


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_a_first_preview_shows_every_resource(blueprint):
    assert graph_of(blueprint, preview=True).nodes.keys() == standard(blueprint).nodes.keys()


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_the_plan_as_json_builds_the_same_resources(blueprint):
    assert graph_of(blueprint, BLUEPRINTS[blueprint][1]().to_json()).as_json() == standard(blueprint).as_json()


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_the_number_of_nodes_never_changes_the_number_of_resources(blueprint):
    plan = BLUEPRINTS[blueprint][1]()
    grown = replace(plan, pools=tuple(replace(pool, nodes_max=pool.nodes_max * 64) for pool in plan.pools))
    assert graph_of(blueprint, grown).nodes.keys() == standard(blueprint).nodes.keys()


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_a_stack_exports_what_the_component_registers(blueprint):
    kind, plan = BLUEPRINTS[blueprint]

    def program():
        provider = Provider("gcp", project="my-project", region="us-central1")
        built = kind(plan().name, {"plan": plan()}, pulumi.ResourceOptions(providers=[provider]))
        for key, value in built.stack_outputs().items():
            pulumi.export(key, value)

    graph = record(program)
    assert graph.outputs == standard(blueprint).one(f"rackwright:index:{kind.__name__}").outputs
    assert len([node for node in graph.nodes.values() if node.type == "pulumi:providers:gcp"]) == 1


def test_a_fleet_outputs_its_service_endpoint():
    outputs = standard("fleet").one("rackwright:index:InferenceFleet").outputs
    assert set(outputs) >= {"clusterName", "kubeconfig", "kubeconfigCommand", "bucketNames", "serviceEndpoint", "expectedFabric"}
    assert outputs["clusterName"] == "chat-serve"
    assert set(outputs["bucketNames"]) == {"weights"}


def test_a_fleet_outputs_the_url_of_its_weights():
    """A new bucket is empty; the servers wait for the weights in this folder."""
    outputs = standard("fleet").one("rackwright:index:InferenceFleet").outputs
    assert outputs["weightsUrl"] == f"gs://{outputs['bucketNames']['weights']}/llama-3.1-8b"
    (server,) = standard("fleet").by_type("kubernetes:apps/v1:Deployment")
    weights, *_ = server.inputs["spec"]["template"]["spec"]["volumes"]
    assert weights["csi"]["volumeAttributes"]["mountOptions"].endswith("only-dir=llama-3.1-8b")


def test_the_kubeconfig_is_secret_in_every_output(graph):
    (top,) = [node for node in graph.nodes.values() if node.type in TOPS]
    assert repr(top.outputs["kubeconfig"]) == "[secret]"
    (provider,) = graph.by_type("pulumi:providers:kubernetes")
    assert "kubeconfig" in provider.secret_inputs
    assert provider.inputs["clusterIdentifier"].startswith("projects/my-project/locations/us-central1/clusters/")


def test_a_pod_has_one_pool_per_slice_and_outputs_them():
    graph = graph_of("tpu", plans.compiled(plans.tpu_case(slices=3)))
    slices = [node.inputs for node in graph.by_type(NODE_POOL) if node.inputs["name"] != "system"]
    assert [(pool["name"], pool["nodeCount"], pool["placementPolicy"]["tpuTopology"]) for pool in slices] == [
        (f"slice-{index}", 4, "4x4") for index in range(3)
    ]
    named = graph.one("rackwright:index:TpuPod").outputs["slices"]
    assert [(s["pool"], s["hosts"], s["topology"], s["chipsPerHost"]) for s in named] == [(f"slice-{i}", 4, "4x4", 4) for i in range(3)]


def test_kueue_depends_on_the_other_operators_and_its_objects_on_kueue_only():
    graph = standard("tpu")
    by_name = {node.inputs["name"]: node for node in graph.by_type(RELEASE)}
    others = {node.urn for name, node in by_name.items() if name != "kueue"}
    assert others <= all_before(graph, by_name["kueue"].urn)
    flavors = graph.by_type("kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor")
    assert flavors
    for flavor in flavors:
        assert {urn for urn in flavor.depends_on if graph.nodes[urn].type == RELEASE} == {by_name["kueue"].urn}


def test_a_project_number_argument_is_not_looked_up():
    graph = graph_of("tpu", project_number="999")
    assert "gcp:organizations/getProject:getProject" not in {token for token, _ in graph.invokes}
    agent = graph.one("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", "gemma-pretrain-storage-key-disks")
    assert agent.inputs["member"] == "serviceAccount:service-999@compute-system.iam.gserviceaccount.com"


def test_another_cloud_is_unsupported():
    with pytest.raises(Unsupported, match=r"place.cloud: tpu-pod on kubernetes .* instead: gcp"):
        graph_of("tpu", replace(plans.tpu_plan(), place=replace(plans.tpu_plan().place, cloud="kubernetes")))


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_v10_the_longest_permitted_name_fits_every_google_limit(blueprint):
    plan = BLUEPRINTS[blueprint][1]()
    longest = next(n for n in range(40, 0, -1) if "V-10" not in {p.code for p in check(replace(plan, name="n" * n))})
    graph = recorded(replace(plan, name="n" * longest))
    made = {node.type: node.state["name"] for node in graph.nodes.values() if node.type in NAMED_BY_THE_ENGINE}
    assert len(made) == len(NAMED_BY_THE_ENGINE)
    assert max(map(len, made.values())) == 63


def test_logical_names_are_unchanged():
    assert sorted(node.name for node in standard("tpu").nodes.values() if node.type.startswith("gcp:")) == [
        "gemma-pretrain-cluster-gke",
        "gemma-pretrain-identity-nodes",
        "gemma-pretrain-identity-nodes-node",
        "gemma-pretrain-identity-nodes-registry",
        *(
            f"gemma-pretrain-network-api-{api}"
            for api in ["cluster", "compute", "identity", "keys", "logs", "metrics", "object-store", "projects", "registry"]
        ),
        "gemma-pretrain-network-internal",
        "gemma-pretrain-network-nat",
        "gemma-pretrain-network-router",
        "gemma-pretrain-network-subnet-nodes",
        "gemma-pretrain-network-vpc",
        "gemma-pretrain-slice-0-pool",
        "gemma-pretrain-storage-checkpoints",
        "gemma-pretrain-storage-data",
        "gemma-pretrain-storage-key",
        "gemma-pretrain-storage-key-buckets",
        "gemma-pretrain-storage-key-cluster",
        "gemma-pretrain-storage-key-disks",
        "gemma-pretrain-storage-ring",
        "gemma-pretrain-system-pool",
        "gemma-pretrain-workload-identity-trainer-checkpoints-write",
        "gemma-pretrain-workload-identity-trainer-data-read",
    ]
