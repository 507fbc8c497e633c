"""What accelerators send one another in a training step, and how long it takes. Numbers or arrays in, bytes and seconds out.

Volumes are bytes that leave one accelerator. Sources: Korthikanti et al. 2022 (arXiv 2205.05198) for tensor parallelism, Narayanan et
al. 2021 (arXiv 2104.04473) for pipelines, Rajbhandari et al. 2020 (arXiv 1910.02054) for sharded data parallelism, Liu et al. 2023
(arXiv 2310.01889) for rings of context, DeepSeek-AI 2024 (arXiv 2412.19437, section 3.2) for experts.
"""

import numpy as np

from rackwright.estimator.case import Num, Wires

ELEMENT_BYTES = 2.0
"""Of an activation or a gathered weight: 16 bit."""
LINK_EFFICIENCY = 0.8
"""Of the line rate, what large collectives reach: NCCL tests on NVSwitch and InfiniBand print 75 to 90 %."""
HOP_S = 3e-6
"""From one accelerator to the next over the scale-up link: NCCL's ring latency (sizing.md section 8)."""
NODE_HOP_S = 10e-6
"""From one node to the next (sizing.md section 8)."""


def tensor_bytes(tensor: Num, tokens: Num, hidden: Num, passes: Num = 2.0) -> Num:
    """Per layer: two all-reduces of the hidden state in each pass (forward, backward, forward again); sequence parallelism sends the
    same as gathers and scatters."""
    return 4.0 * passes * (tensor - 1) / tensor * tokens * hidden * ELEMENT_BYTES


def context_bytes(context: Num, tokens: Num, kv_width: Num) -> Num:
    """Per layer: keys and values go round the ring once forward, twice backward. tokens: of the whole sequences; kv_width: k * d."""
    return 3 * 2.0 * (context - 1) / context * kv_width * tokens * ELEMENT_BYTES


def pipeline_bytes(pipeline: Num, tokens: Num, hidden: Num) -> Num:
    """Activations forward and their gradients back over one boundary, for one micro-batch; nothing without a pipeline."""
    return np.where(np.greater(pipeline, 1), 2.0 * tokens * hidden * ELEMENT_BYTES, 0.0)


def expert_bytes(expert: Num, tokens: Num, width: Num, top_k: Num, domain: Num) -> tuple[Num, Num]:
    """Per layer, (over scale-up, over the network): dispatch and combine, forward and backward, of the tokens one accelerator holds.

    A token goes to each of its experts' accelerators, but over the network only once to each node that has one of them.
    """
    each = 4.0 * tokens * width * ELEMENT_BYTES
    nodes = np.maximum(expert / domain, 1.0)
    reached = nodes * (1 - (1 - 1 / nodes) ** top_k)
    return each * top_k * (expert - 1) / expert, each * reached * (nodes - 1) / nodes


def reduce_bytes(group: Num, parameters: Num, gradient: Num) -> Num:
    """Once a step: gradients are reduced and weights gathered again (ZeRO-1 and 2), or gradients all-reduced, which is as much."""
    return (group - 1) / group * parameters * (gradient + ELEMENT_BYTES)


def gather_bytes(group: Num, parameters: Num) -> Num:
    """Every micro-batch of ZeRO-3: weights are gathered forward and backward, gradients scattered."""
    return 3.0 * (group - 1) / group * parameters * ELEMENT_BYTES


def group_seconds(volume: Num, group: Num, wires: Wires) -> Num:
    """Over the scale-up link, or over the accelerator's share of the network when the group is larger than its domain."""
    link = np.where(np.greater(group, wires.domain), wires.scale_out_bytes_per_s, wires.scale_up_bytes_per_s)
    return volume / (link * LINK_EFFICIENCY)


def ring_latency_s(group: Num, domain: Num = np.inf) -> Num:
    """Of one all-reduce, however little it carries: once around to reduce, once to gather. Every domain that the ring leaves costs a hop
    over the network."""
    crossings = np.where(np.greater(group, domain), np.ceil(group / domain), 0.0)
    return 2 * ((group - 1 - np.maximum(crossings - 1, 0)) * HOP_S + crossings * NODE_HOP_S)


def expert_seconds(volumes: tuple[Num, Num], wires: Wires) -> Num:
    """Inside the domain and out of it, one after the other."""
    inside, outside = volumes
    return (inside / wires.scale_up_bytes_per_s + outside / wires.scale_out_bytes_per_s) / LINK_EFFICIENCY


def sharded_collective_seconds(volume: Num, group: Num, copies: Num, wires: Wires) -> Num:
    """A collective over `group` accelerators with rings inside the nodes and one per NIC between them.

    copies: different shards in a row of neighbouring accelerators (tensor parallelism), each of which crosses the network by itself.
    """
    inside = volume / wires.scale_up_bytes_per_s
    between = volume * np.minimum(copies, wires.per_node) / wires.per_node / wires.scale_out_bytes_per_s
    wide = np.greater(group * copies, wires.domain)
    return np.where(wide, np.maximum(inside, between), inside) / LINK_EFFICIENCY


def exposed_seconds(transfer_s: Num, hidden_share: Num, work_s: Num) -> Num:
    """What the step still waits for: the share that cannot hide, and all that is longer than the work it hides behind."""
    return np.maximum(transfer_s * (1 - hidden_share), transfer_s - work_s * hidden_share)
