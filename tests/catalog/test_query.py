"""Queries of the catalog: offerings with published prices, machines by name, and suggestions for a misspelt one."""

import pytest
from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode as Mode


def find(catalog, cloud, name, region, mode):
    (found,) = [o for o in query.offerings(catalog, cloud, (region,), (mode,)) if o.machine.name == name]
    return found


def test_a_published_price_is_no_reference(catalog):
    offering = find(catalog, "aws", "p5.48xlarge", "us-east-1", Mode.ON_DEMAND)
    assert (offering.price_usd_per_hour, offering.price_region, offering.price_is_reference) == (55.04, "us-east-1", False)
    assert "use1-az6" in offering.zones
    assert offering.price_as_of == "2026-07-20"


def test_a_price_of_another_region_is_marked(catalog):
    offering = find(catalog, "aws", "p5.48xlarge", "eu-north-1", Mode.ON_DEMAND)
    assert offering.price_is_reference
    assert offering.price_words == "price of us-east-1: none published here for eu-north-1"


def test_a_price_whose_source_names_no_region_is_flagged(catalog):
    offering = find(catalog, "aws", "p5.48xlarge", "us-east-1", Mode.CAPACITY_BLOCK)
    assert (offering.price_usd_per_hour, offering.price_region, offering.price_is_reference) == (47.757, None, True)


def test_an_unpublished_price_is_unknown(catalog):
    offering = find(catalog, "gcp", "tpu7x-standard-4t", "us-central1", Mode.ON_DEMAND)
    assert (offering.price_usd_per_hour, offering.price_words) == (None, "price not published")
    assert find(catalog, "aws", "p5e.48xlarge", "us-east-2", Mode.ON_DEMAND).price_usd_per_hour is None


def test_tpu_chips_are_priced_per_host(catalog):
    assert find(catalog, "gcp", "ct5lp-hightpu-4t", "us-central1", Mode.ON_DEMAND).price_usd_per_hour == pytest.approx(4.8)
    assert find(catalog, "gcp", "ct6e-standard-8t", "us-east5", Mode.SPOT).price_usd_per_hour == pytest.approx(8 * 1.215)


def test_a_reservation_without_a_price_borrows_the_on_demand_one(catalog):
    offering = find(catalog, "gcp", "a3-ultragpu-8g", "us-central1", Mode.RESERVATION)
    assert offering.price_usd_per_hour == pytest.approx(84.806908)
    assert offering.price_is_reference


def test_types_without_on_demand_are_not_offered_on_demand(catalog):
    names = {o.machine.name for o in query.offerings(catalog, "gcp", ("us-central1",), (Mode.ON_DEMAND,))}
    assert "a3-highgpu-8g" in names
    assert not {"a3-highgpu-1g", "a3-ultragpu-8g", "a4-highgpu-8g"} & names


def test_machines_without_an_api_name_are_never_offered(catalog):
    names = {o.machine.name for o in query.offerings(catalog, "aws")}
    assert not {"p6e-gb300", "trn3-gen1-ultraserver", "p6e-gb200.36xlarge"} & names
    assert "u-p6e-gb200x36" in names
    assert catalog.machine_by_name["u-p6e-gb200x36"].unit_nodes * 4 == 36


def test_regions_can_be_patterns_and_order_is_deterministic(catalog):
    once = list(query.offerings(catalog, "aws", ("us-*",), (Mode.SPOT, Mode.ON_DEMAND)))
    assert {o.region for o in once} == {"us-east-1", "us-east-2", "us-west-1", "us-west-2"}
    assert once == list(query.offerings(catalog, "aws", ("us-*",), (Mode.SPOT, Mode.ON_DEMAND)))
    assert [o.capacity for o in once[:2]] == [Mode.SPOT, Mode.ON_DEMAND]


def test_no_price_is_zero_and_every_mode_is_known(catalog):
    for cloud in ("aws", "gcp"):
        for offering in query.offerings(catalog, cloud):
            assert offering.price_usd_per_hour is None or offering.price_usd_per_hour > 0
            assert offering.capacity in offering.machine.capacity_modes
            assert offering.price_is_reference == bool(offering.price_words and offering.price_usd_per_hour)


def test_owned_servers_have_no_region_and_no_price(catalog):
    offering = next(o for o in query.offerings(catalog, "kubernetes") if o.machine.name == "xe9680-h100")
    assert (offering.region, offering.price_usd_per_hour, offering.price_words) == ("", None, "owned: no hourly price")


@pytest.mark.parametrize(
    ("alias", "name"), [("H100", "NVIDIA H100 80GB SXM5"), ("v5e", "TPU v5e"), ("nvidia-l4", "NVIDIA L4"), ("trn2", "AWS Trainium2")]
)
def test_accelerators_answer_to_their_aliases(catalog, alias, name):
    assert query.accelerator(catalog, alias).name == name


def test_unknown_names_are_none_with_hints(catalog):
    assert query.machine(catalog, "p5.48xlage") is None
    assert query.nearest("p5.48xlage", catalog.machine_by_name)[0] == "p5.48xlarge"
    assert query.nearest("A100", catalog.accelerator_by_name)[:2] == ("a100-40gb", "a100-80gb")
    assert query.nearest("quantum", catalog.machine_by_name) == ()


def test_slices_of_a_host_are_its_topologies(catalog):
    shapes = [piece.topology for piece in query.slices(catalog, "ct5lp-hightpu-4t")]
    assert {"2x2", "4x4", "16x16"} <= set(shapes)
    assert query.slices(catalog, "p5.48xlarge") == ()


@pytest.mark.parametrize(
    ("zone", "region"),
    [("us-central1-b", "us-central1"), ("us-central1-ai1", "us-central1"), ("us-south1-ai1b", "us-south1"), ("us-east-1a", "us-east-1")],
)
def test_the_region_of_a_zone_is_its_name_without_the_zone(zone, region):
    assert Catalog.default().region_of_zone(zone) == region
