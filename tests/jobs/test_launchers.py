"""Commands of the launchers: the documented arguments, from the plan."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rackwright.compile.jobs import launcher
from rackwright.compile.jobs.launcher import command_of
from rackwright.sizing.metrics import ParallelLayout
from rackwright.spec.workload_parts import Launcher

from tests import plans
from tests.jobs import cases

LAYOUT = ParallelLayout(tensor=4, pipeline=2, data=4, virtual=2, micro_batch=2, gradient_accumulation=8)
TORCHRUN = [
    "torchrun",
    "--nnodes=4",
    "--nproc-per-node=8",
    "--node-rank=$(NODE_RANK)",
    "--master-addr=$(MASTER_ADDR)",
    "--master-port=$(MASTER_PORT)",
    "--max-restarts=0",
]


def command(case=None, **run) -> list[str]:
    return command_of(cases.context(case or plans.training_case(parallelism=LAYOUT), **run))


def test_torchrun_starts_python_itself():
    assert command() == [*TORCHRUN, "train.py", "--lr", "1e-5"]
    assert command(command=["python3", "-m", "axolotl.cli.train"], args=[]) == [*TORCHRUN, "-m", "axolotl.cli.train"]


def test_auto_leaves_other_commands_alone():
    own = ["/opt/train.sh", "--fast"]
    assert command(command=own, args=[]) == own
    assert command(launcher="none") == ["python", "train.py", "--lr", "1e-5"]
    assert command(cases.tpu_case()) == ["python", "train.py", "--lr", "1e-5"]


def test_accelerate_counts_processes_of_all_machines():
    found = command(launcher="accelerate")
    assert found[:2] == ["accelerate", "launch"]
    assert {"--num_machines=4", "--num_processes=32", "--machine_rank=$(NODE_RANK)", "--mixed_precision=bf16"} <= set(found)
    assert found[-3:] == ["train.py", "--lr", "1e-5"]


def test_deepspeed_lists_every_machine_with_its_accelerators():
    found = command(launcher="deepspeed")
    info = next(part.partition("=")[2] for part in found if part.startswith("--world_info="))
    world = json.loads(base64.urlsafe_b64decode(info))
    assert list(world) == [f"sft-workers-0-{rank}.sft" for rank in range(4)]
    assert set(map(tuple, world.values())) == {tuple(range(8))}
    assert "--node_rank=$(NODE_RANK)" in found


def test_nemo_overrides_the_layout_and_the_users_arguments_win():
    found = command(launcher="nemo", command=["python", "/opt/NeMo/megatron_gpt_finetuning.py"], args=["model.micro_batch_size=1"])
    assert found[:8] == [*TORCHRUN, "/opt/NeMo/megatron_gpt_finetuning.py"]
    expected = {"tensor_model_parallel_size=4", "pipeline_model_parallel_size=2", "virtual_pipeline_model_parallel_size=2"}
    assert {f"model.{part}" for part in expected} | {"trainer.num_nodes=4", "trainer.devices=8"} <= set(found)
    assert found[-1] == "model.micro_batch_size=1"


def test_maxtext_splits_a_slice_by_ici_and_slices_by_dcn():
    found = command(cases.tpu_case(2), launcher="maxtext", command=["python3", "-m", "MaxText.train", "base.yml"], args=["run_name=a"])
    assert found[:4] == ["python3", "-m", "MaxText.train", "base.yml"]
    assert {"ici_fsdp_parallelism=16", "dcn_data_parallelism=2", "ici_tensor_parallelism=1"} <= set(found)
    assert found[-1] == "run_name=a"


@pytest.mark.parametrize("name", ["torchrun", "accelerate", "deepspeed", "nemo", "maxtext", "none"])
def test_arguments_arrive_unchanged(name):
    """Quotes, line breaks and markup of the user are data."""
    odd = ["it's", 'a "b"', "x\ny", "{{ nodes }}", "<&>", "- c", "$(HOME)", "1e5", "no"]
    found = command(launcher=name, args=odd)
    assert found[-len(odd) :] == odd


def test_every_launcher_of_a_spec_has_a_template():
    folder = Path(launcher.__file__).parent / "launchers"
    assert {path.name.partition(".")[0] for path in folder.iterdir()} == set(Launcher.__args__) - {"auto", "none"}


def test_one_accelerator_is_no_multi_gpu():
    spec, sizing, fit = cases.one_machine_case("p5.4xlarge")
    one = replace(fit, candidate=replace(fit.candidate, accelerators_per_node=1))
    assert "--multi_gpu" not in command((spec, sizing, one), launcher="accelerate")
