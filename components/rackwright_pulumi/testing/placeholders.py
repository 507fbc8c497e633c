"""Placeholders for values that a plan reads from other stacks and from secrets, for recordings without a state backend."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pulumi
from rackwright.stackplan import KeyPlan, PlacePlan, StackPlan, upstream_layers
from rackwright.stackplan.refs import BlueprintKind, FromStack

from rackwright_pulumi.simulator.computed.arns import partition
from rackwright_pulumi.testing.record import record

WILDCARD = "*"


def placeholder_outputs(plan: StackPlan, name: str = "") -> dict[str, dict[str, Any]]:
    """Outputs of other stacks by stack name, as `record` takes them: an ARN where the plan needs one, else a name.

    name: used in all placeholders, such as WILDCARD for IAM policies; by default the output and its stack in angle brackets.
    """
    stacks: dict[str, dict[str, Any]] = {}
    for owner, field, reference in _references(plan):
        *parents, last = reference.output.split(".")
        outputs = stacks.setdefault(reference.stack, {})
        for parent in parents:
            if not isinstance(outputs.get(parent), dict):  # one reference reads an output, another one a path in it
                outputs[parent] = {}
            outputs = outputs[parent]
        outputs.setdefault(last, _placeholder(plan, owner, field, name or f"<{reference}>"))
    return stacks


def placeholder_secrets(plan: StackPlan) -> dict[str, pulumi.Input[str]]:
    """A placeholder for each secret that the manifests of a plan read, as `declare` takes them."""
    return dict.fromkeys(re.findall(r'"secret\.([^"]+)"', plan.to_json()), "(secret)")


def upstream_outputs(plan: StackPlan, outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Outputs of the stack in `plan.below`, recorded from the lower layers of the same plan. outputs: of the other stacks that it reads."""
    from rackwright_pulumi.program.build import declare

    def lower() -> None:
        for name, value in declare(replace(plan, layers=upstream_layers(plan), below="")).stack_outputs().items():
            pulumi.export(name, value)

    return {plan.below: record(lower, stack_outputs=outputs).outputs} if plan.below else {}


def _references(owner: Any) -> Iterator[tuple[Any, str, FromStack]]:
    """Every reference in a plan, with the dataclass and the field that hold it."""
    for field in fields(owner):
        value = getattr(owner, field.name)
        for item in value if isinstance(value, tuple) else value.values() if isinstance(value, Mapping) else (value,):
            if isinstance(item, FromStack):
                yield owner, field.name, item
            elif is_dataclass(item):
                yield from _references(item)


def _placeholder(plan: StackPlan, owner: Any, field: str, name: str) -> str:
    place: PlacePlan = plan.place
    is_profile_name = plan.kind is BlueprintKind.BOX and not isinstance(owner, KeyPlan)
    if not field.endswith("_arn") or is_profile_name:
        return name
    account = place.account or WILDCARD
    if isinstance(owner, KeyPlan):
        return f"arn:{partition(place.region)}:kms:{place.region}:{account}:key/{name}"
    return f"arn:{partition(place.region)}:iam::{account}:role/{name}"
