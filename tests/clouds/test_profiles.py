"""Names in a profile exist: rows of the catalog, options and blueprints of the spec."""

from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP, KUBERNETES, profiles
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.infra import Place
from rackwright.validation.stack.registry import RULES, StackContext

from tests import plans

SOLD = [cloud for cloud in profiles() if not cloud.is_owned]
BY_NAME = {"argvalues": SOLD, "ids": [cloud.name for cloud in SOLD]}


@pytest.mark.parametrize("cloud", **BY_NAME)
def test_names_of_the_catalog_have_rows_of_that_cloud(cloud):
    catalog = Catalog.default()
    assert catalog.machine_by_name[cloud.system_machine].cloud == cloud.name
    assert {catalog.volume_by_name[name].cloud for name in (*cloud.disk_volumes.values(), cloud.object_volume)} == {cloud.name}
    assert {*cloud.fees.values()} <= {fee.name for fee in catalog.fees if fee.cloud == cloud.name}


@pytest.mark.parametrize("cloud", **BY_NAME)
def test_zones_of_the_catalog_have_the_form_of_the_profile(cloud):
    rows = [row for row in Catalog.default().availability if row.cloud == cloud.name and cloud.has_zone_names and row.zones]
    assert all(zone.startswith(cloud.zone(row.region, "")) for row in rows for zone in row.zones)
    assert bool(rows) == cloud.has_zone_names


@pytest.mark.parametrize("cloud", **BY_NAME)
def test_keys_of_a_profile_are_keys_of_the_spec(cloud):
    assert cloud.owner_field in Place.model_fields
    assert cloud.blueprints <= {*Blueprint.model_fields["kind"].annotation.__args__}
    blueprint = {option.partition(".")[2] for option in cloud.supports if option.startswith("blueprint.")}
    assert blueprint <= Blueprint.model_fields.keys()


def test_capacity_modes_have_the_spelling_of_specs_and_plans():
    assert all(AWS.sells(mode) for mode in ("capacity_block", "capacity-block"))
    assert not GCP.sells("capacity-block")
    assert not KUBERNETES.sells("on-demand")


def test_default_zones_support_a_control_plane():
    assert AWS.zones("us-east-1") == ("us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f")
    assert GCP.zones("us-central1")[0] == "us-central1-a"


@pytest.mark.parametrize(("code", "broken"), [("R-30", False), ("V-10", True)])
def test_a_rule_of_one_cloud_is_not_checked_on_another(code, broken):
    """R-30 is a rule of AWS, V-10 one of Google Cloud: the plan has no owner tag, and a name that is too long for Google Cloud."""
    plan = replace(plans.ALL["tpu"](), tags=(), name="x" * 60)
    assert bool([*RULES.rules[code].problems(StackContext(plan, Catalog.default()))]) is broken
