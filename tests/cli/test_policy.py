"""`rackwright policy`."""

from tests.cli.conftest import STACKS


def test_policies_of_a_stack_on_aws(rackwright):
    documents = rackwright("policy", STACKS / "mistral-7b-qlora.yaml").json
    assert all(document["Version"] == "2012-10-17" for document in documents)
    assert any("ec2:RunInstances" in s["Action"] for document in documents for s in document["Statement"])


def test_preview_policy_is_read_only(rackwright):
    documents = rackwright("policy", STACKS / "mistral-7b-qlora.yaml", "--preview").json
    assert not any("ec2:RunInstances" in s["Action"] for document in documents for s in document["Statement"])


def test_stack_on_another_cloud_is_refused(rackwright):
    result = rackwright("policy", STACKS / "gemma-pretrain.yaml")
    assert result.status == 2
    assert "U-aws" in result.err
    assert "the stack is on gcp" in result.err
