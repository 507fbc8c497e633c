"""Node requirements of the chosen fit, from catalog, spec and the formulas of `formulas` and `power`."""

import math
from collections.abc import Iterator
from dataclasses import replace

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, Machine, Server
from rackwright.sizing.assumptions import DEFAULT, Assumptions, listed
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.node import formulas, power
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS, Tier
from rackwright.sizing.node.requirements import FileSystem, NodeRequirement, NodeRequirements, Power
from rackwright.sizing.plan import Assumption, Fit, SizingPlan
from rackwright.sizing.workload_inputs import architecture_of
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Custom, Finetune, Pretrain, Serve
from rackwright.units import GIB

SHARED_FILE_SYSTEMS = ("fsx-lustre-persistent2-", "managed-lustre-")
"""File system classes that a blueprint can build or a guide names; scratch and previous generations are excluded."""
SSD_BYTES = 375 * GIB
"""One local SSD of Google Cloud that is added by number (docs.cloud.google.com/compute/docs/disks/local-ssd)."""
LINE_RATE = 1e-9
"""GB/s per byte/s."""


def with_node_requirements(plan: SizingPlan, spec: Spec, catalog: Catalog, a: Assumptions = DEFAULT) -> SizingPlan:
    """The plan with the node requirements of its first choice, warnings where a node is too small, and the assumptions used."""
    found = node_requirements(plan, spec, catalog, a)
    if found is None:
        return plan
    shortages = tuple(f"{n.name}: needs {n.need:,.4g} {n.unit} per node, has {n.have:,.4g} ({n.words})" for n in found.short)
    return replace(plan, machine=found, warnings=(*plan.warnings, *shortages), assumptions=(*plan.assumptions, *_assumptions(found)))


def _assumptions(found: NodeRequirements) -> Iterator[Assumption]:
    yield from listed(NODE_ASSUMPTIONS)
    if found.power:
        yield from listed(power.POWER_ASSUMPTIONS)


def node_requirements(plan: SizingPlan, spec: Spec, catalog: Catalog, a: Assumptions = DEFAULT) -> NodeRequirements | None:
    """Requirements of the chosen fit; None without one. Rates and sizes that the fit does not have are None."""
    fit, w = plan.chosen, spec.workload
    node = catalog.machine_by_name.get(fit.candidate.machine) if fit else None
    if fit is None or node is None or isinstance(w, Custom):
        return None
    c = fit.candidate
    server = next((s for s in catalog.servers if s.machine == node.name), None)
    drawn = _power(fit, node, query.accelerator(catalog, c.accelerator), server)
    supplies, owned = tuple(_supplies(drawn, server)), _on_premises(fit, catalog)
    if not isinstance(w, TRAINING):
        return NodeRequirements(c.nodes, (*_serving(plan, fit, node, a, _images(spec)), *supplies), power=drawn, owned=owned)
    interval = w.checkpoint.interval if isinstance(w.checkpoint.interval, float) else None
    window = checkpoints.plan_checkpoints(plan.facts.checkpoint_bytes, 1.0, interval, a)
    sample = _sample_bytes(w)
    read = _read(plan, fit, sample, a)
    throughput = window.throughput_bytes_per_s
    return NodeRequirements(
        nodes=c.nodes,
        needs=(*_training(plan, fit, node, w, sample, throughput + (read or 0.0), a), *supplies),
        dataset_read_bytes_per_s=read,
        checkpoint_bytes=window.bytes,
        checkpoint_write_s=window.write_s,
        checkpoint_bytes_per_s=throughput,
        file_system=_file_system(plan, fit, catalog, max(throughput, read or 0.0)),
        power=drawn,
        owned=owned,
    )


def _training(
    plan: SizingPlan, fit: Fit, node: Machine, w: Pretrain | Finetune, sample: float, stored_per_s: float, a: Assumptions
) -> Iterator[NodeRequirement]:
    c, facts, s = fit.candidate, plan.facts, fit.speed
    per_node = c.accelerators_per_node
    part = facts.checkpoint_bytes / c.nodes
    memory = formulas.host_memory_bytes(a.host_base_bytes, a.host_per_accelerator_bytes, per_node, part, sample)
    words = f"processes, {part / GIB:,.1f} GiB of a checkpoint" + (", decoded images" if sample else "")
    yield _memory(node, memory, words)
    samples, tokens = (s.samples_per_s or 0.0) / c.nodes, (s.tokens_per_s or 0.0) / c.nodes
    kept_up = f"decoding {samples:,.0f} images/s" if sample else f"reading {tokens:,.0f} tokens/s"
    vcpus = formulas.training_vcpus(per_node, samples if sample else 0.0, sample, 0.0 if sample else tokens)
    yield NodeRequirement("processors", vcpus, node.vcpus, "vCPU", kept_up + " and accelerator processes")
    disk = formulas.training_disk_bytes(c.nodes, facts.checkpoint_bytes, facts.dataset_bytes, w.data.epochs)
    yield _disk(node, disk, "containers, shares of two checkpoints" + (", share of the dataset" if w.data.epochs > 1 else ""))
    yield _network(fit, node, facts.trainable_parameters or facts.parameters, stored_per_s)


def _serving(plan: SizingPlan, fit: Fit, node: Machine, a: Assumptions, images: bool) -> Iterator[NodeRequirement]:
    c, s = fit.candidate, fit.speed
    memory = formulas.host_memory_bytes(a.host_base_bytes, a.host_per_accelerator_bytes, c.accelerators_per_node, 0.0, 0.0)
    yield _memory(node, memory, "processes, weights while loading")
    rate = (s.requests_per_s or 0.0) / c.nodes
    vcpus = formulas.serving_vcpus(c.accelerators_per_node, rate if images else 0.0, (s.tokens_per_s or 0.0) / c.nodes)
    yield NodeRequirement("processors", vcpus, node.vcpus, "vCPU", "engine, " + ("image encoding" if images else "detokenisation"))
    yield _disk(node, formulas.serving_disk_bytes(plan.facts.weights_bytes), "containers and one copy of the weights")
    yield NodeRequirement(
        "network", plan.facts.weights_bytes / a.startup_s * LINE_RATE, _rate(node), "GB/s", f"weights within {a.startup_s:g} s"
    )


def _memory(node: Machine, need: float, words: str) -> NodeRequirement:
    return NodeRequirement("host memory", need / GIB, node.memory_bytes and node.memory_bytes / GIB, "GiB", words)


def _disk(node: Machine, need: float, words: str) -> NodeRequirement:
    """Local NVMe; disks that can be attached on Google Cloud count as available."""
    max_bytes = max(node.local_nvme_choices, default=0) * SSD_BYTES
    have = node.local_nvme_bytes or max_bytes if node.local_nvme_bytes is not None else None
    return NodeRequirement("local NVMe", need / 1e9, have if have is None else have / 1e9, "GB", words, "a network disk of that size")


def _network(fit: Fit, node: Machine, trainable: float, stored_per_s: float) -> NodeRequirement:
    """Mean network rate of a node over a step, for gradients and storage."""
    c, p = fit.candidate, fit.candidate.parallelism
    per_copy = math.ceil(p.tensor * p.pipeline * p.context / c.accelerators_per_node)
    sent = formulas.exchange_bytes(trainable, c.nodes, per_copy, p.gradient_accumulation if p.zero_stage >= 3 else 0)
    exchanged = sent / fit.speed.step_s if fit.speed.step_s else 0.0
    words = "gradients between nodes, data and checkpoints, mean over a step" if sent else "data and checkpoints"
    words += "; traffic between stages of one copy is not included" if per_copy > 1 else ""
    inside = c.topology and c.nodes > 1  # a slice's hosts exchange over ICI
    need = stored_per_s / c.nodes + (0.0 if inside else exchanged)
    return NodeRequirement("network", need * LINE_RATE, _rate(node), "GB/s", words)


def _rate(node: Machine) -> float | None:
    return None if node.network_bytes_per_s is None else node.network_bytes_per_s * LINE_RATE


def _sample_bytes(w: Pretrain | Finetune) -> float:
    """Bytes of one image on disk; 0 where the data is text."""
    kind = architecture_of(w.model)[0].kind
    if kind not in ("diffusion", "vision"):
        return 0.0
    if w.data.size and w.data.samples:
        return w.data.size / w.data.samples
    return NODE_ASSUMPTIONS.diffusion_bytes if kind == "diffusion" else NODE_ASSUMPTIONS.vision_bytes


def _images(spec: Spec) -> bool:
    return isinstance(spec.workload, Serve) and architecture_of(spec.workload.model)[0].kind == "diffusion"


def _read(plan: SizingPlan, fit: Fit, sample: float, a: Assumptions) -> float | None:
    """Bytes per second of the dataset that the run reads."""
    if sample:
        return None if fit.speed.samples_per_s is None else fit.speed.samples_per_s * sample
    if fit.speed.tokens_per_s is None:
        return None
    return checkpoints.read_bytes_per_s(fit.speed.tokens_per_s, plan.facts.dataset_bytes, plan.facts.tokens, a)


def _file_system(plan: SizingPlan, fit: Fit, catalog: Catalog, throughput: float) -> FileSystem | None:
    """One machine writes to its own volume; several share the file system class with the lowest price and enough throughput."""
    c, need = fit.candidate, plan.storage.capacity_bytes
    rdma = c.fabric == "efa" and throughput > NODE_ASSUMPTIONS.client_bytes_per_s * c.nodes
    words = f"sustains {throughput / 1e9:,.2f} GB/s and holds {need / 1e9:,.0f} GB"
    if c.nodes == 1:
        disk = next((v for v in catalog.volumes if v.cloud == c.cloud and v.kind == "block" and v.max_write_bytes_per_s), None)
        if disk and disk.max_write_bytes_per_s and throughput <= disk.max_write_bytes_per_s:
            usd = None if disk.price_usd_per_byte_month is None else disk.price_usd_per_byte_month * need
            return FileSystem(disk.name, need, throughput, usd, f"its volume {words}")
    tiers = []
    for v in catalog.volumes:
        rate = v.write_bytes_per_s_per_tib
        if v.cloud == c.cloud and v.name.startswith(SHARED_FILE_SYSTEMS) and rate and v.rdma == rdma and not v.deprecated:
            size = v.allowed_bytes(formulas.tier_bytes(need, throughput, rate))
            tiers.append(Tier(v.name, size, rate, v.price_usd_per_byte_month))
    return formulas.cheapest_tier(tiers, words)


def _power(fit: Fit, node: Machine, accelerator: Accelerator | None, server: Server | None) -> Power | None:
    """None where the accelerator's power is not published."""
    tdp = accelerator.tdp_watts if accelerator else None
    if not tdp:
        return None
    linked = bool(node.scale_up_link) and node.accelerator_count > 1
    watts = power.node_watts(node.accelerator_count, tdp * node.accelerator_fraction, linked)
    whose = "at full load; supply and cooling are yours" if server else "at full load; included in the machine price"
    return power.power(fit.candidate.nodes, watts, power.rack_units(server.form_factor) if server else None, _run_s(fit), whose)


def _run_s(fit: Fit) -> float | None:
    return fit.duration_s.p50 if fit.duration_s else None


def _on_premises(fit: Fit, catalog: Catalog) -> Power | None:
    """Power of the same accelerators in the first server of the catalog that holds them."""
    c = fit.candidate
    server = next((s for s in catalog.servers if s.accelerator == c.accelerator), None)
    accelerator = query.accelerator(catalog, c.accelerator)
    if server is None or accelerator is None or not accelerator.tdp_watts or c.cloud == "kubernetes":
        return None
    nodes = math.ceil(c.accelerators / server.accelerator_count)
    watts = power.node_watts(server.accelerator_count, accelerator.tdp_watts, bool(server.scale_up))
    return power.power(nodes, watts, power.rack_units(server.form_factor), _run_s(fit), f"{nodes} x {server.name} at full load")


def _supplies(drawn: Power | None, server: Server | None) -> Iterator[NodeRequirement]:
    if drawn and server:
        have = server.power_supply_watts and server.power_supply_watts / 1000
        yield NodeRequirement("power supplies", drawn.node_watts / 1000, have, "kW", server.power_supplies or "not published")
