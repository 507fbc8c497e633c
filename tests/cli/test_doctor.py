"""`rackwright doctor` on a file of the simulated cloud."""

import json

import pytest
from rackwright_pulumi.simulator import SimulatedCloud

from tests.cli.conftest import STACKS

SPEC = STACKS / "mistral-7b-qlora.yaml"
ALIAS = "aws:kms/alias:Alias"
STACK = "urn:pulumi:prod::team::pulumi:pulumi:Stack::team-prod"


@pytest.fixture
def state(tmp_path):
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"version": 3, "deployment": {"resources": [{"urn": STACK, "type": "pulumi:pulumi:Stack"}]}}))
    return path


@pytest.fixture
def cloud(rackwright, tmp_path) -> SimulatedCloud:
    """A cloud with the alias of the stack, and a network that the stack does not declare."""
    resources = rackwright("graph", SPEC, "--json").json["resources"]
    name = next(node["inputs"]["name"] for node in resources if node["type"] == ALIAS)
    cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
    cloud.exists(ALIAS, name, name=name)
    cloud.exists("aws:ec2/vpc:Vpc", "vpc-1", tags={"rackwright-stack": "mistral-7b-qlora", "Name": "old"})
    return cloud


def test_lost_and_undeclared_resources_are_listed(rackwright, state, cloud, tmp_path):
    imports = tmp_path / "imports.json"
    result = rackwright("doctor", SPEC, state, "--simulated", cloud.path, "--imports", imports)
    assert result.status == 0, result.err
    assert "not in the state (found by name): aws:kms/alias:Alias alias/mistral-7b-qlora-key\n" in result.out
    assert "not in the state and not in the program: aws:ec2/vpc:Vpc vpc-1" in result.out
    assert result.out.endswith("1 to import, 1 undeclared\n")
    row = json.loads(imports.read_text())["resources"][0]
    assert (row["type"], row["id"]) == (ALIAS, "alias/mistral-7b-qlora-key")


def test_json_has_the_command(rackwright, state, cloud):
    found = rackwright("doctor", SPEC, state, "--simulated", cloud.path, "--json").json
    assert found["lost"][0]["command"].startswith("pulumi import aws:kms/alias:Alias mistral-7b-qlora-key-")
    assert "urn:pulumi:prod::team::" in found["lost"][0]["command"]
    assert found["undeclared"] == [{"type": "aws:ec2/vpc:Vpc", "id": "vpc-1"}]


def test_a_missing_file_of_the_cloud_is_refused(rackwright, state, tmp_path):
    result = rackwright("doctor", SPEC, state, "--simulated", tmp_path / "none.sqlite")
    assert (result.status, "G-file" in result.err) == (2, True)
    assert not (tmp_path / "none.sqlite").exists()
