"""What accelerators send one another in a training step, and how much of it shows. Numbers in, numbers out.

Volumes are bytes that leave one accelerator. Sources: Korthikanti et al. 2022 (arXiv 2205.05198) for tensor parallelism, Narayanan et
al. 2021 (arXiv 2104.04473) for pipelines, Rajbhandari et al. 2020 (arXiv 1910.02054) for sharded data parallelism.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.sizing.assumptions import Assumptions

Num = Any


@dataclass(frozen=True)
class Links:
    """scale_up_bytes_per_s: per accelerator and direction inside the domain; node_bytes_per_s: of one node, one direction."""

    scale_up_bytes_per_s: Num
    node_bytes_per_s: Num
    per_node: Num
    domain: Num

    @property
    def scale_out_bytes_per_s(self) -> Num:
        """Share of the node's network that one accelerator has."""
        return self.node_bytes_per_s / self.per_node


def tensor_bytes(tensor: Num, tokens: Num, hidden: int, layers: Num, element: float = 2.0) -> Num:
    """Forward and backward: four all-reduces of the hidden state per layer; sequence parallelism sends the same."""
    return 8.0 * (tensor - 1) / tensor * tokens * hidden * element * layers


def context_bytes(context: Num, tokens: Num, kv_width: float, layers: Num, element: float = 2.0) -> Num:
    """Ring attention: keys and values go round once forward, twice backward. tokens: of the whole sequence; kv_width: k * d."""
    return 3 * 2.0 * (context - 1) / context * kv_width * tokens / context * element * layers


def pipeline_bytes(tokens: Num, hidden: int, tensor: Num = 1, element: float = 2.0) -> Num:
    """Activations forward and their gradients back over one boundary, for one micro-batch."""
    return 2.0 * tokens * hidden * element / tensor


def expert_bytes(expert: Num, tokens: Num, hidden: int, top_k: int, moe_layers: Num, element: float = 2.0) -> Num:
    """Dispatch and combine, forward and backward, of the tokens one accelerator holds."""
    return 4.0 * top_k * hidden * element * tokens * (expert - 1) / expert * moe_layers


def data_bytes(replicas: Num, parameters: Num, zero_stage: Num, micro_batches: Num, gradient: float = 2.0, weight: float = 2.0) -> Num:
    """Per step: all-reduce of gradients (stage 0 to 2: reduce-scatter and all-gather), or for stage 3 two gathers of the weights and
    one reduce-scatter in every micro-batch."""
    ring = (replicas - 1) / replicas * parameters
    sharded = ring * (2 * weight + gradient) * micro_batches
    once = ring * np.where(np.greater_equal(zero_stage, 1), gradient + weight, 2 * gradient)
    return np.where(np.greater_equal(zero_stage, 3), sharded, once)


def spread_seconds(volume: Num, copies_per_node: Num, nodes: Num, links: Links, a: Assumptions) -> Num:
    """Time of a collective over all replicas: inside the nodes over the scale-up link, between them over every NIC at once.

    volume: bytes per accelerator; copies_per_node: different shards that one node holds, each of which crosses its network once.
    """
    inside = volume / (links.scale_up_bytes_per_s * a.link_efficiency)
    between = volume * copies_per_node / (np.maximum(links.node_bytes_per_s, 1.0) * a.link_efficiency)
    spread = np.maximum(inside, between) + np.where(np.greater(volume, 0), a.inter_latency_s * nodes, 0.0)
    return np.where(np.equal(nodes, 1), inside, spread)


def local_seconds(volume: Num, group: Num, links: Links, a: Assumptions) -> Num:
    """Time over the scale-up link, or over the accelerator's share of the network when the group is larger than its domain."""
    inside = volume / (links.scale_up_bytes_per_s * a.link_efficiency)
    outside = volume / (np.maximum(links.scale_out_bytes_per_s, 1.0) * a.link_efficiency)
    return np.where(np.greater(group, links.domain), outside, inside)


def exposed(transfer_s: Num, hidden_share: float, compute_s: Num) -> Num:
    """What the step still waits for: the share that cannot hide, and all that is longer than the work it hides behind."""
    return np.maximum(transfer_s * (1 - hidden_share), transfer_s - compute_s * hidden_share)
