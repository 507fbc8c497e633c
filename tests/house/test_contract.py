"""What is said is read: a field of the contract or the spec that nobody looks at promises what nothing does."""

import dataclasses
import importlib
import pkgutil
import re
from fnmatch import fnmatchcase

import pytest
import rackwright.spec as spec
import rackwright.stackplan as wants
from pydantic import BaseModel
from rackwright.catalog import Catalog
from rackwright.stackplan.capacity import flex_start_max_run_s
from rackwright.validation.stack import RULES
from rackwright_pulumi.gcp.pool import FLEX_LONGEST_RUN_S, HYPERDISK_ONLY
from rackwright_pulumi.policies import RESOURCE_RULES

from tests.house.source_files import LIBRARY, ROOT, python_files, read

pytestmark = pytest.mark.xdist_group("sources")
REFUSED = {"Place.inventory", "Pricing.commitments"}
"""Fields that this release refuses in the spec's own room (spec/not_yet.py)."""
READ_BY_THE_SPEC = {"Spec.api_version", "Finetune.objective", "InsideAccess.runner", "Granted.used"}
"""Fields whose whole meaning is which form was written, or what the spec's checks make of it."""
ON_NO_PAGE = {"V-02"}
"""Laws that were seen at work and that their cloud has written nowhere."""


def read_outside(*folders: str) -> set[str]:
    """Every attribute that is read anywhere but in `folders`."""
    outside = (path for path in python_files(*LIBRARY) if not any(folder in path.as_posix() for folder in folders))
    return set().union(*(read(path).attributes_read for path in outside))


def classes(package) -> list[type]:
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [kind for module in modules for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]


def test_every_field_of_a_plan_is_read_by_somebody():
    """Told apart by their names alone, so a field called as another one is not missed."""
    names = read_outside("rackwright/stackplan/")
    said = {(kind.__name__, field.name) for kind in classes(wants) if dataclasses.is_dataclass(kind) for field in dataclasses.fields(kind)}
    assert len(said) > 150
    assert not [f"{kind}.{name}" for kind, name in sorted(said) if name not in names]


def test_every_field_of_a_spec_is_read_or_refused():
    names = read_outside("rackwright/spec/", "rackwright/validation/spec/")
    said = {(kind.__name__, name) for kind in classes(spec) if issubclass(kind, BaseModel) for name in kind.model_fields}
    unread = {f"{kind}.{name}" for kind, name in said if name not in names}
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
        ("rackwright.catalog.storage_limits:GP3_FREE_IOPS", "rackwright_pulumi.policies.launch_templates:FREE_IOPS"),
        ("rackwright.validation.stack.storage.lustre:STEP_GIB", "rackwright_pulumi.policies.sizes:STEP_GIB"),
        ("rackwright.catalog.storage_limits:TIERED_STEP_MB_S", "rackwright_pulumi.policies.sizes:TIERED_STEP_MB_S"),
    ],
)
def test_facts_that_both_halves_need_are_the_same(one, other):
    """Neither may read the other's: a component knows the plan alone, a law the resources alone."""
    assert _fact(one) == _fact(other)


def test_what_components_fill_in_for_plans_written_by_hand_is_the_catalogs():
    """A compiled plan names its boot disk and its longest run; a hand-written one may leave them out."""
    catalog = Catalog.default()
    google = {row.name: row.boot_disk for row in catalog.machines if row.cloud == "gcp"}
    assert {name for name, disk in google.items() if disk == "hyperdisk-balanced"} == {n for n in google if n.startswith(HYPERDISK_ONLY)}
    assert flex_start_max_run_s(catalog) == FLEX_LONGEST_RUN_S


def _fact(path: str):
    module, _, name = path.partition(":")
    name, _, key = name.partition(".")
    found = getattr(importlib.import_module(module), name)
    return found[key] if key else found
