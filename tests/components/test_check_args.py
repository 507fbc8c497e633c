"""Mistakes in the arguments of a component are refused when it is constructed, with the argument's name."""

from dataclasses import replace

import pulumi
import pytest
from rackwright.stackplan import KeyPlan
from rackwright_pulumi.args import WrongPart
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
from rackwright_pulumi.check_args import InvalidArgs
from rackwright_pulumi.package.served import COMPONENTS, component_class
from rackwright_pulumi.testing import record

from tests import plans

OUTPUT = "an Output"
KEY = {"key": KeyPlan(), "account": "123456789012", "region": "us-east-1", "tags": {}}


def problems(component, args) -> str:
    def with_outputs(value):
        if isinstance(value, dict):
            return {key: with_outputs(item) for key, item in value.items()}
        return pulumi.Output.from_input("us-east-1") if value == OUTPUT else value

    with pytest.raises(InvalidArgs) as refused:
        record(lambda: component("demo", with_outputs(args)) and None)
    return str(refused.value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"region": OUTPUT}, "region is an Output, but AwsKey needs its value before the deployment starts"),
        ({"tags": OUTPUT}, "tags is an Output"),
        ({"teardown": "false"}, "teardown is str, not true or false"),
        ({"regoin": "us-east-1"}, "AwsKey has no argument 'regoin'"),
    ],
)
def test_a_wrong_argument_is_named(change, text):
    assert text in problems(AwsKey, KEY | change)


def test_an_output_inside_a_plan_is_found():
    """The Output was formatted into a key policy as `logs.Calling __str__ on an Output[T] is not supported`."""

    def program():
        plan = plans.training_plan()
        place = replace(plan.place, region=pulumi.Output.from_input("us-east-1"))
        TrainingCluster("demo", {"plan": replace(plan, place=place)})

    with pytest.raises(InvalidArgs, match=r"plan\.place\.region is an Output"):
        record(program)


def test_arguments_that_may_be_outputs_stay_outputs():
    graph = record(lambda: AwsKey("demo", KEY | {"account": pulumi.Output.from_input("123456789012")}) and None)
    assert "Calling __str__" not in str(graph.as_json())


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_refuses_unknown_and_missing_arguments(name):
    text = problems(component_class(name), {"colour": "blue"})
    assert f"{name} has no argument 'colour'" in text
    assert "requires the argument" in text
    assert "arguments of" in problems(component_class(name), None)


@pytest.mark.parametrize("plan", [None, {}, KeyPlan()])
def test_a_value_of_another_class_in_place_of_a_plan_is_refused(plan):
    with pytest.raises((WrongPart, InvalidArgs), match=r"requires the argument 'plan'|instead of StackPlan"):
        record(lambda: TrainingCluster("demo", {"plan": plan}) and None)
