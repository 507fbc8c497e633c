"""Jobs for whole machines fit the quota of their queue and leave little of it unused: examples, AWS, TPUs and own servers."""

from datetime import date
from pathlib import Path

import pytest
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.job_set import job_set
from rackwright.workflow.pipeline import Pipeline

from tests import own_plans, plans
from tests.jobs import cases

STACKS = Path(__file__).parents[2] / "stacks"
TODAY = date(2026, 11, 21)
UNITS = {"Ki": 2**-20, "Mi": 2**-10, "Gi": 1, "Ti": 2**10}
MIN_USE = 0.8


def example(name: str) -> JobContext:
    """The job of an example, with a container where it has none."""
    pipeline = Pipeline(STACKS / f"{name}.yaml", TODAY)
    decided = pipeline.choose()
    spec, _, _ = cases.with_run((decided.spec, None, None))
    return JobContext(spec, decided.decision.plan, decided.decision.fit, pipeline.catalog, decided.plan, "run", cases.BUCKETS)


CASES = {
    "llama-70b-sft": lambda: example("llama-70b-sft"),
    "gemma-pretrain": lambda: example("gemma-pretrain"),
    "gemma-multislice": lambda: example("gemma-multislice"),
    "llama-70b-onprem": lambda: example("llama-70b-onprem"),
    "llama-70b-gke": lambda: example("llama-70b-gke"),
    "efa": lambda: cases.context(plans.training_case()),
    "efa-dra": lambda: cases.context(cases.dra_case()),
    "neuron": lambda: cases.context(plans.training_case(machine="trn1n.32xlarge")),
    "efa-little-memory": lambda: cases.context(plans.training_case(machine="g5.8xlarge")),
    "one-machine": lambda: cases.context(cases.one_machine_case()),
    "small-machine": lambda: cases.context(cases.one_machine_case("g6e.xlarge")),
    "fallback": lambda: cases.context(plans.fallback_case()),
    "tpu": lambda: cases.context(cases.tpu_case()),
    "own-host-device": lambda: cases.context(own_plans.own_training_case()),
    "own-sriov": lambda: cases.context(own_plans.own_training_case(own_plans.place(own_plans.SRIOV))),
    "own-shared": lambda: cases.context(own_plans.own_training_case(own_plans.place({"mode": "shared"}))),
}


def amount(quantity: str | int) -> float:
    """Number of a quantity, of memory in GiB."""
    text = str(quantity)
    return float(text[:-2]) * UNITS[text[-2:]] if text[-2:] in UNITS else float(text)


def test_every_example_that_trains_is_covered():
    trains = {path.stem for path in STACKS.glob("[a-z]*.yaml") if "kind: serve" not in path.read_text()}
    assert trains - CASES.keys() == {"mistral-7b-qlora", "mistral-7b-gce"}, "a box has no queue"


@pytest.mark.parametrize("name", CASES)
def test_a_job_uses_the_quota_of_its_machines(name):
    job = CASES[name]()
    (replicated,) = job_set(job)["spec"]["replicatedJobs"]
    requests = replicated["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    pods = replicated["replicas"] * replicated["template"]["spec"]["parallelism"]
    (group,) = job.object("queue.cluster-queue")["spec"]["resourceGroups"]
    quota = {row["name"]: amount(row["nominalQuota"]) for row in group["flavors"][0]["resources"]}
    machines = quota[job.pool.resource] / job.pool.accelerator_count
    for resource, quantity in requests.items():
        share = amount(quantity) * pods / (quota[resource] / machines * job.nodes)
        assert share <= 1, resource
        assert share > MIN_USE or "/rail_" in resource, "ports may be shared"
