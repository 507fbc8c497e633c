"""A box on every AWS machine: a plan that satisfies all rules, or the reason of the rejection; images and disks by machine family."""

import re
import subprocess
from dataclasses import replace

import pytest
from rackwright.catalog import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.compile.compile import compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.sizing.offers.offer import CPU
from rackwright.spec import examine
from rackwright.stackplan import BlueprintKind, StackPlan
from rackwright.stackplan.images import box_image
from rackwright.validation.stack import check

from tests import plans

MACHINES = {m.name: m for m in Catalog.default().machines if m.cloud == "aws"}
MODES = ("on-demand", "spot", "capacity-block", "reservation")
BLOCK = "cr-0123456789abcdef0"
STARTS = (
    "g6e.2xlarge", "p5.4xlarge", "p5.48xlarge", "g5g.2xlarge", "trn1.2xlarge", "trn2.3xlarge", "inf2.xlarge", "m7i.4xlarge", "m7g.2xlarge",
)  # fmt: skip


def compiled(machine: str, mode: str = "on-demand", **blueprint) -> StackPlan:
    """Raise UserError with the reasons of the rejection."""
    row = MACHINES[machine]
    spec, sizing, fit = plans.box_case()
    spec = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"kind": "box", **blueprint})})
    reserved = BLOCK if mode in ("capacity-block", "reservation") else ""
    sold = sorted(place.region for place in Catalog.default().places_by_sku.get(machine, ()))
    region = "us-east-1" if "us-east-1" in sold or not sold else sold[0]
    chosen = replace(
        fit.candidate, machine=machine, accelerator=row.accelerator or CPU, accelerators_per_node=row.accelerator_count or 1,
        capacity=mode, capacity_id=reserved, region=region, zones=(f"{region}a",),
    )  # fmt: skip
    return compile_plan(spec, sizing, replace(fit, candidate=chosen), today=plans.TODAY)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_in_every_mode_compiles_or_is_rejected(machine, mode):
    try:
        plan = compiled(machine, mode)
    except UserError as refused:
        unsaid = [problem for problem in refused.problems if not (problem.code and problem.reason and problem.fix)]
        said = (machine in STARTS, unsaid)
    else:
        said = (False, _broken(plan, machine, mode))
    assert said == (False, [])


def _broken(plan: StackPlan, machine: str, mode: str) -> list[str]:
    assert (plan.kind, plan.box.machine, plan.box.capacity.mode) == (BlueprintKind.BOX, machine, mode)
    assert plan.box.capacity.reservation_id == (BLOCK if mode in ("capacity-block", "reservation") else "")
    sold = {CapacityMode.RESERVATION, *MACHINES[machine].capacity_modes}
    return [str(problem) for problem in check(plan) if problem.level is Level.ERROR and mode in sold]


@pytest.mark.parametrize("machine", STARTS)
def test_box_image_is_dated_and_matches_the_machine(machine):
    box = compiled(machine).box
    assert box.image == box_image(MACHINES[machine].kind, MACHINES[machine].cpu_arch) != ""
    assert re.search(r"\d{8}$", box.image)
    assert (box.kind, box.cpu_arch) == (MACHINES[machine].kind, MACHINES[machine].cpu_arch)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("g4ad.4xlarge", "AMD's driver"),
        ("p3dn.24xlarge", "proprietary driver"),
        ("g6f.xlarge", "GRID driver"),
        ("inf1.xlarge", "No pinned image supports inf1.xlarge: Neuron images leave Inferentia1 out"),
        ("dl1.24xlarge", "is other"),
        ("dl2q.24xlarge", "is other"),
        ("p6e-gb200.36xlarge", "cannot be ordered"),
        ("u-p6e-gb200x36", "A box has one machine"),
    ],
)
def test_a_machine_without_image_is_rejected_with_the_reason(machine, words):
    with pytest.raises(UserError, match=words):
        compiled(machine)


def test_root_disk_holds_the_neuron_image_and_compiled_programs():
    assert compiled("trn1.2xlarge").box.root.size_gib == 512
    assert compiled("m7i.4xlarge").box.root.size_gib < compiled("g6e.2xlarge").box.root.size_gib


def test_local_nvme_is_set_for_machines_with_local_disks():
    assert {name: compiled(name).box.local_nvme for name in ("trn1.2xlarge", "inf2.xlarge", "m7i.4xlarge", "p5.4xlarge")} == {
        "trn1.2xlarge": True,
        "inf2.xlarge": False,
        "m7i.4xlarge": False,
        "p5.4xlarge": True,
    }


@pytest.mark.parametrize("machine", STARTS)
def test_setup_script_is_valid_bash(machine):
    script = compiled(machine).box.setup_script
    ended = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(script.encode()) <= 16 * 1024
    assert script.startswith("#!/bin/bash\n")
    assert not re.search(r"\$\(cat |`|rm -rf|curl[^|]*\| *(ba)?sh|==", script), "as shellcheck would say"
    assert not re.findall(r'(?<!")\$(?:device|disk)\b(?!")', script), "an unquoted variable"


def test_ssh_is_open_to_the_listed_networks():
    assert compiled("g6e.2xlarge").box.ingress == ()
    named = compiled("g6e.2xlarge", ssh_from=("203.0.113.0/24", "10.0.0.0/8"))
    assert named.box.ingress == ("203.0.113.0/24", "10.0.0.0/8")
    assert not [p for p in check(named) if p.code == "V-80"]


def test_ssh_from_anywhere_is_a_warning():
    plan = compiled("g6e.2xlarge", ssh_from="anywhere")
    (said,) = [p for p in check(plan) if p.code == "V-80"]
    assert (said.level, str(said.at)) == (Level.WARNING, "box.ingress[0]")
    assert "blueprint.ssh_from is anywhere" in said.reason
    assert not [p for p in check(plan, acknowledged=["V-80"]) if p.code == "V-80"]


def test_ssh_from_every_address_as_a_range_is_an_error():
    (said,) = [p for p in check(compiled("g6e.2xlarge", ssh_from=("0.0.0.0/0",))) if p.code == "V-80"]
    assert said.level is Level.ERROR
    assert "203.0.113.0/24" in said.fix
    assert "`anywhere`" in said.fix


@pytest.mark.parametrize("network", ["203.0.113.7/24", "2001:db8::/32", "office"])
def test_ssh_from_an_invalid_network_is_an_error_of_the_spec(network):
    text = f"""
api_version: rackwright/v1
name: box
workloads: [{{name: w, kind: finetune, model: {{base: mistral-7b}}, data: {{samples: 10, tokens_per_sample: 10}}}}]
infra: {{any_of: [{{cloud: aws, account: "123456789012", regions: [us-east-1]}}]}}
blueprint: {{kind: box, ssh_from: ["{network}"]}}
"""
    found = {p.code: str(p.at) for p in examine(text).problems}
    assert found.get("S-60") == "blueprint.ssh_from[0]"


def test_ssh_to_a_cluster_is_rejected():
    spec, sizing, fit = plans.training_case()
    opened = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"ssh_from": ("203.0.113.0/24",)})})
    with pytest.raises(UserError, match="C-ssh"):
        compile_plan(opened, sizing, fit, today=plans.TODAY)


def test_lustre_for_a_box_is_rejected_with_the_alternative():
    with pytest.raises(UserError, match=r"C-storage.*which uses a bucket"):
        compiled("g6e.2xlarge", storage="lustre")


def serving(machine: str, kind: str = "box"):
    spec, sizing, fit = plans.fleet_case()
    spec = plans.spec("chat", spec.workload.model_dump(mode="json", exclude_unset=True), plans.AWS, blueprint={"kind": kind, "ttl": "7d"})
    row = MACHINES[machine]
    chosen = plans.candidate(machine, row.accelerator or CPU, row.accelerator_count or 1, 1)
    return compile_plan(spec, sizing, replace(fit, candidate=chosen), today=plans.TODAY)


def test_a_serving_box_can_read_its_weights():
    plan = serving("g6e.2xlarge")
    assert [(b.key, b.prefix) for b in plan.buckets] == [("weights", "llama-3.1-8b")]
    assert [(g.bucket, g.access) for g in plan.identities[0].grants] == [("weights", "read")]
    assert plan.box.data.size_gib >= 100
    assert not [p for p in check(plan) if p.level is Level.ERROR]


def test_cpu_serving_is_a_box_by_default():
    assert serving("m7i.4xlarge", "auto").kind is BlueprintKind.BOX
