"""A recorded program reads outputs of other stacks as with the engine."""

import pulumi
import pytest
from rackwright_pulumi.testing import Secret, UnknownStack, record

BASE = "organization/ml/base"
OUTPUTS = {BASE: {"vpc": "vpc-1", "subnets": ["subnet-1"], "token": Secret("hush")}}


def reading():
    base = pulumi.StackReference(BASE)
    pulumi.export("vpc", base.require_output("vpc"))
    pulumi.export("subnets", base.require_output("subnets"))
    pulumi.export("token", base.require_output("token"))


@pytest.mark.parametrize("preview", [False, True])
def test_a_stack_reference_returns_the_configured_outputs(preview):
    graph = record(reading, stack_outputs=OUTPUTS, preview=preview)
    assert graph.outputs == OUTPUTS[BASE]
    assert graph.one("pulumi:pulumi:StackReference").options["read"]


def test_an_unknown_stack_is_an_error():
    with pytest.raises(UnknownStack, match="stack 'organization/ml/base' has no configured outputs"):
        record(reading, stack_outputs={"other": {}})


def test_a_missing_output_is_an_error_as_in_the_engine():
    with pytest.raises(KeyError, match="token"):
        record(reading, stack_outputs={BASE: {"vpc": "vpc-1", "subnets": []}})
