import numpy as np
import pytest
from rackwright.estimator.case import Links
from rackwright.estimator.training import communication

LINKS = Links(scale_up_bytes_per_s=450e9, scale_out_bytes_per_s=50e9, domain=8.0, per_node=8.0)
GB = 1e9


def test_communication_volumes_match_a_hand_calculation():
    """Two sequences of 4,096 tokens with a hidden size of 8,192."""
    tokens, hidden = 8192.0, 8192.0
    assert communication.tensor_bytes(8, tokens, hidden) == 8 * 7 / 8 * tokens * hidden * 2
    assert communication.tensor_bytes(8, tokens, hidden, passes=3) == 1.5 * communication.tensor_bytes(8, tokens, hidden)
    assert communication.context_bytes(4, tokens, 1024) == 6 * 3 / 4 * tokens * 1024 * 2
    assert communication.pipeline_bytes(4, tokens, hidden) == 2 * tokens * hidden * 2
    assert communication.reduce_bytes(16, 1e9, 4.0) == 15 / 16 * 6e9
    assert communication.gather_bytes(16, 1e9) == 15 / 16 * 6e9


def test_one_accelerator_has_no_communication():
    assert communication.tensor_bytes(1, 4096, 8192) == 0
    assert communication.context_bytes(1, 4096, 1024) == 0
    assert communication.pipeline_bytes(1, 4096, 8192) == 0
    assert communication.reduce_bytes(1, 1e9, 4.0) == communication.gather_bytes(1, 1e9) == 0
    assert communication.expert_bytes(1, 4096, 8192, 8, 8) == (0, 0)
    assert communication.ring_latency_s(1) == 0


def test_experts_of_one_domain_send_nothing_over_the_network():
    inside, outside = communication.expert_bytes(8, 4096.0, 7168.0, 8, 8.0)
    assert inside == 4 * 4096 * 7168 * 2 * 8 * 7 / 8
    assert outside == 0


def test_a_token_crosses_the_network_once_per_node_with_one_of_its_experts():
    """Eight experts over eight nodes are on 5.25 nodes on average, seven eighths of them other nodes."""
    _, outside = communication.expert_bytes(64, 4096.0, 7168.0, 8, 8.0)
    assert outside / (4 * 4096 * 7168 * 2) == pytest.approx(8 * (1 - (7 / 8) ** 8) * 7 / 8)


def test_a_group_larger_than_its_domain_goes_over_the_network():
    assert communication.group_seconds(36 * GB, 8, LINKS) == pytest.approx(0.1)
    assert communication.group_seconds(36 * GB, 16, LINKS) == pytest.approx(0.9)


def test_every_nic_of_a_node_carries_a_share_of_the_ring():
    """One shard is sent over the eight NICs of a node; of eight shards, each is sent over one NIC."""
    assert communication.sharded_collective_seconds(36 * GB, 64, 1, LINKS) == pytest.approx(36 / 8 / 50 / 0.8)
    assert communication.sharded_collective_seconds(36 * GB, 8, 8, LINKS) == pytest.approx(36 / 50 / 0.8)
    assert communication.sharded_collective_seconds(36 * GB, 8, 1, LINKS) == pytest.approx(36 / 450 / 0.8)


def test_a_rack_is_left_once_over_the_nics_of_all_its_accelerators():
    """144 accelerators are two racks of 72; 128 are two racks with 64 each."""
    rack = Links(scale_up_bytes_per_s=900e9, scale_out_bytes_per_s=50e9, domain=72.0, per_node=4.0)
    assert communication.sharded_collective_seconds(720 * GB, 72, 1, rack) == pytest.approx(720 / 900 / 0.8)
    assert communication.sharded_collective_seconds(720 * GB, 9, 16, rack) == pytest.approx(720 * 16 / 72 / 50 / 0.8)
    assert communication.sharded_collective_seconds(640 * GB, 8, 16, rack) == pytest.approx(640 * 16 / 64 / 50 / 0.8)


def test_a_group_within_one_domain_does_not_use_the_network():
    assert communication.sharded_collective_seconds(36 * GB, 8, 8, LINKS, span=8) == pytest.approx(36 / 450 / 0.8)


def test_exposed_time_is_the_share_that_cannot_overlap_or_the_excess_over_compute():
    assert communication.exposed_seconds(1.0, 0.9, 100.0) == pytest.approx(0.1)
    assert communication.exposed_seconds(10.0, 0.9, 1.0) == pytest.approx(9.1)
    assert np.all(communication.exposed_seconds(np.linspace(0, 10, 50), 0.9, 5.0) >= 0)


def test_small_all_reduce_latency_is_two_rounds_of_the_ring():
    assert communication.ring_latency_s(8) == pytest.approx(42e-6)


def test_a_ring_across_domains_adds_one_network_hop_per_domain():
    assert communication.ring_latency_s(16, 8.0) == pytest.approx(2 * (14 * 3e-6 + 2 * 10e-6))
    assert communication.ring_latency_s(8, 8.0) == communication.ring_latency_s(8)
