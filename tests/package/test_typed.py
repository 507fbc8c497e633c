"""A type checker reads the types of the installed packages, and finds a mistake in a user's program."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import pulumi
from pulumi import ResourceOptions
from pulumi_aws import Provider
from rackwright import StackPlan
from rackwright.stackplan import KeyPlan
from rackwright_pulumi import TrainingCluster
from rackwright_pulumi.aws.key import AwsKey

aws = Provider("aws", region="us-east-1")
args = {"account": "123456789012", "region": "us-east-1", "tags": {"owner": "me"}}
key = AwsKey("key", {"key": KeyPlan(), "account": "123456789012", "region": "us-east-1", "tags": {}}, ResourceOptions(provider=aws))


def sft(plan: StackPlan) -> pulumi.Output[str]:
    TrainingCluster("sft", {"plan": plan, "kms_key_arn": key.key_arn}, ResourceOptions(providers=[aws]))
    return key.key_arn
"""


def checked(tmp_path: Path, program: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    ty = Path(sys.executable).parent / "ty"
    if not ty.exists():
        pytest.skip("ty is not installed")
    paths = [part for folder in ("blueprints", "components") for part in ("--extra-search-path", str(ROOT / folder))]
    command = [str(ty), "check", "--output-format", "concise", "--python", sys.prefix, *paths, str(path)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", ["blueprints/rackwright", "components/rackwright_pulumi"])
def test_the_packages_are_marked_as_typed(package):
    """https://typing.python.org/en/latest/spec/distributing.html#packaging-type-information"""
    assert (ROOT / package / "py.typed").exists()


def test_a_users_program_is_clean(tmp_path):
    done = checked(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("right", "wrong"), [("KeyPlan(),", "3,"), ('"kms_key_arn"', '"key_arn"'), ('{"plan": plan, ', "{")], ids=["part", "key", "plan"]
)
def test_a_mistake_in_a_users_program_is_found(tmp_path, right, wrong):
    assert right in PROGRAM
    done = checked(tmp_path, PROGRAM.replace(right, wrong))
    assert done.returncode == 1, done.stdout
