"""IDs of tagged resources, from their ARNs."""

import pytest
from rackwright_pulumi.doctor.inventory import _of_arn

PREFIX = "arn:aws:{}:us-east-1:123456789012:"


@pytest.mark.parametrize(
    ("service", "resource", "kind", "id_", "import_id"),
    [
        ("ec2", "vpc/vpc-1", "Vpc", "vpc-1", ""),
        ("ec2", "vpc-endpoint/vpce-1", "VpcEndpoint", "vpce-1", ""),
        ("eks", "cluster/team", "Cluster", "team", ""),
        ("eks", "nodegroup/team/gpu/1234", "NodeGroup", "team:gpu", ""),
        ("eks", "addon/team/coredns/1234", "Addon", "team:coredns", ""),
        ("eks", "podidentityassociation/team/a-1", "PodIdentityAssociation", "a-1", "team,a-1"),
        ("eks", "access-entry/team/role/123456789012/node/1234", "AccessEntry", "team:arn:aws:iam::123456789012:role/node", ""),
        ("iam", "role/path/node", "Role", "node", ""),
        ("logs", "log-group:/aws/eks/team/cluster:*", "LogGroup", "/aws/eks/team/cluster", ""),
        ("fsx", "association/fs-1/dra-1", "DataRepositoryAssociation", "dra-1", ""),
        ("sns", "alerts", "Topic", "arn:aws:sns:us-east-1:123456789012:alerts", ""),
        ("s3", "team-data", "Bucket", "team-data", ""),
    ],
)
def test_arns_have_the_ids_of_the_provider(service, resource, kind, id_, import_id):
    found = _of_arn(PREFIX.format(service) + resource, [])
    assert (found.type.rpartition(":")[2], found.id, found.import_id) == (kind, id_, import_id)


def test_resources_of_other_services_are_left_out():
    assert _of_arn(PREFIX.format("glue") + "table/x", []) is None
