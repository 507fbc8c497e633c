"""Memory, time and evidence of training layouts, as the search asks for them: the only module of the search that knows the formulas."""

from dataclasses import dataclass

import numpy as np

from rackwright.estimate.case import TrainingCase
from rackwright.estimate.result import MemoryTerms, StepTerms
from rackwright.sizing import compute, priors, traffic
from rackwright.sizing import memory as formula
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.memory import Split
from rackwright.sizing.traffic import Links


@dataclass(frozen=True)
class Evidence:
    band: float
    words: str


def _prior(job, t):
    n = job.network
    return priors.find(t.accelerator, t.vendor, job.method, job.precision, n.is_moe, job.sequence, n.active)


def evidence(job, target) -> Evidence | None:
    p = _prior(job, target)
    return None if p is None else Evidence(p.band, p.words)


def _split(w, job, recompute) -> Split:
    return Split(
        tensor=w.tensor, pipeline=w.pipeline, context=w.context, expert=w.expert, shards=w.shards, replicas=w.replicas,
        zero_stage=w.zero_stage, tokens=w.micro_batch * job.tokens_per_sequence, micro_batches=w.micro_batches, recompute=recompute >= 2,
    )  # fmt: skip


def memory(job, layouts, recompute, a: Assumptions) -> MemoryTerms:
    t = formula.training_terms(job.network, job.recipe, _split(layouts, job, recompute), a)
    margin = t.allocated * (a.reserved_per_allocated * a.memory_p80 - 1)
    return MemoryTerms(t.weights, t.gradients, t.optimizer, t.activations, t.head, 0.0, t.fixed, margin)


def need_bytes(job, layouts, recompute, a):
    return memory(job, layouts, recompute, a).total


def bound_s(job, machines, layouts, target, row, recompute, a):
    """Compute and bubble alone."""
    mfu, again = _efficiencies(job, machines)
    n = job.network
    factor = compute.recompute_factor(_passes(job), again, a.recompute_visible)
    rate = _peak(job, machines.chip) * mfu * factor / (1 - (a.published_exposed_share_moe if n.is_moe else a.published_exposed_share))
    split = layouts.tensor * layouts.pipeline * layouts.context
    per_micro = layouts.micro_batch * job.flops_per_sequence / split
    whole = per_micro * (layouts.micro_batches + layouts.pipeline - 1)
    return whole[row] * compute.recompute_factor(_passes(job), recompute >= 2, a.recompute_visible) / rate[target]


def _peak(job, chip):
    return chip.peak_flops if job.precision == "fp32" else chip.base_peak_flops


def _passes(job):
    return "full" if job.method == "sample" else job.method


def _efficiencies(job, machines):
    found = [_prior(job, t) for t in machines.targets]
    return np.array([p.mfu if p else 1e-9 for p in found]), np.array([p.recompute == "full" if p else False for p in found])


def step(job, machines, target, case: TrainingCase, a: Assumptions) -> StepTerms:
    """T = m T_mb + (p - 1) T_mb + exposed data-parallel traffic + optimizer; T_mb is one micro-batch through one stage."""
    n, wires = job.network, case.wires
    links = Links(wires.scale_up_bytes_per_s, wires.scale_out_bytes_per_s * wires.per_node, wires.per_node, wires.domain)
    mfu, again = _efficiencies(job, machines)
    efficiency = (mfu * compute.recompute_factor(_passes(job), again, a.recompute_visible))[target]
    full = case.recompute >= 2
    tokens = case.micro_batch * case.sequence / case.context
    flops = case.micro_batch * job.flops_per_sequence / (case.tensor * case.pipeline * case.context)
    hardware_flops = flops * compute.recompute_factor(_passes(job), full, a.recompute_visible)
    alike = 1.0 if n.layers else n.flops_per_sample / (2 * n.trunk)
    filled = compute.saturation(tokens * alike / case.tensor, a)
    work = compute.compute_seconds(hardware_flops, _peak(job, case.chip), efficiency, n.is_moe, a) / filled
    layers = n.layers / case.pipeline
    sent = traffic.tensor_bytes(case.tensor, tokens, n.hidden, layers) * (1 + 0.5 * full)
    tensor = traffic.exposed(traffic.local_seconds(sent, case.tensor, links, a), a.hidden_tensor, work)
    rings = traffic.context_bytes(case.context, tokens * case.context, n.kv_heads * n.head_dim / case.tensor, layers)
    context = traffic.exposed(traffic.local_seconds(rings, case.context * case.tensor, links, a), a.hidden_context, work)
    moved = traffic.expert_bytes(case.expert, tokens / case.tensor, n.hidden, n.top_k, n.moe_layers / case.pipeline)
    expert = traffic.exposed(traffic.local_seconds(moved, case.expert, links, a), a.hidden_expert, work)
    passed = np.where(case.pipeline > 1, traffic.pipeline_bytes(tokens, n.hidden, case.tensor), 0.0)
    pipe = traffic.local_seconds(passed, case.tensor * case.pipeline, links, a)
    m = case.micro_batches
    data = _data(job, case, links, np.where(case.chip.is_tpu > 0, 1, machines.nodes[target]), work, a)
    local = _local(job, case)
    trained = local if not job.recipe.is_adapter else job.recipe.trainable / (case.tensor * case.pipeline)
    states = trained / np.where(case.zero_stage >= 1, case.shards, 1)
    adam = a.optimizer_traffic * states / (case.chip.bandwidth_bytes_per_s * a.memory_bandwidth_efficiency)
    inside = tensor + context + expert + pipe
    return StepTerms(m * work, 0.0, (case.pipeline - 1) * (work + inside), adam, 0.0, m * tensor, m * context, m * expert, m * pipe, data)


def _local(job, case):
    n = job.network
    return ((n.trunk - n.routed) / case.tensor + n.routed / np.maximum(case.expert, case.tensor)) / case.pipeline


def _data(job, case, links, nodes, work, a):
    n, sharded, local = job.network, case.zero_stage >= 3, _local(job, case)
    if job.recipe.is_adapter:
        small = traffic.data_bytes(case.replicas, job.recipe.trainable / case.tensor, np.minimum(case.zero_stage, 2), case.micro_batches)
        gathers = traffic.data_bytes(case.shards, local, case.zero_stage, case.micro_batches, 0.0, job.recipe.linear_bytes)
        volume = small + np.where(sharded, gathers, 0.0)
    else:
        volume = traffic.data_bytes(case.replicas * case.context, local, case.zero_stage, case.micro_batches)
    pieces = case.tensor * case.pipeline
    experts_share = n.routed / np.maximum(case.expert, case.tensor) / case.pipeline / np.maximum(local, 1)
    pieces = pieces * (1 - experts_share) + np.maximum(pieces, case.expert * case.pipeline) * experts_share
    copies = np.minimum(pieces, links.per_node)
    transfer = traffic.spread_seconds(volume, copies, nodes, links, a)
    return traffic.exposed(transfer, a.hidden_data, work * np.where(sharded, case.micro_batches, 1))
