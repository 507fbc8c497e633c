"""Environment of a job: the fabric is pinned, the plan and the paths are variables."""

import pytest
from rackwright.catalog.release.fabric_environment import OWN_SERVERS, fabric_variables
from rackwright.catalog.rows import Fabric

from tests import plans
from tests.jobs import cases


def test_efa_is_pinned_so_that_a_missing_fabric_fails():
    """Without the plugin NCCL uses TCP and only prints it: skypilot 10055, aicr 2683."""
    found = cases.env(plans.training_case())
    assert {name: found[name] for name in ("FI_PROVIDER", "NCCL_NET", "NCCL_SOCKET_IFNAME")} == {
        "FI_PROVIDER": "efa",
        "NCCL_NET": "AWS Libfabric",
        "NCCL_SOCKET_IFNAME": "eth0",
    }


def test_one_machine_has_no_fabric_variables():
    assert not {"FI_PROVIDER", "NCCL_NET"} & cases.env(cases.one_machine_case()).keys()


@pytest.mark.parametrize(
    ("fabric", "only", "network"),
    [
        (Fabric.EFA, "", "AWS Libfabric"),
        (Fabric.ROCE, "", "gIB"),
        (Fabric.TCP, "", "Socket"),
        (Fabric.INFINIBAND, OWN_SERVERS, "IB"),
        (Fabric.ROCE, OWN_SERVERS, "IB"),
    ],
)
def test_each_fabric_pins_the_network_of_nccl(fabric, only, network):
    pins = {row.variable: row.value for row in fabric_variables(fabric, only=only) if row.pins_transport}
    assert pins["NCCL_NET"] == network


def test_settings_that_recipes_forbid_are_absent():
    """EFA's plugin tunes them (recipes of aws-samples/awsome-distributed-training)."""
    names = {row.variable for row in fabric_variables(Fabric.EFA)}
    assert not names & {"RDMAV_FORK_SAFE", "NCCL_BUFFSIZE", "NCCL_MIN_NCHANNELS", "NCCL_ALGO", "NCCL_PROTO"}


def test_the_leader_is_the_first_pod():
    """Host names of JobSet: <jobset>-<replicated job>-<job>-<pod>.<subdomain>."""
    assert cases.env(plans.training_case(), name="run-2")["MASTER_ADDR"] == "run-2-workers-0-0.run-2"


def test_the_layout_is_in_variables():
    found = cases.env(plans.training_case())
    assert (found["PLAN_TENSOR_PARALLEL"], found["PLAN_DATA_PARALLEL"], found["PLAN_ZERO_STAGE"]) == ("8", "4", "3")
    assert (found["NNODES"], found["NPROC_PER_NODE"]) == ("4", "8")


def test_paths_are_folders_of_the_file_system_where_there_is_one():
    found = cases.env(plans.training_case())
    assert (found["PLAN_CHECKPOINT_PATH"], found["PLAN_DATA_PATH"]) == ("/shared/checkpoints/sft", "/shared/data")
    assert cases.env(plans.training_case(), name="run-2")["PLAN_CHECKPOINT_PATH"] == "/shared/checkpoints/run-2"


def test_paths_are_buckets_without_a_file_system():
    found = cases.env(cases.tpu_case())
    assert (found["PLAN_CHECKPOINT_PATH"], found["PLAN_DATA_PATH"]) == ("gs://ckpt-1234", "gs://data-1234")


def test_own_variables_are_added():
    assert cases.env(plans.training_case(), env={"NCCL_DEBUG": "WARN"})["NCCL_DEBUG"] == "WARN"


def test_jobs_on_tpu_pin_the_tpu_runtime_of_jax_and_pytorch():
    """Without these JAX computes on the CPU with a warning, and PyTorch/XLA selects a device by what it finds."""
    found = cases.env(cases.tpu_case(1))
    assert {"JAX_PLATFORMS": "tpu,cpu", "PJRT_DEVICE": "TPU"}.items() <= found.items()
    assert not [name for name in found if name.startswith("MEGASCALE")]


def test_slices_that_train_together_find_one_another():
    entries = {entry["name"]: entry for entry in cases.container(cases.tpu_case(2))["env"]}
    assert entries["MEGASCALE_NUM_SLICES"]["value"] == "2"
    assert entries["MEGASCALE_COORDINATOR_ADDRESS"]["value"] == "pretrain-slice-0-0.pretrain"
    assert entries["MEGASCALE_SLICE_ID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['jobset.sigs.k8s.io/job-index']"
