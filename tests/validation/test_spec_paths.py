"""Problems of a stack point into the spec: path, line and column."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from rackwright.diagnostics.problem import At, Mark, Problem
from rackwright.spec.reading.model_fields import homes
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan
from rackwright.validation.spec_paths import ORIGINS, in_spec, spec_path
from rackwright.validation.stack import check

from tests.validation.changes import changed
from tests.validation.test_rule_cases import BASES, FILES

SAME_IN_BOTH = {"name", "tags", "kind", "version"}
TEXT = """\
api_version: rackwright/v1
name: sft
workloads:
  - {name: sft, kind: finetune, model: {base: llama-3.1-8b}, data: {tokens: 1e9}, run: {env: {A_TOKEN: hunter2hunter2}}}
infra:
  ordered:
    - cloud: gcp
    - cloud: aws
      regions: [us-east-1]
      capacity: {ordered: [on-demand, {reservation: {id: cr-0123456789abcdef0, instance: p5.48xlarge, count: 2, zone: us-east-1a}}]}
      network:
        cidr: 10.20.0.0/16
blueprint:
  api_access: {cidrs: [203.0.113.0/24, 198.51.100.0/24]}
  pools: [{name: evaluation, instance: g6.xlarge, nodes: 2}]
"""


def spec_of(text: str = TEXT) -> Spec:
    return Spec.model_validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("at", "path", "line"),
    [
        (("network", "subnets", 0, "cidr"), "infra.ordered[1].network.cidr", 12),
        (("network", "self_reachable"), "infra.ordered[1].network", 12),
        (("cluster", "api_cidrs", 1), "blueprint.api_access.cidrs[1]", 14),
        (("cluster", "private_api"), "blueprint.api_access", 14),
        (("cluster", "name"), "name", 2),
        (("pools", 1, "zones"), "infra.ordered[1].zones", 8),
        (("pools", 1, "nics", 3), "blueprint.nodes.interfaces", 14),
        (("guard", "emails"), "blueprint.notify", 14),
        (("tags", "owner"), "tags.owner", 1),
        (("place", "account"), "infra.ordered[1].account", 8),
        (("buckets", 0, "existing_name"), "workloads[0].data.uri", 4),
        (("pools", 1, "capacity", "mode"), "infra.ordered[1].capacity.ordered[0]", 10),
        (("manifests", 0, "body", "spec"), "workloads[0]", 4),
        (("expires_on",), "blueprint.ttl", 14),
        ((), "(whole file)", 1),
    ],
)
def test_a_path_of_the_stack_becomes_a_path_of_the_spec(at, path, line):
    stack = BASES["training"]
    (found,) = in_spec([Problem("V-01", "wrong", At(at))], spec_of(), 1, stack, TEXT)
    assert str(found.at) == path
    assert found.mark
    assert found.mark.line == line
    if str(At(at)) != path:
        assert found.as_json()["stack_path"] == str(At(at))


def test_extra_pools_are_found_by_their_name():
    stack = changed(BASES["training"], {"pools[gpu].name": "evaluation"})
    index = [pool.name for pool in stack.pools].index("evaluation")
    at = spec_path(At() / "pools" / index / "machine", spec_of(), 1, stack)
    assert str(at) == "blueprint.pools[0].instance"


def test_capacity_is_found_by_the_reservation_that_it_names():
    change = {"pools[gpu].capacity.mode": "reservation", "pools[gpu].capacity.reservation_id": "cr-0123456789abcdef0"}
    stack = changed(BASES["training"], change)
    index = [pool.name for pool in stack.pools].index("gpu")
    at = spec_path(At() / "pools" / index / "capacity" / "zone", spec_of(), 1, stack)
    assert str(at) == "infra.ordered[1].capacity.ordered[1].reservation.zone"


def test_a_path_of_the_spec_only_gets_its_line():
    (found,) = in_spec([Problem("R-10", "ended", At() / "infra" / "ordered" / 1 / "capacity")], spec_of(), 1, None, TEXT)
    assert (str(found.at), found.mark, found.stack_at) == ("infra.ordered[1].capacity", Mark(10, 17), None)


def test_a_spec_without_a_file_gets_paths_without_lines():
    (found,) = in_spec([Problem("V-62", "wrong", At() / "network")], spec_of(), 1, BASES["training"])
    assert (str(found.at), found.mark) == ("infra.ordered[1].network", None)


def test_secrets_of_the_file_are_hidden_in_problems_of_the_stack():
    (found,) = in_spec([Problem("V-62", "got hunter2hunter2", At() / "network")], spec_of(), 1, BASES["training"], TEXT)
    assert found.reason == "got (hidden)"


def test_every_part_of_a_stack_comes_from_the_spec():
    assert {field.name for field in fields(StackPlan)} - SAME_IN_BOTH <= {key.split(".")[0] for key in ORIGINS}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_rule_points_into_the_spec(file: Path):
    for case in yaml.safe_load_all(file.read_text()):
        spec = spec_of()
        for row in case["breaks"]:
            stack = changed(BASES[case["plan"]], row["change"])
            for problem in in_spec(check(stack), spec, 1, stack, TEXT):
                words = [step for step in problem.at.steps if isinstance(step, str)]
                assert problem.mark, problem
                assert not words or words[0] in Spec.model_fields, problem
                assert not words or words[-1] in homes() or words[0] == "tags", problem
