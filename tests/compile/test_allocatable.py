"""What a node has left for jobs, against published node sizes."""

import pytest
from rackwright.catalog import Catalog
from rackwright.compile.nodes.allocatable import cpus_for_jobs, memory_gib_for_jobs

from tests import plans

MACHINE = Catalog.default().machine


@pytest.mark.parametrize(("machine", "reserved_cpus"), [("g6e.xlarge", 0.08), ("g6e.2xlarge", 0.09), ("p5.48xlarge", 0.55)])
def test_cpus_are_without_the_reserves_of_the_kubelet_and_the_daemons(machine, reserved_cpus):
    """EKS reserves 80 millis of 4 CPUs and 90 of 8; half a CPU is for daemons."""
    row = MACHINE(machine)
    assert cpus_for_jobs(row) == int(row.vcpus - reserved_cpus - 0.5)


def test_memory_is_without_firmware_reserves_huge_pages_and_daemons():
    """2,048 GiB less 7.5 %, 10.0 GiB of huge pages, 255 + 100 MiB, 11 MiB for each pod and 600 MiB of daemons."""
    plan = plans.training_plan()
    pool = plan.pool("gpu")
    expected = 2048 * 0.925 - 5128 * 2 / 1024 - (355 + 11 * pool.max_pods) / 1024 - 600 / 1024
    assert memory_gib_for_jobs(MACHINE("p5.48xlarge"), pool, "aws") == int(expected)


def test_gke_reserves_a_share_of_memory_that_falls_with_its_size():
    """cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes: 1 + 0.8 + 0.8 + 6.72 GiB of the first 128, and 2 % of the rest."""
    pool = next(pool for pool in plans.tpu_plan().pools if pool.role == "accelerator")
    row = MACHINE(pool.machine)
    reported = row.memory_bytes / 2**30 * 0.925
    assert memory_gib_for_jobs(row, pool, "gcp") == int(reported - 9.32 - 0.02 * (reported - 128) - 700 / 1024)


def test_a_job_for_every_machine_has_a_quota_of_whole_machines():
    queue = next(m.body for m in plans.training_plan().manifests if m.key == "queue.cluster-queue")
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    amounts = {row["name"]: row["nominalQuota"] for row in flavor["resources"]}
    nodes = plans.training_plan().pool("gpu").nodes_max
    assert amounts["cpu"] % nodes == 0
    assert int(amounts["memory"].removesuffix("Gi")) % nodes == 0
