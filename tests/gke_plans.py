"""Training clusters on GKE, from written specs and fits."""

from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.sizing.metrics import ParallelLayout

from tests.plans import GCP, OFFICE, candidate, compiled, fit, fleet_case, queued_tpu_case, spec, tpu_fleet_case, training_case

SERVER = "registry.example/server@sha256:" + "0" * 64


def gke_training_case(machine: str = "a3-megagpu-8g", nodes: int = 4, place: dict | None = None, blueprint: dict | None = None, **more):
    """The training cluster on GKE, on machines with TCPX, TCPXO or RoCE."""
    row = Catalog.default().machine(machine)
    given, plan, _ = training_case()
    workload = given.model_dump(mode="json", exclude_unset=True)["workloads"][0]
    workload = {key: value for key, value in workload.items() if key != "checkpoint"}
    del workload["data"]["uri"]
    shape = {"ttl": "14d", "api_access": OFFICE, "kind": "training-cluster", "storage": "none"} | (blueprint or {})
    layout = ParallelLayout(tensor=8, data=nodes, zero_stage=3)
    chosen = candidate(machine, row.accelerator, 8, nodes, fabric=str(row.fabric), parallelism=layout, **more)
    cluster = fit(chosen, 20)
    return spec("llama-70b-gke", workload, place or GCP, blueprint=shape), replace(plan, fits=(cluster,)), cluster


NODES_SUBNET = "projects/net-project/regions/us-central1/subnetworks/nodes"
OWN_SUBNET = "projects/my-project/regions/us-central1/subnetworks/nodes"
SHARED_VPC = {
    "vpc": "projects/net-project/global/networks/shared",
    "subnets": [{"id": NODES_SUBNET, "cidr": "172.16.0.0/18", "pods": {"name": "pods", "cidr": "10.4.0.0/14"}, "services": "services"}],
}
EXISTING = {
    "network": {"existing": SHARED_VPC},
    "role": "builder@my-project.iam.gserviceaccount.com",
    "roles": {"nodes": "gke-nodes@my-project.iam.gserviceaccount.com", "workload": "trainer@my-project.iam.gserviceaccount.com"},
}
KEY = "projects/keys-project/locations/us-central1/keyRings/ml/cryptoKeys/training"
"""A Shared VPC, service accounts and a key that exist."""
EXTRA_POOLS = [
    {"name": "debug", "instance": "g2-standard-12", "nodes": 2},
    {"name": "prepare", "instance": "n2-standard-8", "nodes": 3, "capacity": "spot"},
]


def existing_case(machine: str = "a2-highgpu-8g", **more):
    """A training cluster in a Shared VPC, with service accounts that exist."""
    return gke_training_case(machine, place=GCP | EXISTING | more)


def guest_case(machine: str = "a2-highgpu-8g", **more):
    """A training cluster in a GKE cluster that exists."""
    net = {"vpc": "projects/my-project/global/networks/ml", "subnets": [OWN_SUBNET]}
    shape = {"cluster": {"name": "shared-gke"}, "api_access": {"runner": "inside"}}
    return gke_training_case(machine, place=GCP | {"network": {"existing": net}} | more, blueprint=shape)


def wide_fleet_case(machine: str = "a3-ultragpu-8g", blueprint: dict | None = None, **more):
    """A fleet of two replicas at least, each over two machines."""
    row = Catalog.default().machine(machine)
    count = row.accelerator_count
    layout = ParallelLayout(tensor=count, pipeline=2)
    shape = {"replicas": 2, "max_replicas": 4, "parallelism": layout, "fabric": str(row.fabric), "capacity": "spot"} | more
    given, sized, fleet = fleet_case({"min_replicas": 2, "max_replicas": 4})
    chosen = replace(fleet, candidate=replace(fleet.candidate, machine=machine, accelerators_per_node=count, nodes=4, **shape))
    return given, replace(sized, fits=(chosen,)), chosen


def fallback_case(*modes: object, machine: str = "a3-megagpu-8g"):
    """A training cluster whose pools are alternatives, sized for the first."""
    place = GCP | {"capacity": {"fallback": list(modes or ("spot", "on-demand"))}}
    return gke_training_case(machine, place=place, capacity="spot" if not modes else str(modes[0]))


def extra_pools_case():
    """A training cluster with a pool of other GPUs and one without."""
    return gke_training_case(blueprint={"pools": EXTRA_POOLS})


def queued_case(machine: str = "a3-megagpu-8g"):
    """A training cluster on flex-start machines, which Kueue requests together."""
    return gke_training_case(machine, place=GCP | {"capacity": {"ordered": ["flex-start"]}}, capacity="flex-start")


def gke_plan_with_alerts():
    """A training cluster with a budget and recipients."""
    given, plan, chosen = gke_training_case(place=GCP | {"billing_account": "012345-6789AB-CDEF01"})
    blueprint = given.blueprint.model_copy(update={"notify": ("ml@example.com",)})
    goals = given.goals.model_copy(update={"max_cost": 9000.0})
    return compiled((given.model_copy(update={"blueprint": blueprint, "goals": goals}), plan, chosen))


GKE = {
    "gke-tcpx": lambda: compiled(gke_training_case("a3-highgpu-8g")),
    "gke-tcpxo": lambda: compiled(gke_training_case()),
    "gke-lustre": lambda: compiled(gke_training_case(blueprint={"storage": "lustre"})),
    "gke-alerts": gke_plan_with_alerts,
    "gke-roce": lambda: compiled(gke_training_case("a3-ultragpu-8g", capacity="spot")),
    "gke-tpu-fleet": lambda: compiled(tpu_fleet_case({"run": {"image": SERVER}})),
    "gke-tpu-queued": lambda: compiled(queued_tpu_case()),
}
"""Training clusters on GKE by fabric, one with a file system, a fleet on TPU slices, and a slice by queued provisioning."""
GKE_OPTIONS = {
    "gke-existing": lambda: compiled(existing_case()),
    "gke-extra": lambda: compiled(extra_pools_case()),
    "gke-fallback": lambda: compiled(fallback_case()),
    "gke-wide": lambda: compiled(wide_fleet_case()),
    "gke-queued": lambda: compiled(queued_case()),
}
"""Clusters on GKE with options of the spec."""
