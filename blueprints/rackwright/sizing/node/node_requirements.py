"""Node requirements of the chosen fit, from catalog, spec and the formulas of `formulas` and `power`."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, Machine, Server
from rackwright.clouds import profile
from rackwright.sizing.assumptions import DEFAULT, Assumptions, listed
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.inputs.model_of_spec import architecture_of
from rackwright.sizing.metrics import Speed
from rackwright.sizing.node import formulas, power
from rackwright.sizing.node.bucket import planned_bucket
from rackwright.sizing.node.file_system import LustreSize, planned_file_system, storage_note, uses_bucket
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS, Tier
from rackwright.sizing.node.host_rate import needed_vcpus
from rackwright.sizing.node.host_work import HostWork, sample_bytes
from rackwright.sizing.node.lustre_throughput import lustre_clients
from rackwright.sizing.node.requirements import FileSystem, NodeRequirement, NodeRequirements, Power
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.sharing import machine_of
from rackwright.sizing.plan import Fit, SizingPlan, StorageNeed, WorkloadFacts
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Batch, Custom, Finetune, Pretrain, Serve
from rackwright.units import GIB, TIB

SSD_BYTES = 375 * GIB
"""One local SSD of Google Cloud that is added by number (docs.cloud.google.com/compute/docs/disks/local-ssd)."""
LINE_RATE = 1e-9
"""GB/s per byte/s."""


def with_node_requirements(plan: SizingPlan, spec: Spec, catalog: Catalog, a: Assumptions = DEFAULT) -> SizingPlan:
    """The plan with the node requirements of its first choice and their assumptions."""
    found = node_requirements(plan, spec, catalog, a)
    if found is None:
        return plan
    stated = {"pue"} if plan.chosen and _stated_pue(plan.chosen, spec) else set()
    more = tuple(item for item in listed(power.POWER_ASSUMPTIONS) if item.name not in stated) if found.power else ()
    return replace(plan, machine=found, assumptions=(*plan.assumptions, *listed(NODE_ASSUMPTIONS), *more))


def node_requirements(
    plan: SizingPlan, spec: Spec, catalog: Catalog, a: Assumptions = DEFAULT, recorded: LustreSize | None = None
) -> NodeRequirements | None:
    """Requirements of the chosen fit; None without one. Rates and sizes that the fit does not have are None.

    recorded: the file system of a running stack, which the stack of this fit keeps.
    """
    fit, w = plan.chosen, spec.workload
    node = catalog.machine_by_name.get(fit.candidate.machine) if fit else None
    if fit is None or node is None or isinstance(w, Custom):
        return None
    c = fit.candidate
    server = next((s for s in catalog.servers if s.machine == node.name), None)
    drawn = _power(fit, node, query.accelerator(catalog, c.accelerator), server, _stated_pue(fit, spec))
    supplies, owned = (), _on_premises(fit, catalog)
    if drawn and server:
        have = server.power_supply_watts and server.power_supply_watts / 1000
        words = server.power_supplies or "not published"
        supplies = (NodeRequirement("power supplies", drawn.node_watts / 1000, have, "kW", words),)
    if not isinstance(w, TRAINING):
        return NodeRequirements(c.nodes, (*_serving(plan, spec, fit, node, catalog, a), *supplies), power=drawn, owned=owned)
    window = checkpoints.at_interval(plan.facts.checkpoint_bytes, plan.facts.checkpoint_interval_s, a)
    read = dataset_read_bytes_per_s(plan.facts, fit.speed, w, a)
    throughput = window.throughput_bytes_per_s
    storage = _storage(spec, plan, fit, catalog, a, recorded)
    traffic = _network(fit, node, plan.facts.trainable_parameters or plan.facts.parameters, throughput + (read or 0.0), storage)
    return NodeRequirements(
        nodes=c.nodes,
        needs=(*_training(plan, fit, node, w, sample_bytes(w), a), *traffic, *supplies),
        dataset_read_bytes_per_s=read,
        checkpoint_bytes=window.bytes,
        checkpoint_write_s=window.write_s,
        checkpoint_bytes_per_s=throughput,
        file_system=storage,
        power=drawn,
        owned=owned,
    )


def _training(
    plan: SizingPlan, fit: Fit, node: Machine, w: Pretrain | Finetune, sample: float, a: Assumptions
) -> Iterator[NodeRequirement]:
    c, facts, s = fit.candidate, plan.facts, fit.speed
    per_node = c.accelerators_per_node
    part = facts.checkpoint_bytes / c.nodes
    memory = formulas.host_memory_bytes(a.host_base_bytes, a.host_per_accelerator_bytes, per_node, part, sample)
    images = (Note(NoteKind.DECODED_IMAGES),) if sample else ()
    yield _memory(node, memory, Note(NoteKind.PROCESSES), Note(NoteKind.CHECKPOINT_SHARE, {"gib": part / GIB}), *images)
    waiting = s.step_s / (s.step_s - s.input_s) if s.step_s and s.input_s else 1.0  # the host is sized for the accelerators' own rate
    samples, tokens = (s.samples_per_s or 0.0) * waiting / c.nodes, (s.tokens_per_s or 0.0) / c.nodes
    decoding, reading = Note(NoteKind.IMAGE_DECODING, {"images_per_s": samples}), Note(NoteKind.TOKEN_READING, {"tokens_per_s": tokens})
    vcpus = formulas.training_vcpus(per_node, samples if sample else 0.0, sample, 0.0 if sample else tokens)
    yield NodeRequirement("processors", vcpus, node.vcpus, "vCPU", basis=(decoding if sample else reading,))
    disk = formulas.training_disk_bytes(c.nodes, facts.checkpoint_bytes, facts.dataset_bytes, w.data.epochs)
    dataset = (Note(NoteKind.DATASET_SHARE),) if w.data.epochs > 1 else ()
    yield _disk(node, disk, Note(NoteKind.CONTAINERS), Note(NoteKind.CHECKPOINT_SHARES), *dataset)


def _serving(plan: SizingPlan, spec: Spec, fit: Fit, node: Machine, catalog: Catalog, a: Assumptions) -> Iterator[NodeRequirement]:
    c, s, w, work = fit.candidate, fit.speed, spec.workload, HostWork.of(spec, plan.facts, catalog)
    assert isinstance(w, (Serve, Batch))
    sample = sample_bytes(w)
    memory = formulas.host_memory_bytes(a.host_base_bytes, a.host_per_accelerator_bytes, c.devices_per_node, 0.0, 0.0)
    yield _memory(node, memory, Note(NoteKind.PROCESSES), Note(NoteKind.WEIGHTS_WHILE_LOADING))
    rate = (s.requests_per_s or 0.0) / c.nodes
    vcpus = formulas.serving_vcpus(c.devices_per_node, (s.tokens_per_s or 0.0) / c.nodes)
    if work.has_samples and c.devices_per_node:
        host = work.host(machine_of(c, catalog), query.accelerator(catalog, c.accelerator), 1)
        vcpus = needed_vcpus(host, work.sample, rate, _wanted_per_node(fit))
    makes_images = isinstance(w, Serve) and architecture_of(w.model)[0].kind == "diffusion"
    engine = Note(NoteKind.IMAGE_ENCODING if makes_images else NoteKind.DETOKENISATION)
    if sample:
        engine = Note(NoteKind.IMAGE_DECODING, {"images_per_s": rate})
    yield NodeRequirement("processors", vcpus, node.vcpus, "vCPU", basis=(engine,))
    disk = formulas.serving_disk_bytes(plan.facts.weights_bytes)
    yield _disk(node, disk, Note(NoteKind.CONTAINERS), Note(NoteKind.WEIGHTS_COPY))
    loaded = Note(NoteKind.WEIGHTS_LOADED, {"seconds": a.startup_s})
    loading, reading = plan.facts.weights_bytes / a.startup_s * LINE_RATE, rate * sample * LINE_RATE
    read = Note(NoteKind.SAMPLES_READ, {"gb": plan.facts.dataset_bytes / 1e9, "gb_per_s": reading})
    basis = (read if reading > loading and plan.facts.dataset_bytes else loaded, *_burst(node))
    yield NodeRequirement("network", max(loading, reading), _rate(node), "GB/s", basis=basis)


def _wanted_per_node(fit: Fit) -> float:
    """Samples per second that the accelerators of one node process, of a fit that its hosts limit those without the limit."""
    for note in fit.tightest:
        if note.kind in (NoteKind.HOST_LIMIT, NoteKind.HOST_LIMIT_OF_SERVICE):
            wanted = note.values["wanted_per_s"]
            assert isinstance(wanted, int | float)
            return wanted / (fit.candidate.nodes if note.kind is NoteKind.HOST_LIMIT else 1)
    c, each = fit.candidate, fit.speed.samples_per_s or 0.0
    return each * c.devices_per_node if fit.duration_s is None else each / c.nodes


def _memory(node: Machine, need: float, *basis: Note) -> NodeRequirement:
    return NodeRequirement("host memory", need / GIB, node.memory_bytes and node.memory_bytes / GIB, "GiB", basis=basis)


def _disk(node: Machine, need: float, *basis: Note) -> NodeRequirement:
    """Local NVMe; disks that can be attached on Google Cloud count as available."""
    max_bytes = max(node.local_nvme_choices, default=0) * SSD_BYTES
    have = node.local_nvme_bytes or max_bytes if node.local_nvme_bytes is not None else None
    return NodeRequirement("local NVMe", need / 1e9, have if have is None else have / 1e9, "GB", basis=basis, is_replaceable=True)


def _network(fit: Fit, node: Machine, trainable: float, stored_per_s: float, storage: FileSystem | None) -> Iterator[NodeRequirement]:
    """Mean network rate of a node over a step, for gradients and storage; apart for storage where its file system limits a node."""
    c, p = fit.candidate, fit.candidate.parallelism
    per_copy = math.ceil(p.tensor * p.pipeline * p.context / c.accelerators_per_node)
    sent = formulas.exchange_bytes(trainable, c.nodes, per_copy, p.gradient_accumulation if p.zero_stage >= 3 else 0)
    exchanged = sent / fit.speed.step_s if fit.speed.step_s else 0.0
    basis = (Note(NoteKind.GRADIENTS if sent else NoteKind.DATA_AND_CHECKPOINTS),)
    basis += (Note(NoteKind.STAGES_NOT_INCLUDED),) if per_copy > 1 else ()
    inside = c.topology and c.nodes > 1  # a slice's hosts exchange over ICI
    read, limit = stored_per_s / c.nodes, storage.client_bytes_per_s if storage else None
    if sent or limit is None:
        need = (read + (0.0 if inside else exchanged)) * LINE_RATE
        yield NodeRequirement("network", need, _rate(node), "GB/s", basis=(*basis, *_burst(node)))
    if storage and limit is not None:
        client = Note(NoteKind.CLIENT_LIMIT, {"gbit_per_s": limit * 8 / 1e9, "interface": storage.client_interface})
        basis = (Note(NoteKind.DATA_AND_CHECKPOINTS), client) if sent else (*basis, client)
        have = None if node.network_is_peak and _rate(node) is None else min(limit * LINE_RATE, _rate(node) or limit)
        yield NodeRequirement("storage network" if sent else "network", read * LINE_RATE, have, "GB/s", basis=basis)


def _rate(node: Machine) -> float | None:
    """Sustained rate of a node in GB/s; None where it is not published."""
    return None if node.sustained_network_bytes_per_s is None else node.sustained_network_bytes_per_s * LINE_RATE


def _burst(node: Machine) -> tuple[Note, ...]:
    """A note where the published rate is a peak: whether the sustained rate is known."""
    if not node.network_is_peak or node.network_bytes_per_s is None:
        return ()
    kind = NoteKind.NETWORK_BASELINE_UNKNOWN if node.network_baseline_bytes_per_s is None else NoteKind.NETWORK_BASELINE
    return (Note(kind, {"machine": node.name, "peak_gbit_per_s": node.network_bytes_per_s * 8 / 1e9}),)


def dataset_read_bytes_per_s(facts: WorkloadFacts, speed: Speed, w: Pretrain | Finetune, a: Assumptions) -> float | None:
    """Rate at which the whole run reads its dataset; None where the speed is unknown."""
    if sample := sample_bytes(w):
        return None if speed.samples_per_s is None else speed.samples_per_s * sample
    if speed.tokens_per_s is None:
        return None
    return checkpoints.read_bytes_per_s(speed.tokens_per_s, facts.dataset_bytes, facts.tokens, a)


def _storage(spec: Spec, plan: SizingPlan, fit: Fit, catalog: Catalog, a: Assumptions, recorded: LustreSize | None) -> FileSystem | None:
    """The bucket, disk or file system of a training run."""
    c, node = fit.candidate, catalog.machine(fit.candidate.machine)
    if uses_bucket(spec, plan) and recorded is None:
        return planned_bucket(spec, plan, c, node, catalog, a)
    return planned_file_system(spec, plan, c, node, catalog, partial(_recommended, spec, plan, fit, catalog, a), recorded)


def _recommended(spec: Spec, plan: SizingPlan, fit: Fit, catalog: Catalog, a: Assumptions) -> FileSystem | None:
    """Where this release builds no storage: a disk of one node, a bucket where the trainer writes there, else the cheapest shared file
    system of the cloud that is large and fast enough."""
    c, need = fit.candidate, plan.storage
    machine, cloud = catalog.machine(c.machine), profile(c.cloud)
    if c.nodes == 1 and (disk := _disk_of_node(need, machine, catalog)):
        return disk
    if need.trainer and cloud.object_volume:
        return planned_bucket(spec, plan, c, machine, catalog, a)
    over_tcp = lustre_clients(machine, c.nodes, 0, catalog).total_bytes_per_s
    rdma = c.fabric == "efa" and need.throughput_bytes_per_s > over_tcp
    tiers = []
    for v in query.shared_file_systems(catalog, c.cloud, rdma):
        if rate := query.tier_bytes_per_s(v, TIB):
            size = v.allowed_bytes(formulas.tier_bytes(need.capacity_bytes, need.throughput_bytes_per_s, rate))
            tiers.append(Tier(v.name, size, rate, v.price_usd_per_byte_month))
    return formulas.cheapest_tier(tiers, storage_note(NoteKind.SHARED_FILE_SYSTEM, need))


def _disk_of_node(need: StorageNeed, machine: Machine, catalog: Catalog) -> FileSystem | None:
    """The cloud's default disk for one node; None where it cannot write fast enough. Its rate may not be published."""
    disk = catalog.volume_by_name.get(profile(machine.cloud).disk_volumes.get("balanced", ""))
    if disk is None or need.throughput_bytes_per_s > (disk.max_write_bytes_per_s or math.inf):
        return None
    size = need.capacity_bytes * NODE_ASSUMPTIONS.file_system_headroom
    usd = None if disk.price_usd_per_byte_month is None else disk.price_usd_per_byte_month * size
    unknown = () if disk.max_write_bytes_per_s else (Note(NoteKind.DISK_RATE_UNKNOWN),)
    rate = need.throughput_bytes_per_s if disk.max_write_bytes_per_s else None
    return FileSystem(disk.name, size, rate, usd, basis=(storage_note(NoteKind.DISK, need), *unknown))


def _power(fit: Fit, node: Machine, accelerator: Accelerator | None, server: Server | None, pue: float | None) -> Power | None:
    """None where the accelerator's power is not published."""
    tdp = accelerator.tdp_watts if accelerator else None
    if not tdp:
        return None
    linked = bool(node.scale_up_link) and node.accelerator_count > 1
    watts = power.node_watts(node.accelerator_count, tdp * node.accelerator_fraction, linked)
    basis = Note(NoteKind.FULL_LOAD_OWNED if server else NoteKind.FULL_LOAD_INCLUDED)
    assumed = power.POWER_ASSUMPTIONS if pue is None else replace(power.POWER_ASSUMPTIONS, pue=pue)
    return power.power(fit.candidate.nodes, watts, power.rack_units(server.form_factor) if server else None, _run_s(fit), basis, assumed)


def _stated_pue(fit: Fit, spec: Spec) -> float | None:
    """`node_cost.pue` of the place of a fit; None where the spec has none."""
    cost = spec.infra.places[fit.candidate.place].node_cost
    return cost.pue if cost else None


def _run_s(fit: Fit) -> float | None:
    return fit.duration_s.p50 if fit.duration_s else None


def _on_premises(fit: Fit, catalog: Catalog) -> Power | None:
    """Power of the same accelerators in the first server of the catalog that holds them."""
    c = fit.candidate
    server = next((s for s in catalog.servers if s.accelerator == c.accelerator), None)
    accelerator = query.accelerator(catalog, c.accelerator)
    if server is None or accelerator is None or not accelerator.tdp_watts or profile(c.cloud).is_owned:
        return None
    nodes = math.ceil(c.accelerators / server.accelerator_count)
    watts = power.node_watts(server.accelerator_count, accelerator.tdp_watts, bool(server.scale_up))
    basis = Note(NoteKind.FULL_LOAD_OF_SERVERS, {"nodes": nodes, "server": server.name})
    return power.power(nodes, watts, power.rack_units(server.form_factor), _run_s(fit), basis)
