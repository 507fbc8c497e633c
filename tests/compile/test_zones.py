"""Which zone the machines go to, and that nobody takes a guess for a fact."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.validation.stack import check

from tests import plans

IDS = {"zones": ("use1-az1", "use1-az6")}
"""What AWS publishes: ids, whose letters differ from account to account."""
EXISTING = {"network": {"existing": {"vpc": "vpc-0abc", "subnets": ["subnet-0a", "subnet-0b"]}}}


def box(place: dict | None = None, **more):
    spec, sizing, fit = plans.box_case(**more)
    workload = spec.workload.model_dump(mode="json", exclude_unset=True)
    return plans.compiled((plans.spec(spec.name, workload, plans.AWS | (place or {}), blueprint={"ttl": "7d"}), sizing, fit))


def cluster(place: dict | None = None, **more):
    return plans.compiled(plans.training_case(place=plans.AWS | (place or {}), **more))


def warned(plan) -> list[str]:
    return [str(problem) for problem in check(plan) if problem.code == "V-30"]


@pytest.mark.parametrize("build", [box, cluster])
def test_a_default_zone_is_reported_with_a_command_that_lists_zones(build):
    plan = build(**IDS)
    machine = plan.box.machine if plan.box else plan.pool("gpu").machine
    assert (plan.place.zone, plan.place.zone_assumed) == ("us-east-1a", True)
    (warning,) = warned(plan)
    assert warning.startswith("warning V-30")
    assert f"Zone us-east-1a was chosen by default, but {machine} is offered in zone IDs use1-az" in warning
    assert f"describe-instance-type-offerings --location-type availability-zone --filters Name=instance-type,Values={machine}" in warning


@pytest.mark.parametrize("build", [box, cluster])
def test_a_zone_of_the_spec_is_used_without_warning(build):
    plan = build({"zones": ["us-east-1d"]}, **IDS)
    assert (plan.place.zone, plan.place.zone_assumed, warned(plan)) == ("us-east-1d", False, [])


def test_a_listed_zone_that_offers_the_machine_is_preferred():
    """A reservation's zone comes as the one that sells it."""
    assert cluster({"zones": ["us-east-1a", "us-east-1b"]}, zones=("us-east-1b",)).place.zone == "us-east-1b"


def test_the_control_plane_is_in_zones_the_spec_allows():
    """One account's us-east-1b is another's use1-az3, where EKS has no control plane: naming two zones settles it."""
    assert cluster({"zones": ["us-east-1d", "us-east-1f"]}, **IDS).place.control_zones == ("us-east-1d", "us-east-1f")
    assert cluster({"zones": ["us-east-1d"]}, **IDS).place.control_zones == ("us-east-1d", "us-east-1a")
    assert cluster({"zones": ["us-east-1e"]}, **IDS).place.control_zones == ("us-east-1a", "us-east-1b")


def test_google_zones_are_read_from_the_catalog():
    plan = plans.fleet_plan()
    assert (plan.place.zone, plan.place.zone_assumed) == ("us-central1-b", False)


def test_default_zone_on_google_cloud_is_reported():
    spec, sizing, fit = plans.fleet_case(zones=())
    plan = plans.compiled((spec, sizing, plans.on_machine(fit, "g4-standard-48")))
    assert (plan.place.zone, plan.place.zone_assumed) == ("us-central1-a", True)
    assert ["machine-types list" in warning for warning in warned(plan)] == [True]


def test_existing_subnets_decide_the_zones_of_a_cluster():
    assert warned(cluster(EXISTING, **IDS)) == []


def test_a_box_in_an_existing_subnet_requires_its_zone():
    with pytest.raises(UserError) as error:
        box(EXISTING, **IDS)
    assert [str(problem.at) for problem in error.value.problems if problem.code == "C-zone"] == ["infra.any_of[0].zones"]
    assert box(EXISTING | {"zones": ["us-east-1c"]}, **IDS).box.zone == "us-east-1c"
