"""Zones of machines and control plane: IDs of the catalog, zones of the spec, recorded zones."""

from dataclasses import replace

import pytest
from rackwright.catalog import Catalog
from rackwright.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.stackplan import PlacePlan, is_zone_id
from rackwright.validation.stack import StackContext, check, stack_problems
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record

from tests import plans

IDS = {"zones": ("use1-az1", "use1-az6")}
"""Zone IDs, as in the catalog."""
RUN = {"accelerator": "H100", "accelerators": 8, "memory": "40 GB", "samples_per_second": 400}
CUSTOM = {"samples": 1e6, "measured": [RUN]}
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
def test_a_zone_id_of_the_catalog_is_used_without_warning(build):
    plan = build(zones=("use1-az6",))
    assert (plan.place.zone, plan.place.zone_assumed, warned(plan)) == ("use1-az6", False, [])
    assert {subnet.zone for subnet in plan.network.subnets} <= {"use1-az6", *plan.place.control_zones}


def test_zones_of_the_control_plane_are_ids_or_names():
    """A name and an ID can be the same zone, and EKS requires two."""
    for plan in (cluster(zones=("use1-az3",)), cluster({"zones": ["us-east-1d"]}, **IDS), cluster({"zones": ["use1-az6"]}, **IDS)):
        zones = {subnet.zone for subnet in plan.network.subnets if subnet.purpose == "control"}
        assert len({is_zone_id(zone) for zone in zones}) == 1
        assert len(set(plan.place.control_zones)) == 2


@pytest.mark.parametrize(("region", "refused"), [("us-east-1", "use1-az3"), ("us-west-1", "usw1-az2"), ("ca-central-1", "cac1-az3")])
def test_no_control_plane_is_in_a_zone_that_eks_refuses(region, refused):
    spec, sizing, fit = plans.training_case(place=plans.AWS | {"regions": [region], "zones": [refused]})
    there = replace(fit, candidate=replace(fit.candidate, region=region, zones=(refused,)))
    place = plans.compiled((spec, sizing, there)).place
    assert place.zone == refused  # machines may be there
    assert refused not in place.control_zones
    assert len(place.control_zones) == 2


def test_a_machine_without_published_zones_is_reported_with_a_command_that_lists_them():
    plan = cluster(machine="p3dn.24xlarge", place={"regions": ["us-gov-west-1"]}, region="us-gov-west-1", zones=())
    assert (plan.place.zone, plan.place.zone_assumed) == ("us-gov-west-1a", True)
    catalog = Catalog.default()
    rows = tuple(replace(row, region="us-gov-west-1", zones=()) for row in catalog.places_by_sku["p3dn.24xlarge"][:1])
    (warning,) = [str(problem) for problem in check(plan, catalog=replace(catalog, availability=rows)) if problem.code == "V-30"]
    assert warning.startswith("warning V-30")
    assert "describe-instance-type-offerings --location-type availability-zone --filters Name=instance-type,Values=p3dn" in warning


def test_a_zone_id_that_does_not_offer_the_machine_is_refused():
    plan = cluster({"zones": ["use1-az6"]}, machine="p6-b200.48xlarge", zones=("use1-az6",))
    assert warned(plan) == []
    moved = replace(plan, pools=tuple(replace(pool, zones=("use1-az1",)) for pool in plan.pools))
    (error,) = warned(moved)
    assert "Zone use1-az1 does not offer p6-b200.48xlarge; use use1-az6" in error


def test_extra_pools_limit_the_choice_of_the_zone():
    """All pools share a zone: p5.48xlarge is in six, p6-b200.48xlarge in one."""
    pools = [{"name": "small", "instance": "p6-b200.48xlarge", "nodes": 1}]
    plan = cluster(blueprint={"ttl": "14d", "pools": pools}, zones=("use1-az1", "use1-az2", "use1-az6"))
    assert plan.place.zone == "use1-az6"


LETTERS = PlacePlan("aws", "us-east-1", "us-east-1a", ("us-east-1a", "us-east-1b"), "123456789012", zone_assumed=True)


def recorded(was: PlacePlan, place: dict | None = None, **more) -> PlacePlan:
    case = plans.training_case(place=plans.AWS | (place or {}), **({"zones": ("use1-az1", "use1-az6")} | more))
    return compile_plan(*case, today=plans.TODAY, running=RunningStack(place=was)).place


def test_a_recorded_place_keeps_its_zones():
    """Other zones replace every subnet, and with it the cluster."""
    assert recorded(LETTERS) == LETTERS
    ids = replace(LETTERS, zone="use1-az6", control_zones=("use1-az6", "use1-az2"), zone_assumed=False)
    assert recorded(ids) == ids


def test_zones_of_the_spec_take_precedence_over_recorded_ones():
    assert recorded(LETTERS, {"zones": ["us-east-1c"]}).zone == "us-east-1c"
    assert recorded(LETTERS, {"zones": ["use1-az6"]}).control_zones[0] == "use1-az6"
    assert recorded(replace(LETTERS, account="210987654321")).zone == "use1-az1"  # letters are those of an account
    assert recorded(replace(LETTERS, zone="use1-az4")).zone == "use1-az1"  # does not offer the machine


def fleet(place: dict | None = None, build=plans.eks_fleet_case, **more):
    case = build(place=plans.AWS | (place or {}), **({"zones": ("use1-az1", "use1-az2", "use1-az6")} | more))
    return plans.compiled(case)


NAMED = {"zones": ["use1-az6", "use1-az2", "use1-az5"]}


def test_a_fleet_uses_every_zone_of_the_spec_that_offers_its_machine():
    plan = fleet(NAMED)
    assert plan.pool("gpu").zones == ("use1-az6", "use1-az2")
    machines = {subnet.name: (subnet.zone, subnet.cidr) for subnet in plan.network.subnets if subnet.purpose == "nodes"}
    assert machines == {"nodes": ("use1-az6", "10.0.64.0/18"), "nodes-2": ("use1-az2", "10.0.128.0/20")}
    bodies = {plan.body["kind"]: plan.body.get("spec", {}) for plan in plan.manifests}
    required = {r["key"]: r["values"] for r in bodies["NodePool"]["template"]["spec"]["requirements"]}
    assert required["topology.k8s.aws/zone-id"] == ["use1-az6", "use1-az2"]
    assert "topology.kubernetes.io/zone" not in required
    refs = ["network.machine_subnet_id", "network.machine_subnet_id.2"]
    assert bodies["EC2NodeClass"]["subnetSelectorTerms"] == [{"id": {"$ref": name}} for name in refs]
    entrance = next(m.body for m in plan.manifests if m.key == "serving.entrance")
    assert {"$format": "{0},{1}", "$refs": refs} in entrance["metadata"]["annotations"].values()
    assert [problem for problem in check(plan) if problem.level is Level.ERROR] == []


def test_a_fleet_without_named_zones_is_in_one():
    assert fleet().pool("gpu").zones == ("use1-az1",)


def test_names_of_zones_are_used_as_well():
    assert fleet({"zones": ["us-east-1a", "us-east-1b"]}).pool("gpu").zones == ("us-east-1a", "us-east-1b")


def test_a_reservation_keeps_its_fleet_in_one_zone():
    held = {"reservation": {"id": "cr-0123456789abcdef0", "instance": "g6e.xlarge", "count": 2, "zone": "use1-az2"}}
    plan = fleet(NAMED | {"capacity": {"fallback": [held, "on-demand"]}}, capacity="reservation", capacity_id="cr-0123456789abcdef0")
    assert {pool.zones for pool in plan.pools if pool.role == "accelerator"} == {("use1-az2",)}


def test_only_replicas_that_span_machines_share_a_placement_group():
    wide = plans.wide_fleet_case(zones=("use1-az1", "use1-az2"))
    place = wide[0].infra.any_of[0].model_copy(update={"zones": ("use1-az1", "use1-az2")})
    spec = wide[0].model_copy(update={"infra": wide[0].infra.model_copy(update={"any_of": (place,)})})
    pool = plans.compiled((spec, *wide[1:])).pool("gpu")
    assert (pool.adjacent, pool.zones) == (True, ("use1-az1",))
    assert not fleet(NAMED).pool("gpu").adjacent


def test_a_recorded_fleet_gets_a_further_zone_by_choosing_again():
    """A managed node group cannot change its subnets."""
    case = plans.managed_fleet_case(zones=("use1-az2", "use1-az6"), place=plans.AWS | NAMED)
    was = replace(LETTERS, zone="use1-az6", control_zones=("use1-az6", "use1-az2"), zone_assumed=False)
    assert compile_plan(*case, today=plans.TODAY, running=RunningStack(place=was)).pool("gpu").zones == ("use1-az6",)
    kept = replace(was, further_zones=("use1-az2",))
    assert compile_plan(*case, today=plans.TODAY, running=RunningStack(place=kept)).pool("gpu").zones == ("use1-az6", "use1-az2")


@pytest.mark.parametrize("build", [box, cluster])
def test_a_zone_of_the_spec_is_used_without_warning(build):
    plan = build({"zones": ["us-east-1d"]}, **IDS)
    assert (plan.place.zone, plan.place.zone_assumed, warned(plan)) == ("us-east-1d", False, [])


def test_a_listed_zone_that_offers_the_machine_is_preferred():
    """A machine of a reservation is in the zone of the reservation."""
    assert cluster({"zones": ["us-east-1a", "us-east-1b"]}, zones=("us-east-1b",)).place.zone == "us-east-1b"


def test_two_letters_of_the_spec_are_the_zones_of_the_control_plane():
    assert cluster({"zones": ["us-east-1d", "us-east-1f"]}, **IDS).place.control_zones == ("us-east-1d", "us-east-1f")


@pytest.mark.parametrize("letter", ["us-east-1a", "us-east-1d", "us-east-1e"])
def test_one_letter_is_completed_by_zone_ids_that_support_control_planes(letter):
    """EC2 resolves the letter for the machines. One account's us-east-1a is another's use1-az3, where EKS has no control plane."""
    plan = cluster({"zones": [letter]}, **IDS)
    assert plan.place.control_zones == ("use1-az1", "use1-az2")
    assert {subnet.zone for subnet in plan.network.subnets if subnet.purpose == "nodes"} == {letter}
    assert plan.network.endpoint_zones == ("use1-az1", "use1-az2"), "the letter may be one of them, and EC2 takes one subnet per zone"
    assert not warned(plan)


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


def gke_fleet(zones: tuple[str, ...], max_replicas: int = 8):
    """zones: of the spec; us-central1-f does not offer the machine."""
    spec, sizing, fit = plans.fleet_case(zones=("us-central1-a", "us-central1-b", "us-central1-c"))
    fit = replace(fit, candidate=replace(fit.candidate, max_replicas=max_replicas))
    place = spec.infra.any_of[0].model_copy(update={"zones": zones})
    return plans.compiled((spec.model_copy(update={"infra": spec.infra.model_copy(update={"any_of": (place,)})}), sizing, fit))


def test_a_fleet_on_gke_uses_every_zone_of_the_spec_that_offers_its_machine():
    plan = gke_fleet(("us-central1-b", "us-central1-a", "us-central1-f"))
    assert plan.pool("gpu").zones == ("us-central1-b", "us-central1-a")
    (pool,) = [n for n in record(lambda: declare(plan) and None).by_type("gcp:container/nodePool:NodePool") if "gpu" in n.name]
    assert pool.inputs["nodeLocations"] == ["us-central1-b", "us-central1-a"]
    assert pool.inputs["initialNodeCount"] == 1, "per zone"
    assert {key: value for key, value in pool.inputs["autoscaling"].items() if key.startswith("total")} == {
        "totalMinNodeCount": 1,
        "totalMaxNodeCount": 8,
    }
    assert [problem for problem in check(plan) if problem.level is Level.ERROR] == []


def test_a_fleet_on_gke_has_no_more_zones_than_machines():
    plan = gke_fleet(("us-central1-b", "us-central1-a"), max_replicas=1)
    assert plan.pool("gpu").nodes_max == 1
    assert plan.pool("gpu").zones == ("us-central1-b",)


def test_zones_that_replicas_over_machines_do_not_use_are_named():
    wide = plans.wide_fleet_case(zones=("use1-az1", "use1-az2"))
    place = wide[0].infra.any_of[0].model_copy(update={"zones": ("use1-az1", "use1-az2")})
    spec = wide[0].model_copy(update={"infra": wide[0].infra.model_copy(update={"any_of": (place,)})})
    plan = plans.compiled((spec, *wide[1:]))
    context = StackContext(plan, Catalog.default(), fit=wide[2], spec=spec)
    (found,) = [problem for problem in stack_problems(context) if problem.code == "V-139"]
    assert found.reason == "Machines of a replica are in one zone, use1-az1; the fleet does not use use1-az2"
    assert found.level is Level.WARNING
    whole = fleet(NAMED)
    narrow = plans.eks_fleet_case(place=plans.AWS | NAMED)
    context = StackContext(whole, Catalog.default(), fit=narrow[2], spec=narrow[0])
    assert not [problem for problem in stack_problems(context) if problem.code == "V-139"]


def test_an_existing_subnet_without_a_zone_is_named_where_the_zone_of_the_machines_is_fixed():
    """EC2 rejects machines in another zone than their subnet."""

    def found(place: dict) -> list[str]:
        plan = cluster(place, **IDS)
        entry = plans.spec("zones", {"name": "a", "kind": "custom", **CUSTOM}, plans.AWS | place)
        context = StackContext(plan, Catalog.default(), fit=plans.training_case(**IDS)[2], spec=entry)
        return [f"{p.reason}; {p.stage}; {p.blocks_update}" for p in stack_problems(context) if p.code == "V-140"]

    named = {"zones": ["use1-az6"]}
    assert found(EXISTING | named) == ["The machines are in use1-az6, and the spec has no zone of subnet-0a; build; False"]
    assert found(EXISTING) == [], "machines are in the zone of the subnet"
    zoned = {"network": {"existing": {"vpc": "vpc-0abc", "subnets": [{"id": "subnet-0a", "zone": "use1-az6"}]}}}
    assert found(zoned | named) == []
