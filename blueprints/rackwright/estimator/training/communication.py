"""Communication volumes of a training step and their time, for scalars or arrays. Does not depend on the catalog or the spec.

Volumes are bytes sent per accelerator. Sources: Korthikanti et al. 2022 (arXiv 2205.05198) for tensor parallelism, Narayanan et al. 2021
(arXiv 2104.04473) for pipelines, Rajbhandari et al. 2020 (arXiv 1910.02054) for sharded data parallelism, Liu et al. 2023 (arXiv
2310.01889) for context parallelism, DeepSeek-AI 2024 (arXiv 2412.19437, section 3.2) for experts.
"""

import numpy as np

from rackwright.estimator.case import Links, Num

ELEMENT_BYTES = 2.0
"""Bytes per activation or gathered weight: 16 bit."""
LINK_EFFICIENCY = 0.8
"""Bandwidth of large collectives over the line rate: NCCL tests on NVSwitch and InfiniBand print 75 to 90 %."""
HOP_S = 3e-6
"""Latency of one hop over the scale-up link (NCCL ring)."""
NODE_HOP_S = 10e-6
"""Latency of one hop between nodes (NCCL ring)."""


def tensor_bytes(tensor: Num, tokens: Num, hidden: Num, passes: Num = 2.0) -> Num:
    """Return the bytes per layer of tensor parallelism: two all-reduces of the hidden state per pass (forward, backward, recompute).

    Sequence parallelism sends the same volume as gathers and scatters. tokens: per accelerator; hidden: values per token.
    """
    return 4.0 * passes * (tensor - 1) / tensor * tokens * hidden * ELEMENT_BYTES


def context_bytes(context: Num, tokens: Num, kv_width: Num) -> Num:
    """Return the bytes per layer of context parallelism: keys and values circle the ring once forward and twice backward.

    tokens: of the whole sequences; kv_width: KV heads times head dimension.
    """
    return 3 * 2.0 * (context - 1) / context * kv_width * tokens * ELEMENT_BYTES


def pipeline_bytes(pipeline: Num, tokens: Num, hidden: Num) -> Num:
    """Return the bytes per micro-batch over one stage boundary: activations forward and gradients backward; 0 without a pipeline."""
    return np.where(np.greater(pipeline, 1), 2.0 * tokens * hidden * ELEMENT_BYTES, 0.0)


def expert_bytes(expert: Num, tokens: Num, width: Num, top_k: Num, domain: Num) -> tuple[Num, Num]:
    """Return the bytes per layer of expert parallelism, (over scale-up, over the network): dispatch and combine, forward and backward.

    tokens: per accelerator. A token is sent to each of its experts' accelerators, but only once over the network to each node.
    """
    each = 4.0 * tokens * width * ELEMENT_BYTES
    nodes = np.maximum(expert / domain, 1.0)
    reached = nodes * (1 - (1 - 1 / nodes) ** top_k)
    return each * top_k * (expert - 1) / expert, each * reached * (nodes - 1) / nodes


def reduce_bytes(group: Num, parameters: Num, gradient: Num) -> Num:
    """Return the bytes per step of ZeRO-1 and 2: reduced gradients and gathered weights. An all-reduce of gradients sends as much."""
    return (group - 1) / group * parameters * (gradient + ELEMENT_BYTES)


def gather_bytes(group: Num, parameters: Num) -> Num:
    """Return the bytes per micro-batch of ZeRO-3: weights gathered forward and backward, gradients scattered."""
    return 3.0 * (group - 1) / group * parameters * ELEMENT_BYTES


def group_seconds(volume: Num, group: Num, links: Links) -> Num:
    """Return the seconds of a collective over the scale-up link, or over the network when the group exceeds the scale-up domain."""
    link = np.where(np.greater(group, links.domain), links.scale_out_bytes_per_s, links.scale_up_bytes_per_s)
    return volume / (link * LINK_EFFICIENCY)


def ring_latency_s(group: Num, domain: Num = np.inf) -> Num:
    """Return the latency of one all-reduce: the ring is passed twice, to reduce and to gather. Leaving a scale-up domain costs a network
    hop."""
    crossings = np.where(np.greater(group, domain), np.ceil(group / domain), 0.0)
    return 2 * ((group - 1 - np.maximum(crossings - 1, 0)) * HOP_S + crossings * NODE_HOP_S)


def expert_seconds(volumes: tuple[Num, Num], links: Links) -> Num:
    """Return the seconds of expert traffic: inside the scale-up domain, then outside."""
    inside, outside = volumes
    return (inside / links.scale_up_bytes_per_s + outside / links.scale_out_bytes_per_s) / LINK_EFFICIENCY


def sharded_collective_seconds(volume: Num, group: Num, copies: Num, links: Links, span: Num | None = None) -> Num:
    """Return the seconds of a collective over `group` accelerators with rings inside scale-up domains and one ring per NIC between them.

    copies: different shards among neighbouring accelerators (tensor parallelism); each crosses the network separately. A domain of
    several nodes is left once, over the NICs of all its accelerators. span: accelerators that the group reaches, default group x copies.
    """
    reach = group * copies if span is None else span
    domains = np.ceil(reach / links.domain)
    nics = np.maximum(links.per_node, np.where(np.greater(links.domain, links.per_node), np.minimum(reach / domains, links.domain), 1.0))
    inside = volume / links.scale_up_bytes_per_s
    between = volume * np.minimum(copies, nics) / nics / links.scale_out_bytes_per_s
    wide = np.greater(reach, links.domain)
    return np.where(wide, np.maximum(inside, between), inside) / LINK_EFFICIENCY


def exposed_seconds(transfer_s: Num, hidden_share: Num, work_s: Num) -> Num:
    """Return the exposed seconds of a transfer: the share that cannot overlap, and the part that is longer than the overlapping work."""
    return np.maximum(transfer_s * (1 - hidden_share), transfer_s - work_s * hidden_share)
