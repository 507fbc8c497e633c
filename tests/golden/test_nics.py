"""One golden per EFA machine type of the catalog: interfaces of both layouts, number of pods, and properties of all layouts.

`RACKWRIGHT_RENEW=nics pytest tests/golden/test_nics.py` renews them.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric
from rackwright.compile.nodes.fabric import FEWEST_ADDRESSES, MOST_BANDWIDTH, fabric_expectation, nic_layout
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan.addresses import max_pods

GOLDEN = Path(__file__).parent / "nics"
TYPES = sorted(m.name for m in Catalog.default().machines if m.fabric is Fabric.EFA and m.fabric_interfaces)
WIDE = [name for name in TYPES if Catalog.default().machine(name).ip_cards]
BOTH = [(name, FEWEST_ADDRESSES) for name in TYPES] + [(name, MOST_BANDWIDTH) for name in WIDE]


def layout(machine, variant):
    try:
        nics = nic_layout(machine, variant)
    except UserError as error:
        return {"refused": str(error.problems[0])}
    return {
        "interfaces": [f"card {nic.card} device {nic.device} {nic.kind}" for nic in nics],
        "efa": sum(nic.kind == "fabric" for nic in nics),
        "addresses": sum(nic.kind == "ip" for nic in nics),
        "pods": {"with prefixes": max_pods(machine, nics, prefixes=True), "without": max_pods(machine, nics, prefixes=False)},
    }


@pytest.mark.parametrize("name", TYPES)
def test_layout(name):
    file = GOLDEN / f"{name}.json"
    found = {variant: layout(Catalog.default().machine(name), variant) for variant in (FEWEST_ADDRESSES, MOST_BANDWIDTH)}
    if os.environ.get("RACKWRIGHT_RENEW") == "nics":
        file.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(file.read_text())


def test_every_golden_has_its_type():
    assert [file.stem for file in sorted(GOLDEN.glob("*.json"))] == sorted(TYPES)


@pytest.mark.parametrize(("name", "variant"), BOTH)
def test_v16_to_v19_hold(name, variant):
    machine = Catalog.default().machine(name)
    nics = nic_layout(machine, variant)
    places = [(nic.card, nic.device) for nic in nics]
    fabric = [nic.card for nic in nics if nic.kind == "fabric"]
    assert nics[0].kind == "ip"
    assert places.count((0, 0)) == 1
    assert len(set(places)) == len(places)
    assert max(Counter(fabric).values()) == 1
    assert all(card < machine.network_cards for card, _ in places)
    assert all(device < machine.enis_per_card for _, device in places if machine.enis_per_card)
    assert (0 in fabric) == machine.card0_efa


@pytest.mark.parametrize(("name", "variant"), BOTH)
def test_every_fabric_interface_is_used(name, variant):
    machine = Catalog.default().machine(name)
    assert sum(nic.kind == "fabric" for nic in nic_layout(machine, variant)) == machine.efa_interfaces == len(machine.efa_cards)


@pytest.mark.parametrize(
    ("name", "count"), [("p5", 32), ("p5e", 32), ("p5en", 16), ("p6-b200", 8), ("p6-b300", 16), ("p4d", 4), ("trn2", 16)]
)
def test_v20_counts(name, count):
    """Recipes V-20."""
    (machine,) = [row for row in Catalog.default().machines if row.name in (f"{name}.48xlarge", f"{name}.24xlarge")]
    assert sum(nic.kind == "fabric" for nic in nic_layout(machine)) == count


@pytest.mark.parametrize("name", TYPES)
def test_prefixes_never_reduce_the_number_of_pods(name):
    machine = Catalog.default().machine(name)
    nics = nic_layout(machine)
    with_prefixes, without = (max_pods(machine, nics, prefixes=prefixes) for prefixes in (True, False))
    assert (with_prefixes is None) == (without is None) == (machine.enis_per_card is None)
    assert with_prefixes is None or with_prefixes >= without > 0


def test_a_p5_has_51_pods_without_prefixes_and_250_with():
    """Recipes 2.2: (2 - 1) x (50 - 1) + 2. EKS and its image count 100, because they count the slot of the fabric's interface as one
    with addresses."""
    machine = Catalog.default().machine("p5.48xlarge")
    assert [max_pods(machine, nic_layout(machine), prefixes=p) for p in (False, True)] == [51, 250]
    assert (max_pods(machine, (), prefixes=False), machine.max_pods) == (100, 100)


def test_the_most_bandwidth_of_a_p5_is_eight_addresses():
    """docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html: an address on every fourth card."""
    nics = nic_layout(Catalog.default().machine("p5.48xlarge"), MOST_BANDWIDTH)
    assert [(nic.card, nic.device) for nic in nics if nic.kind == "ip"] == [(0, 0), *((card, 1) for card in range(4, 32, 4))]


def test_p5_4xlarge_has_a_note_about_gpudirect():
    """dstack 3069: EFA is attached, but data is still copied through host memory."""
    assert fabric_expectation(Catalog.default().machine("p5.4xlarge")).note
    assert not fabric_expectation(Catalog.default().machine("p5.48xlarge")).note


def test_conflicting_sources_give_no_layout():
    """dl1: the API counts four EFA interfaces, the page of the instance type none."""
    machine = Catalog.default().machine("dl1.24xlarge")
    assert (nic_layout(machine), machine.efa_interfaces) == ((), None)
    assert "EFA" in machine.conflict


@pytest.mark.parametrize("name", ["inf2.48xlarge", "g5.4xlarge", "a3-megagpu-8g", "u-p6e-gb200x36"])
def test_unpublished_efa_gives_no_layout(name):
    assert nic_layout(Catalog.default().machine(name)) == ()
