"""NIC layouts compared with the numbers of independent projects (EFA health checks, Karpenter, cluster-toolkit)."""

import pytest
from rackwright.catalog.rows import Fabric

# type: network cards, ENIs per card, EFA devices, whether card 0 carries EFA
EFA_TABLE = {
    "p4d.24xlarge": (4, 15, 4, True),
    "p4de.24xlarge": (4, 15, 4, True),
    "p5.4xlarge": (1, 4, 1, True),
    "p5.48xlarge": (32, 2, 32, True),
    "p5e.48xlarge": (32, 2, 32, True),
    "p5en.48xlarge": (16, 4, 16, True),
    "p6-b200.48xlarge": (8, 4, 8, True),
    "p6-b300.48xlarge": (17, 4, 16, False),
    "g6e.48xlarge": (4, 10, 4, True),
    "g6e.24xlarge": (2, 10, 2, True),
    "g7e.48xlarge": (4, 10, 4, True),
    "g7e.24xlarge": (2, 10, 2, True),
    "g6.48xlarge": (1, 15, 1, True),
    "g5.48xlarge": (1, 7, 1, True),
    "g6e.8xlarge": (1, 8, 1, True),
    "g6e.16xlarge": (1, 15, 1, True),
    "g7e.8xlarge": (1, 8, 1, True),
    "g7e.12xlarge": (1, 10, 1, True),
    "trn1.32xlarge": (8, 5, 8, True),
    "trn1n.32xlarge": (16, 5, 16, True),
    "trn2.48xlarge": (16, 2, 16, True),
}
# type: fabric, fabric NICs, extra node networks, MTU, network profile
GCP_TABLE = {
    "a3-highgpu-8g": (Fabric.TCPX, 4, 4, 8244, ""),
    "a3-megagpu-8g": (Fabric.TCPXO, 8, 8, 8244, ""),
    "a3-ultragpu-8g": (Fabric.ROCE, 8, 9, 8896, "vpc-roce"),
    "a4-highgpu-8g": (Fabric.ROCE, 8, 9, 8896, "vpc-roce"),
    "a4x-highgpu-4g": (Fabric.ROCE, 4, 5, 8896, "vpc-roce"),
    "a4x-maxgpu-4g-metal": (Fabric.ROCE, 8, 9, 4096, "vpc-roce-metal"),
}


@pytest.mark.parametrize(("name", "expected"), EFA_TABLE.items())
def test_efa_counts_equal_the_oracles(catalog, name, expected):
    m = catalog.machine_by_name[name]
    assert (m.network_cards, m.enis_per_card, m.efa_interfaces, m.card0_efa) == expected
    assert m.fabric is Fabric.EFA


def test_one_efa_per_card_and_only_on_cards_that_exist(catalog):
    for m in catalog.machines:
        if m.efa_interfaces and m.name != "p6e-gb200.36xlarge":
            assert len(set(m.efa_cards)) == len(m.efa_cards) == m.efa_interfaces, m.name
            assert max(m.efa_cards) < m.network_cards, m.name


def test_p6_b300_keeps_card_zero_free_of_efa(catalog):
    assert catalog.machine_by_name["p6-b300.48xlarge"].efa_cards == tuple(range(1, 17))


@pytest.mark.parametrize("name", ["inf2.48xlarge", "g5g.16xlarge", "g6f.4xlarge", "g5.4xlarge"])
def test_machines_without_efa_have_none(catalog, name):
    m = catalog.machine_by_name[name]
    assert (m.fabric, m.efa_interfaces, m.efa_cards) == (Fabric.NONE, 0, ())


@pytest.mark.parametrize(("name", "expected"), GCP_TABLE.items())
def test_gcp_fabrics_equal_the_oracles(catalog, name, expected):
    m, layout = catalog.machine_by_name[name], catalog.layout_by_machine[name]
    assert (m.fabric, m.fabric_interfaces, m.extra_networks, layout.mtu, layout.network_profile) == expected


@pytest.mark.parametrize("name", ["a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g", "a2-highgpu-8g"])
def test_small_a3_and_a2_have_no_accelerator_fabric(catalog, name):
    m = catalog.machine_by_name[name]
    assert (m.fabric, m.extra_networks) == (Fabric.TCP, 0)


def test_rdma_pods_start_at_eth2_and_tcp_ones_at_eth1(catalog):
    first = {name: catalog.layout_by_machine[name].first_interface for name in GCP_TABLE}
    assert first["a3-ultragpu-8g"] == first["a4-highgpu-8g"] == "eth2"
    assert first["a3-highgpu-8g"] == first["a3-megagpu-8g"] == "eth1"


def test_every_layout_belongs_to_a_machine_with_the_same_fabric(catalog):
    for layout in catalog.layouts:
        m = catalog.machine_by_name[layout.machine]
        assert (m.cloud, m.fabric) == (layout.cloud, layout.fabric)


def test_the_fabric_is_never_faster_than_all_interfaces_together(catalog):
    for m in catalog.machines:
        if m.fabric_bytes_per_s and m.network_bytes_per_s:
            assert m.fabric_bytes_per_s <= m.network_bytes_per_s * 1.001, m.name


def test_nvl72_reaches_beyond_the_node(catalog):
    assert catalog.machine_by_name["a4x-highgpu-4g"].scale_up_domain == 72
    assert catalog.machine_by_name["p5.48xlarge"].scale_up_domain == 8
    assert catalog.machine_by_name["p5.4xlarge"].scale_up_domain == 1
    assert catalog.machine_by_name["a2-megagpu-16g"].scale_up_domain == 16
    assert catalog.machine_by_name["g6e.48xlarge"].scale_up_domain is None
