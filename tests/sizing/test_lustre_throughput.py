"""Throughput of FSx for Lustre: the least of tier, clients and servers, by the tables of AWS."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.sizing.node.lustre_throughput import LustreTerm, LustreThroughput, lustre_clients, lustre_interfaces, lustre_throughput
from rackwright.wording.notes import note_text

CATALOG = Catalog.default()
EFA_TIERS, TCP_TIERS = (query.ssd_tiers(CATALOG, rdma) for rdma in (True, False))


def throughput(tier: int, gib: int, machine: str, nodes: int, efa: bool = False, interfaces: int | None = None) -> LustreThroughput:
    node = CATALOG.machine(machine)
    used = (lustre_interfaces(node, nodes, CATALOG) if efa else 0) if interfaces is None else interfaces
    return lustre_throughput((EFA_TIERS if efa else TCP_TIERS)[tier], gib, None, lustre_clients(node, nodes, used, CATALOG), CATALOG)


@pytest.mark.parametrize(
    ("given", "gb_per_s", "term"),
    [
        # 36,000 GiB are 35.16 TiB of 500 MB/s: 17.6 GB/s. 15 servers of 2,400 GiB x 2 clients x 5 Gbit/s: 18.75. 2 x 100 Gbit/s: 25.
        ((500, 36000, "p6-b200.48xlarge", 2), 17.578, LustreTerm.TIER),
        # 19,200 GiB of 1000 MB/s: 18.75 GB/s. 2 x 700 Gbit/s: 175. 4 servers, whose network is 2,600 MB/s per TiB.
        ((1000, 19200, "p6-b200.48xlarge", 2, True), 18.75, LustreTerm.TIER),
        # the same 4 servers over TCP: 4 x 2 x 5 Gbit/s
        ((1000, 19200, "p6-b200.48xlarge", 2, True, 0), 5.0, LustreTerm.SERVERS),
        # 7 servers of 2,400 GiB x 1 client x 5 Gbit/s
        ((1000, 16800, "p5.48xlarge", 1), 4.375, LustreTerm.SERVERS),
        # 100 servers: more than the network of two clients
        ((500, 240000, "p5.48xlarge", 2), 25.0, LustreTerm.CLIENTS),
        # baseline of 5 Gbit/s, not the burst of 20; 10 servers x 1 x 5 Gbit/s
        ((1000, 24000, "g6e.2xlarge", 1), 0.625, LustreTerm.CLIENTS),
        # 4 x 10 Gbit/s baseline; 4 servers x 4 clients x 5 Gbit/s: 10; 9.375 TiB of 1000 MB/s: 9.4
        ((1000, 9600, "g6.4xlarge", 4), 5.0, LustreTerm.CLIENTS),
        # 2 interfaces of 100 Gbit/s are less than the 700 of the file system
        ((1000, 96000, "g6e.48xlarge", 3, True), 75.0, LustreTerm.CLIENTS),
        ((125, 1200, "p5.48xlarge", 4), 0.1465, LustreTerm.TIER),
    ],
)
def test_the_lowest_of_three_limits(given, gb_per_s, term):
    found = throughput(*given)
    assert found.bytes_per_s == pytest.approx(gb_per_s * 1e9, rel=1e-3)
    assert found.term is term
    assert note_text(found.note).startswith(f"{gb_per_s:,.1f} GB/s, limited by ")


def test_an_intelligent_tiering_server_has_4_gb_per_s():
    clients = lustre_clients(CATALOG.machine("p5.48xlarge"), 4, 0, CATALOG)
    found = lustre_throughput(CATALOG.volume("fsx-lustre-intelligent-tiering"), 5000, 12000, clients, CATALOG)
    assert (found.servers, found.term, found.bytes_per_s) == (3, LustreTerm.SERVERS, 3 * 4 * 0.625e9)


@pytest.mark.parametrize("row", [*EFA_TIERS.values(), *TCP_TIERS.values()], ids=lambda row: row.name)
def test_the_network_of_a_server_is_faster_than_its_disks(row):
    """So the servers limit only over TCP, by client. File systems with EFA grow by whole servers."""
    assert row.network_bytes_per_s_per_tib > row.write_bytes_per_s_per_tib
    assert row.server_bytes == row.step_bytes


@given(st.sampled_from([125, 250, 500, 1000]), st.integers(1, 100), st.integers(1, 300), st.booleans())
def test_more_clients_and_more_servers_never_deliver_less(tier, servers, nodes, efa):
    step = (EFA_TIERS if efa else TCP_TIERS)[tier].step_bytes // 2**30
    one = throughput(tier, servers * step, "p5.48xlarge", nodes, efa, 4 if efa else 0)
    more = [
        throughput(tier, (servers + 1) * step, "p5.48xlarge", nodes, efa, 4 if efa else 0),
        throughput(tier, servers * step, "p5.48xlarge", nodes + 1, efa, 4 if efa else 0),
    ]
    assert all(found.bytes_per_s >= one.bytes_per_s for found in more)
    assert math.isfinite(one.bytes_per_s)
