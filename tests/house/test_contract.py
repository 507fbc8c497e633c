"""What is said is read: a field of the contract or the spec that nobody looks at promises what nothing does."""

import ast
import dataclasses
import importlib
import pkgutil
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
import rackwright.spec as spec
import rackwright.stackplan as wants
from pydantic import BaseModel
from rackwright.catalog import Catalog
from rackwright.stackplan.capacity import flex_start_max_run_s
from rackwright.validation.stack import RULES
from rackwright_pulumi.gcp.pool import DISK_TYPES, FLEX_LONGEST_RUN_S
from rackwright_pulumi.policies import RESOURCE_RULES

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("blueprints", "components") for path in (ROOT / folder).rglob("*.py") if "template" not in path.parts]
REFUSED = {"Place.inventory", "Pricing.commitments"}
"""Fields that this release refuses in the spec's own room (spec/not_yet.py)."""
READ_BY_THE_SPEC = {"Spec.api_version", "Finetune.objective", "InsideAccess.runner", "Granted.used"}
"""Fields whose whole meaning is which form was written, or what the spec's checks make of it."""
ON_NO_PAGE = {"V-02"}
"""Laws that were seen at work and that their cloud has written nowhere."""


@cache
def read_outside(*folders: str) -> set[str]:
    """Every attribute that is read anywhere but in `folders`."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES if not any(folder in path.as_posix() for folder in folders)]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}


def classes(package) -> list[type]:
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [kind for module in modules for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]


def test_every_field_of_a_plan_is_read_by_somebody():
    """Told apart by their names alone, so a field called as another one is not missed."""
    read = read_outside("rackwright/stackplan/")
    said = {(kind.__name__, field.name) for kind in classes(wants) if dataclasses.is_dataclass(kind) for field in dataclasses.fields(kind)}
    assert len(said) > 150
    assert not [f"{kind}.{name}" for kind, name in sorted(said) if name not in read]


def test_every_field_of_a_spec_is_read_or_refused():
    read = read_outside("rackwright/spec/", "rackwright/validation/spec/")
    said = {(kind.__name__, name) for kind in classes(spec) if issubclass(kind, BaseModel) for name in kind.model_fields}
    unread = {f"{kind}.{name}" for kind, name in said if name not in read}
    assert unread == REFUSED | READ_BY_THE_SPEC


def test_every_name_a_plan_may_refer_to_is_known_to_a_blueprint():
    """Names a component resolves, as they are written in the two files that do; a wildcard stands for a key of the plan."""
    files = [ROOT / "components" / "rackwright_pulumi" / "blueprints" / f"{name}.py" for name in ("aws", "gke")]
    known = {re.sub(r"\{\w+\}", "key", name) for path in files for name in re.findall(r'"([a-z]+(?:\.[\w{}]+)+)"', path.read_text("utf-8"))}
    assert not [pattern for pattern in wants.REFS if not any(fnmatchcase(name, pattern) for name in known)]


@pytest.mark.parametrize("law", [*RULES, *RESOURCE_RULES], ids=lambda law: law.code)
def test_every_law_names_the_page_that_says_it(law):
    assert re.match(r"https://\S+$", law.link) or law.code in ON_NO_PAGE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rackwright.compile.operators.queues:HUGE_PAGES_MIB", "rackwright_pulumi.aws.autoscaling:HUGE_PAGES_MIB"),
        ("rackwright.stackplan.labels:EFA_RESOURCE", "rackwright_pulumi.aws.autoscaling:FABRIC"),
        ("rackwright.compile.blueprints.inference_fleet_eks:HUGE_PAGES", "rackwright_pulumi.aws.autoscaling:HUGE_PAGES"),
        ("rackwright.stackplan.operators:CLUSTER_AUTOSCALER", "rackwright_pulumi.aws.autoscaling:ACCOUNT"),
        ("rackwright.stackplan.addresses:MACHINE_PURPOSES", "rackwright_pulumi.aws.network.subnets:MACHINES"),
        ("rackwright.stackplan.addresses:CONTROL_PURPOSES", "rackwright_pulumi.aws.network.subnets:CONTROL"),
        ("rackwright.compile.kubernetes.aws.karpenter:INTERFACE_TYPES", "rackwright_pulumi.aws.pool.launch_template:INTERFACE_TYPES"),
        ("rackwright.compile.kubernetes.aws.karpenter:MEMLOCK_BYTES", "rackwright_pulumi.aws.pool.al2023:LIMITS.RLIMIT_MEMLOCK"),
        ("rackwright.validation.stack.nodes.images:USER_DATA_BYTES", "rackwright_pulumi.aws.pool.user_data:LIMIT_BYTES"),
        ("rackwright.validation.stack.nodes.images:USER_DATA_BYTES", "rackwright_pulumi.policies.launch_templates:USER_DATA_BYTES"),
    ],
)
def test_facts_that_both_halves_need_are_the_same(one, other):
    """Neither may read the other's: a component knows the plan alone, a law the resources alone."""
    assert _fact(one) == _fact(other)


def test_what_components_fill_in_for_plans_written_by_hand_is_the_catalogs():
    """A compiled plan names its longest run; a hand-written one may leave it out."""
    assert flex_start_max_run_s(Catalog.default()) == FLEX_LONGEST_RUN_S


def test_components_support_every_boot_disk_of_the_catalog():
    assert {row.boot_disk for row in Catalog.default().machines if row.cloud == "gcp"} == set(DISK_TYPES)


def _fact(path: str):
    module, _, name = path.partition(":")
    name, _, key = name.partition(".")
    found = getattr(importlib.import_module(module), name)
    return found[key] if key else found
