"""Inputs of every blueprint on AWS that may be outputs of other resources of the program."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from pulumi import Input


class AwsInputs(TypedDict):
    """vpc_id and subnet_ids: an existing network instead of the plan's, subnets in the plan's order.

    kms_key_arn: an existing key instead of the plan's. tags: further tags of AWS resources. The plan's tags take precedence, because
    budgets filter by them. Machines of Karpenter get the plan's tags only.
    """

    vpc_id: NotRequired[Input[str]]
    subnet_ids: NotRequired[Sequence[Input[str]]]
    kms_key_arn: NotRequired[Input[str]]
    tags: NotRequired[Mapping[str, Input[str]]]
