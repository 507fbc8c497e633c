"""Every field of the spec and the StackPlan is read by code; facts that both halves need are equal."""

import dataclasses
import importlib
import pkgutil
import re
from fnmatch import fnmatchcase

import pytest
import rackwright.spec as spec
import rackwright.stackplan as stackplan
from pydantic import BaseModel
from rackwright.catalog import Catalog
from rackwright.stackplan.capacity import flex_start_max_run_s
from rackwright.validation.stack import RULES
from rackwright_pulumi.gcp.pool import DISK_TYPES, FLEX_LONGEST_RUN_S
from rackwright_pulumi.policies import RESOURCE_RULES

from tests.house.source_files import LIBRARY, ROOT, python_files, read

pytestmark = pytest.mark.xdist_group("sources")
UNSUPPORTED = {"Pricing.commitments", "TopicReceiver.sns"}
"""Fields that this release does not support (validation/spec/unsupported.py)."""
READ_BY_THE_SPEC = {"Spec.api_version", "InsideAccess.runner", "Granted.used", "Monitoring.dashboards"}
READ_BY_THE_SPEC |= {"Inventory.api_version", "ServerGroup.os", "ClusterFacts.pod_cidr", "ClusterFacts.node_cidr"}
READ_BY_THE_SPEC |= {"ServiceQuotas.Quotas", "ServiceQuota.QuotaArn", "ServiceQuota.QuotaCode", "ServiceQuota.Value"}
READ_BY_THE_SPEC |= {"MetricQuota.usage", "QuotaInfo.quotaId", "QuotaInfo.dimensionsInfos"}
READ_BY_THE_SPEC |= {"Dimensions.dimensions", "Dimensions.applicableLocations"}
"""Fields that only the reader and the rules of the spec use."""
UNDOCUMENTED = {"V-02", "V-111", "V-115"}
"""Rules that a cloud enforces without documenting them, and rules whose limits are in the spec."""


def read_outside(*folders: str) -> set[str]:
    """Every attribute that is read anywhere but in `folders`."""
    outside = (path for path in python_files(*LIBRARY) if not any(folder in path.as_posix() for folder in folders))
    return set().union(*(read(path).attributes_read for path in outside))


def classes(package) -> list[type]:
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [kind for module in modules for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]


def test_every_field_of_a_stack_plan_is_read():
    """Fields are compared by name, so an unread field with the name of a read one is not found."""
    names = read_outside("rackwright/stackplan/")
    declared = {
        (kind.__name__, field.name) for kind in classes(stackplan) if dataclasses.is_dataclass(kind) for field in dataclasses.fields(kind)
    }
    assert len(declared) > 150
    assert not [f"{kind}.{name}" for kind, name in sorted(declared) if name not in names]


def test_every_field_of_a_spec_is_read_or_unsupported():
    names = read_outside("rackwright/spec/", "rackwright/validation/spec/")
    declared = {(kind.__name__, name) for kind in classes(spec) if issubclass(kind, BaseModel) for name in kind.model_fields}
    unread = {f"{kind}.{name}" for kind, name in declared if name not in names}
    assert unread == UNSUPPORTED | READ_BY_THE_SPEC


def test_every_ref_is_resolved_by_a_blueprint():
    """The names are strings in the two files of blueprints; a wildcard matches a key of the plan."""
    files = [ROOT / "components" / "rackwright_pulumi" / "blueprints" / f"{name}.py" for name in ("aws", "gke")]
    known = {re.sub(r"\{\w+\}", "key", name) for path in files for name in re.findall(r'"([a-z]+(?:\.[\w{}]+)+)"', path.read_text("utf-8"))}
    assert not [pattern for pattern in stackplan.REFS if not any(fnmatchcase(name, pattern) for name in known)]


def test_every_rule_links_to_its_source():
    assert {rule.code for rule in (*RULES, *RESOURCE_RULES) if not re.match(r"https://\S+$", rule.link)} <= UNDOCUMENTED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rackwright.compile.kubernetes.aws.karpenter:INTERFACE_TYPES", "rackwright_pulumi.aws.pool.launch_template:INTERFACE_TYPES"),
        ("rackwright.compile.kubernetes.aws.karpenter:MEMLOCK_BYTES", "rackwright_pulumi.aws.pool.al2023:LIMITS.RLIMIT_MEMLOCK"),
        ("rackwright.validation.stack.nodes.images:USER_DATA_BYTES", "rackwright_pulumi.aws.pool.user_data:LIMIT_BYTES"),
        ("rackwright.validation.stack.nodes.images:USER_DATA_BYTES", "rackwright_pulumi.policies.launch_templates:USER_DATA_BYTES"),
    ],
)
def test_facts_of_both_halves_are_equal(one, other):
    """A component may not import the compiler, and a policy reads only resources, so these facts are written twice."""
    assert _fact(one) == _fact(other)


def test_the_default_longest_run_of_components_is_that_of_the_catalog():
    """A compiled plan sets the longest run; a plan written by hand may omit it."""
    assert flex_start_max_run_s(Catalog.default()) == FLEX_LONGEST_RUN_S


def test_components_support_every_boot_disk_of_the_catalog():
    assert {row.boot_disk for row in Catalog.default().machines if row.cloud == "gcp"} == set(DISK_TYPES)


def _fact(path: str):
    module, _, name = path.partition(":")
    name, _, key = name.partition(".")
    found = getattr(importlib.import_module(module), name)
    return found[key] if key else found
