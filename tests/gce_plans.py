"""Boxes on Compute Engine, from written specs and fits."""

from dataclasses import replace

from rackwright.catalog.read import Catalog
from rackwright.sizing.offers.offer import CPU
from rackwright.stackplan import StackPlan

from tests.plans import GCP, box_case, compiled, fit, spec

MAIL = {"notify": ["team@example.com"]}
RESERVED = {"reservation": {"id": "team-h200", "instance": "a3-ultragpu-8g", "count": 1, "zone": "us-central1-b"}}


def gce_box_case(machine: str = "g2-standard-8", mode: str = "on-demand", place: dict | None = None, **blueprint):
    """A box on a machine, in a capacity mode or in a reservation of the place. blueprint: options besides the recipients of alerts."""
    row = Catalog.default().machine(machine)
    given, plan, aws = box_case()
    workload = given.model_dump(mode="json", exclude_unset=True)["workloads"][0]
    workload["data"] = {key: value for key, value in workload["data"].items() if key != "uri"}
    entries = (place or {}).get("capacity", {}).get("ordered", ())
    reserved = next((entry["reservation"]["id"] for entry in entries if "reservation" in entry), "")
    chosen = replace(
        aws.candidate,
        cloud="gcp",
        region="us-central1",
        zones=("us-central1-b",),
        machine=machine,
        accelerator=row.accelerator or CPU,
        accelerators_per_node=row.accelerator_count or 1,
        capacity=mode,
        capacity_id=reserved,
        price_region="us-central1",
    )
    box = replace(fit(chosen, 6), memory=aws.memory)
    shape = {"ttl": "7d", "kind": "box"} | MAIL | blueprint
    return spec("mistral-7b-gce", workload, GCP | (place or {}), blueprint=shape), replace(plan, fits=(box,)), box


def gce_box_plan(machine: str = "g2-standard-8", mode: str = "on-demand", place: dict | None = None, **blueprint) -> StackPlan:
    return compiled(gce_box_case(machine, mode, place, **blueprint))


GCE = {
    "gce-box": gce_box_plan,
    "gce-box-flex": lambda: gce_box_plan(mode="flex-start"),
    "gce-box-rdma": lambda: gce_box_plan("a3-ultragpu-8g", "reservation", {"capacity": {"ordered": [RESERVED]}}),
}
"""A box with one GPU, one that starts when there is capacity, and one with ten interfaces in a reservation."""
