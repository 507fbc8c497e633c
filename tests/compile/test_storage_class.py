"""The default storage class of new EKS clusters."""

import pytest
from rackwright.stackplan import ref

from tests import plans

INSIDE = {"api_access": {"runner": "inside"}, "ttl": "14d", "storage": "none"}


def classes(plan):
    return [manifest.body for manifest in plan.manifests if manifest.body["kind"] == "StorageClass"]


@pytest.mark.parametrize("case", [plans.training_case, plans.eks_fleet_case])
def test_a_new_eks_cluster_has_an_encrypted_default_class(case):
    (found,) = classes(plans.compiled(case()))
    assert found["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert found["parameters"]["kmsKeyId"] == ref("key.arn")
    assert found["parameters"]["type"] == "gp3"


def test_an_existing_cluster_keeps_its_default_class():
    assert classes(plans.compiled(plans.training_case(blueprint=INSIDE | {"cluster": {"name": "shared"}}))) == []
