"""Training clusters on GKE, from written specs and fits."""

from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.sizing.metrics import ParallelLayout

from tests.plans import GCP, OFFICE, candidate, compiled, fit, queued_tpu_case, spec, tpu_fleet_case, training_case

SERVER = "registry.example/server@sha256:" + "0" * 64


def gke_training_case(machine: str = "a3-megagpu-8g", nodes: int = 4, place: dict | None = None, storage: str | dict = "none", **more):
    """The training cluster on GKE, on machines with TCPX, TCPXO or RoCE. storage: of the blueprint."""
    row = Catalog.default().machine(machine)
    given, plan, _ = training_case()
    workload = given.model_dump(mode="json", exclude_unset=True)["workloads"][0]
    workload = {key: value for key, value in workload.items() if key != "checkpoint"}
    del workload["data"]["uri"]
    shape = {"ttl": "14d", "api_access": OFFICE, "kind": "training-cluster", "storage": storage}
    layout = ParallelLayout(tensor=8, data=nodes, zero_stage=3)
    chosen = candidate(machine, row.accelerator, 8, nodes, fabric=str(row.fabric), parallelism=layout, **more)
    cluster = fit(chosen, 20)
    return spec("llama-70b-gke", workload, place or GCP, blueprint=shape), replace(plan, fits=(cluster,)), cluster


GKE = {
    "gke-tcpx": lambda: compiled(gke_training_case("a3-highgpu-8g")),
    "gke-tcpxo": lambda: compiled(gke_training_case()),
    "gke-lustre": lambda: compiled(gke_training_case(storage="lustre")),
    "gke-roce": lambda: compiled(gke_training_case("a3-ultragpu-8g", capacity="spot")),
    "gke-tpu-fleet": lambda: compiled(tpu_fleet_case({"run": {"image": SERVER}})),
    "gke-tpu-queued": lambda: compiled(queued_tpu_case()),
}
"""Training clusters on GKE by fabric, one with a file system, a fleet on TPU slices, and a slice by queued provisioning."""
