"""Layers of the configuration in the program: which are built, on which upstream stack, and which secrets are required."""

import runpy

import pulumi
import pytest
from rackwright_pulumi.testing import record

from tests.program.test_program import ROOT, run


@pytest.fixture
def project(tmp_path):
    (tmp_path / "stacks").mkdir()
    (tmp_path / "__main__.py").write_text((ROOT / "__main__.py").read_text())
    (tmp_path / "stacks" / "box.yaml").write_text((ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text())
    return tmp_path


def above(project, outputs, **config):
    values = {"rackwright:today": "2026-11-21", "rackwright:simulated": "true"} | {f"rackwright:{key}": v for key, v in config.items()}
    program = str(project / "__main__.py")
    return record(lambda: runpy.run_path(program) and None, stack="box", config=values, stack_outputs=outputs)


def test_layers_and_the_stack_below_are_configuration(project):
    base = run(project, simulated="true", layers="base")
    assert not base.by_type("aws:ec2/instance:Instance")
    assert base.outputs["parts"]["layers"] == ["base"]
    top = above(project, {"organization/ml/base": base.outputs}, layers='["workloads"]', below="organization/ml/base")
    assert top.one("aws:ec2/instance:Instance").inputs["subnetId"] == base.outputs["parts"]["network"]["subnets"]["private"]
    assert not top.by_type("aws:ec2/vpc:Vpc")


def test_the_bills_of_the_layers_add_up(project):
    whole, base = run(project, simulated="true"), run(project, simulated="true", layers="base")
    top = above(project, {"organization/ml/base": base.outputs}, layers="workloads", below="organization/ml/base")
    parts = [graph.outputs["cost"]["hourlyUsd"] for graph in (base, top)]
    assert all(parts)
    assert sum(parts) == pytest.approx(whole.outputs["cost"]["hourlyUsd"])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"layers": "bases"}, r"rackwright:layers has unknown layers: bases. Use base, cluster, operators, workloads"),
        ({"layers": "workloads"}, r"R-20(.|\n)*workloads requires base(.|\n)*rackwright:below to the stack with base"),
        ({"below": "organization/ml/base"}, r"R-20(.|\n)*base requires no other layer"),
    ],
)
def test_invalid_layers_are_refused_before_sizing(project, config, words):
    with pytest.raises(pulumi.RunError, match=words):
        run(project, simulated="true", **config)


def test_layers_without_workloads_previews_and_teardowns_need_no_secret(project):
    spec = project / "stacks" / "box.yaml"
    text = spec.read_text().replace("    team:", "    run: {secrets: {HF_TOKEN: {secret: hf-token}}}\n    team:", 1)
    spec.write_text(text + "secrets: {hf-token: {config: hfToken}}\n")
    assert run(project, simulated="true", layers="base").outputs["parts"]
    for options in ({"preview": True}, {"teardown": "true"}):
        assert run(project, simulated="true", **options).nodes
    with pytest.raises(pulumi.RunError, match="rackwright:hfToken"):
        run(project, simulated="true")
