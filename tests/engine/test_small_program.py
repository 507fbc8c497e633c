"""A stack with the real engine, from its creation to its destroy; only the clouds are simulated."""

import pytest
from rackwright_pulumi.simulator.engine import EngineFailure

VPC, SUBNET, ROLE = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:iam/role:Role"


def test_three_clouds_up_no_op_up_and_destroy(run, cloud):
    small = run("small")
    assert small.preview()["changeSummary"]["create"] == 13
    assert small.up() == {"create": 13}
    outputs = small.outputs()
    assert outputs["vpc"] == cloud.resource(VPC, "net").id
    assert outputs["endpoint"].endswith(".gr7.us-east-1.eks.amazonaws.com")
    assert outputs["release"] == "deployed"
    assert small.up(expect_no_changes=True) == {"same": 13}
    assert small.destroy() == {"delete": 13}
    assert cloud.is_empty()


def test_update_drift_and_replacement(run, cloud):
    tiny = run("tiny")
    tiny.up()
    tiny.run("config", "set", "env", "two")
    assert tiny.up() == {"update": 1, "same": 4}
    cloud.drift(VPC, "net", tags={"env": "console"})
    cloud.lose(SUBNET, "net-a")
    assert tiny.refresh() == {"update": 1, "delete": 1, "same": 3}
    tiny.run("config", "set", "path", "/new/")
    role = cloud.resource(ROLE, "node").state
    assert tiny.up() == {"update": 1, "create": 1, "replace": 1, "same": 2}
    assert cloud.resource(ROLE, "node").state["uniqueId"] != role["uniqueId"]
    assert cloud.resource(VPC, "net").state["tagsAll"] == {"env": "two"}


def test_the_next_update_finishes_after_a_fault(run, cloud):
    tiny = run("tiny")
    cloud.fault(VPC, op="create", error="InternalFailure: try again", times=1)
    cloud.fault(ROLE, op="create", error="not propagated yet", times=1, partial=True)
    with pytest.raises(EngineFailure, match="InternalFailure: try again"):
        tiny.up()
    assert not cloud.resources(SUBNET)
    assert [r.name for r in cloud.resources()] == ["node"]  # half made, and in the engine's state
    assert tiny.up() == {"create": 2, "update": 1, "same": 2}
    tiny.destroy()
    assert cloud.is_empty()


def test_provider_inputs_reach_the_cloud_through_the_engine(run):
    program = run("provider_inputs")
    assert program.preview()["changeSummary"] == {"create": 3}
    program.up()
    outputs = program.outputs()
    assert outputs["arn"].startswith("arn:aws:kms:us-east-1:111122223333:key/")
    assert outputs["tags"] == {"owner": "nlp", "use": "disks"}
    assert program.up(expect_no_changes=True) == {"same": 3}
