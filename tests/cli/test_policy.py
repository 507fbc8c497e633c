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
    result = rackwright("policy", STACKS / "llama-70b-onprem.yaml")
    assert result.status == 2
    assert "U-aws" in result.err
    assert "The stack is on kubernetes" in result.err


def test_roles_of_a_stack_on_google_cloud(rackwright):
    result = rackwright("policy", STACKS / "llama-70b-gke.yaml")
    permissions = {name for role in result.json["roles"] for name in role["includedPermissions"]}
    assert {"container.clusters.create", "storage.buckets.delete", "cloudkms.cryptoKeys.setIamPolicy"} <= permissions
    assert "may use every service account" in result.err
    preview = rackwright("policy", STACKS / "llama-70b-gke.yaml", "--preview").json
    assert not [
        name for role in preview["roles"] for name in role["includedPermissions"] if not name.endswith((".get", ".list", "IamPolicy"))
    ]
