"""Switches, cables, racks, power and prices of a purchase, computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing.purchase.purchase_plan import Prices, PurchasePlan, ServerFacts, Site, SwitchFacts
from rackwright.sizing.purchase.racks import Load, racks_needed
from rackwright.sizing.purchase.switches import fat_tree

SERVER = ServerFacts("dgx-h100", "NVIDIA DGX H100", 8, 8, 10_200.0, True, 8)
SWITCH = SwitchFacts("qm9700", 64, 2, 1, 1_500.0)
PRICES = Prices(server=300_000, switch=25_000, cable=300, server_transceiver=900, switch_transceiver=1_500, rack=8_000)
SITE = Site(42, 44_000.0, 1.4, 4 * 8766 * 3600.0, 0.14)


@pytest.mark.parametrize(
    ("servers", "leaves", "spines", "cores", "server_links", "switch_links"),
    [
        (1, 0, 0, 0, 0, 0),
        (4, 1, 0, 0, 32, 0),  # 32 ports fit into one switch of 64
        (8, 1, 0, 0, 64, 0),
        (9, 3, 2, 0, 72, 72),  # 3 rails of 9 servers are 27 of the 32 ports down of a leaf
        (16, 4, 2, 0, 128, 128),
        (32, 8, 4, 0, 256, 256),  # one leaf per rail; 256 / 64 spines
        (40, 10, 8, 0, 320, 320),  # 8 leaves for 32 servers, 2 for the 4 rails each of the other 8; 5 spines do not divide 32 uplinks
        (64, 16, 8, 0, 512, 512),
        (96, 24, 16, 0, 768, 768),  # 2 uplinks of a leaf to each of 16 spines; 12 spines would have unequal numbers
        (128, 32, 16, 0, 1024, 1024),
        (200, 50, 32, 0, 1600, 1600),
        (256, 64, 32, 0, 2048, 2048),
        (300, 76, 80, 64, 2400, 4800),  # pods of 32, 32 and 16 spines (11 for 352 ports, rounded up); 2 cores for each spine of a pod
        (512, 128, 128, 64, 4096, 8192),
        (1024, 256, 256, 128, 8192, 16384),
    ],
)
def test_the_fabric_equals_the_reference_architecture(servers, leaves, spines, cores, server_links, switch_links):
    """64 servers and more: table 3 of NVIDIA's reference architecture of DGX SuperPOD (B200)."""
    found = fat_tree(servers, 8, 64)
    assert (found.leaves, found.spines, found.cores) == (leaves, spines, cores)
    assert (found.server_links, found.switch_links) == (server_links, switch_links)


def test_more_ports_than_three_tiers_join_are_refused():
    with pytest.raises(ValueError, match="65544"):
        fat_tree(8193, 8, 64)


@given(st.integers(2, 256), st.sampled_from([1, 2, 4, 8]), st.sampled_from([40, 64]))
def test_no_tier_has_more_links_than_ports(servers, rails, ports):
    if servers * rails > ports * ports // 2:
        return
    found = fat_tree(servers, rails, ports)
    assert found.leaves * ports >= found.server_links + found.switch_links
    assert found.spines * ports >= found.switch_links
    assert found.switches >= 1
    assert not found.spines or (ports // 2) % found.spines == 0


@pytest.mark.parametrize(
    ("servers", "switches", "cables", "switch_transceivers", "kw", "btu", "units", "racks", "usd"),
    [
        # 4 * 10.2 + 1.5 = 42.3 kW; 4 servers and the switch are 33 U in one rack of 44 kW
        (4, 1, 32, 16, 42.3, 144_328, 33, 1, 1_200_000 + 25_000 + 9_600 + 28_800 + 24_000 + 8_000),
        # 8 racks of 4 servers have 3.2 kW and 10 U left: 2 switches each, so 12 switches fit
        (32, 12, 512, 384, 344.4, 1_175_093, 268, 8, 9_600_000 + 300_000 + 153_600 + 230_400 + 576_000 + 64_000),
        (128, 48, 2048, 1536, 1377.6, 4_700_371, 1072, 32, 38_400_000 + 1_200_000 + 614_400 + 921_600 + 2_304_000 + 256_000),
        (256, 96, 4096, 3072, 2755.2, 9_400_742, 2144, 64, 76_800_000 + 2_400_000 + 1_228_800 + 1_843_200 + 4_608_000 + 512_000),
    ],
)
def test_a_purchase_by_hand(servers, switches, cables, switch_transceivers, kw, btu, units, racks, usd):
    found = PurchasePlan(SERVER, SWITCH, servers, PRICES, SITE)
    assert (found.fabric.switches, found.fabric.cables, found.switch_transceivers) == (switches, cables, switch_transceivers)
    assert found.it_watts == pytest.approx(kw * 1000)
    assert found.facility_watts == pytest.approx(kw * 1400)
    assert found.btu_per_hour == pytest.approx(btu, rel=1e-5)
    assert (found.rack_units, found.racks) == (units, racks)
    assert found.purchase_usd == usd
    assert found.missing == ()
    assert found.depreciation_usd_per_year == pytest.approx(usd / 4)
    assert found.energy_usd_per_year == pytest.approx(kw * 1.4 * 8766 * 0.14)
    assert found.usd_per_server_hour == pytest.approx((usd / 4 / 8766 + kw * 1.4 * 0.14) / servers)


def test_unknown_values_stay_unknown_and_are_named():
    found = PurchasePlan(SERVER, SwitchFacts("qm9700", 64, 2, 1, None), 4, Prices(server=300_000), Site(42, None, 1.4))
    assert (found.it_watts, found.btu_per_hour, found.purchase_usd, found.usd_per_server_hour) == (None, None, None, None)
    assert found.known_usd == 1_200_000
    assert found.missing == (
        "prices.switch", "prices.cable", "prices.server_transceiver", "prices.switch_transceiver", "prices.rack",
        "lifetime", "electricity", "switch_watts",
    )  # fmt: skip


def test_one_server_needs_no_fabric_and_its_price_is_not_missing():
    found = PurchasePlan(SERVER, SWITCH, 1, Prices(server=300_000, rack=8_000), SITE)
    assert (found.fabric.switches, found.switch_transceivers, found.purchase_usd) == (0, 0, 308_000)


@pytest.mark.parametrize(
    ("servers", "switches", "units", "watts", "racks"),
    [
        (Load(4, 8, 10_200), Load(1, 1, 1_500), 42, 20_000, 4),  # one server a rack; the switch is beside one
        (Load(4, 8, 10_200), Load(0, 1, 1_500), 42, None, 1),
        (Load(5, 8, 10_200), Load(3, 1, 1_500), 42, None, 2),  # two switches above five servers, the third in a second rack
        (Load(1, 8, 10_200), Load(0, 1, 0), 42, 9_000, None),
        (Load(1, 8, None), Load(0, 1, None), 42, 9_000, 1),
    ],
)
def test_racks_by_space_and_power(servers, switches, units, watts, racks):
    assert racks_needed(servers, switches, units, watts) == racks
