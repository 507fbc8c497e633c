"""Workload of the spec and its model as numbers for the formulas."""

from collections.abc import Iterator

from rackwright.catalog import query
from rackwright.catalog.models.architecture import Architecture
from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.resolve import BYTES_PER_WEIGHT, NF4_BYTES_PER_WEIGHT, REAL_ROUTING_IMBALANCE
from rackwright.estimator.model.adapters import adapter_inputs
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.flops import FLOPS_PER_WEIGHT, training_flops_per_token
from rackwright.estimator.model.from_architecture import count_parameters, model_dimensions
from rackwright.estimator.model.layer_parameters import lora_parameters, prefix_parameters
from rackwright.sizing.assumptions import OWN, Assumptions
from rackwright.sizing.evaluation.checkpoints import checkpoint_bytes
from rackwright.sizing.inputs.inference_inputs import inference_inputs
from rackwright.sizing.inputs.model_of_spec import architecture_of, weights_size
from rackwright.sizing.inputs.objectives import objective_of, rollout_tokens
from rackwright.sizing.inputs.sample import training_sample
from rackwright.sizing.inputs.training_recipe import Recipe, adapted, full
from rackwright.sizing.job import SFT, CustomJob, CustomRun, Objective, TrainingJob, WorkloadInputs
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Assumption, WorkloadFacts
from rackwright.sizing.search.training.layouts import PinnedLayout
from rackwright.spec.workload import Batch, Custom, Finetune, Pretrain, Serve, Workload
from rackwright.spec.workload_parts import Adapter, MeasuredRun

OBJECTIVES_SOURCE = "arithmetic on the policy's passes; no published run calibrates it (arXiv 2305.18290, 2402.03300, 2203.02155)"
UNEVEN_SOURCE = f"trained routers are uneven: {OWN}"


def workload_inputs(workload: Workload, a: Assumptions, catalog: Catalog) -> WorkloadInputs:
    """Raises UserError when a model or an accelerator is not in the catalog, or the description of the model is wrong."""
    if isinstance(workload, Custom):
        return _custom(workload, catalog)
    if isinstance(workload, (Serve, Batch)):
        return inference_inputs(workload, a)
    return _training(workload, *architecture_of(workload.model), a)


def _custom(w: Custom, catalog: Catalog) -> WorkloadInputs:
    facts = WorkloadFacts(w.name, w.kind, w.model.base or "", 0.0, 0.0)
    runs = tuple(_measured_run(run, At() / "workloads" / 0 / "measured" / i, w.precision, catalog) for i, run in enumerate(w.measured))
    return WorkloadInputs(CustomJob(runs, w.samples or 0.0, w.precision), facts)


def _measured_run(run: MeasuredRun, at: At, precision: str, catalog: Catalog) -> CustomRun:
    try:
        rates = accelerators.find(run.accelerator, catalog)
    except accelerators.UnknownAccelerator as unknown:
        raise UserError([Problem("S-139", str(unknown), at / "accelerator")]) from None
    row = query.accelerator(catalog, rates.name)
    peak = rates.peak("bf16" if precision == "auto" else precision) or rates.base_peak
    return CustomRun(
        vendor=row.vendor if row else "",
        accelerators=run.accelerators,
        flops=peak * rates.sustained_share,
        bandwidth_bytes_per_s=rates.bandwidth_bytes_per_s,
        memory_bytes=run.memory,
        samples_per_s=run.samples_per_second,
    )


def _training(w: Pretrain | Finetune, architecture: Architecture, name: str, a: Assumptions) -> WorkloadInputs:
    n = model_dimensions(architecture)
    sampled = architecture.kind not in ("llm", "encoder") and n.flops_per_sample > 0
    adapter = w.adapter if isinstance(w, Finetune) else None
    method = adapter.type if adapter and adapter.type != "none" else "full"
    scaled = training_sample(w, architecture, n, a)
    n, sample, assumed = scaled.network, scaled.sample, [*scaled.assumed]
    sequence = n.sample_tokens or 1 if sampled else _sequence(w, n, a, assumed)
    batch = w.global_batch_size or _batch(w, sequence, sampled, a, assumed)
    objective = objective_of(w, n, batch) if isinstance(w, Finetune) else SFT
    batch *= objective.sequences
    sequences, padded = max(_sequences(w, sequence, sampled, objective), 1.0), _padded_length(w, sequence, sampled, objective, a)
    recipe = _recipe(w, method, architecture, n, a)
    positions = (padded or sequence) + recipe.virtual_tokens * (not sampled)
    flops = FLOPS_PER_WEIGHT[method] / 2 * n.flops_per_sample if sampled else training_flops_per_token(n, positions, method) * positions
    assumed += _assumptions(recipe, n, objective)
    job = TrainingJob(
        network=n, recipe=recipe, method=method, sequence=sequence, flops_per_sequence=flops, batch=batch, sequences=sequences,
        pins=PinnedLayout(**w.parallelism.model_dump()), sampled=sampled,
        mean_length=0.0 if _is_packed(w, objective) else _sample_tokens(w) or 0.0, padded_length=padded, adaptable=adapter is not None,
        imbalance=REAL_ROUTING_IMBALANCE if n.is_moe else 1.0, objective=objective, sample=sample,
        any_sixteen=w.precision == "auto" or _is_quantized_base(w, method),
    )  # fmt: skip
    facts = WorkloadFacts(
        *(w.name, w.kind, name, n.total, n.active),
        trainable_parameters=recipe.trainable,
        tokens=0.0 if sampled else sequences * job.timed_length,
        sequence_length=0 if sampled else sequence,
        global_batch_size=batch,
        weights_bytes=weights_size(w.model) or 2.0 * n.total,
        checkpoint_bytes=checkpoint_bytes(recipe.trainable, a),
        dataset_bytes=w.data.size or 0.0,
        objective="" if objective is SFT else objective.name,
        unit=sample.unit,
        units=sequences * (sample.units if sampled else job.timed_length),
        sample=scaled.described,
    )
    too_long = Note(NoteKind.SEQUENCE_TOO_LONG, {"tokens": sequence, "positions": n.max_context or 0})
    notes = (too_long,) if n.max_context and not sampled and sequence > n.max_context else ()
    return WorkloadInputs(job, facts, tuple(assumed), notes)


def _assumptions(recipe: Recipe, n: ModelDimensions, objective: Objective) -> Iterator[Assumption]:
    yield Assumption("trainer", recipe.family, "family", "default: kernels and states of this trainer family; maxtext on TPU")
    if objective is not SFT:
        yield Assumption("objective", objective.name, "", OBJECTIVES_SOURCE)
    if n.is_moe:
        yield Assumption("moe_imbalance", f"{REAL_ROUTING_IMBALANCE:g}", "tokens of the fullest expert over the mean", UNEVEN_SOURCE)


def _trainable(architecture: Architecture, adapter: Adapter, n: ModelDimensions, a: Assumptions) -> float:
    if adapter.type == "none":
        return n.trunk
    if adapter.type == "p-tuning":
        return float(prefix_parameters(architecture.layers, architecture.kv_heads, architecture.head_dim, adapter.virtual_tokens)) or 1.0
    layers = count_parameters(architecture).layers
    return float(lora_parameters(layers, adapter.rank, adapter.targets)) or a.adapter_share * n.total


def _is_quantized_base(w: Pretrain | Finetune, method: str) -> bool:
    """Whether `precision` is the storage format of a frozen base; its arithmetic is 16 bit."""
    return method == "qlora" and w.precision in ("nf4", "fp4", "int8")


def _recipe(w: Pretrain | Finetune, method: str, architecture: Architecture, n: ModelDimensions, a: Assumptions) -> Recipe:
    numbers = "bf16" if w.precision == "auto" or _is_quantized_base(w, method) else w.precision
    if method == "full" or not isinstance(w, Finetune):
        return full(n.trunk, numbers, w.optimizer)
    frozen = NF4_BYTES_PER_WEIGHT[True] if method == "qlora" else BYTES_PER_WEIGHT[numbers] if numbers == "fp32" else 2.0
    layers, scales = count_parameters(architecture).layers, w.adapter.variant == "dora"  # which scales outputs (arXiv 2402.09353)
    inputs = adapter_inputs(layers, w.adapter.targets, scales) if method != "p-tuning" else 0.0
    tokens = float(w.adapter.virtual_tokens) if method == "p-tuning" else 0.0
    return adapted(_trainable(architecture, w.adapter, n, a), frozen, numbers, inputs, tokens)


def _sequence(w: Pretrain | Finetune, n: ModelDimensions, a: Assumptions, assumed: list[Assumption]) -> int:
    if w.sequence_length:
        return w.sequence_length
    if isinstance(w, Finetune) and w.rollout:
        return rollout_tokens(w.rollout)[1]
    value = int(min(a.default_sequence_length, n.max_context or a.default_sequence_length))
    assumed.append(Assumption("sequence_length", str(value), "tokens", "default, at most the context length of the model"))
    return value


def _batch(w: Pretrain | Finetune, sequence: int, sampled: bool, a: Assumptions, assumed: list[Assumption]) -> int:
    if sampled:
        usual = a.default_pretrain_sample_batch if isinstance(w, Pretrain) else a.default_sample_batch
        value = int(min(usual, w.data.samples or usual))
    elif isinstance(w, Pretrain):
        value = 1 << max(round(a.default_pretrain_batch_tokens / sequence).bit_length() - 1, 0)
    else:
        value = a.default_finetune_batch
    assumed.append(Assumption("global_batch_size", str(value), "samples" if sampled else "sequences", "default; see default_*_batch"))
    return value


def _is_packed(w: Pretrain | Finetune, objective: Objective) -> bool:
    """Pairs and answers of a prompt are trained as they are, padded."""
    return w.data.packed and objective is SFT


def _sample_tokens(w: Pretrain | Finetune) -> float | None:
    """Mean tokens of a sequence before packing and padding; None where the spec does not tell."""
    return rollout_tokens(w.rollout)[0] if isinstance(w, Finetune) and w.rollout else w.data.tokens_per_sample


def _padded_length(w: Pretrain | Finetune, sequence: int, sampled: bool, objective: Objective, a: Assumptions) -> float:
    """Mean tokens of an unpacked sample, padded to the longest of its micro-batch and truncated; 0 where samples are packed."""
    if sampled or w.data.tokens is not None or _is_packed(w, objective):
        return 0.0
    return min((_sample_tokens(w) or sequence) * a.padding, float(sequence))


def _sequences(w: Pretrain | Finetune, sequence: int, sampled: bool, objective: Objective) -> float:
    """Sequences of the run, epochs included: full ones where samples are packed, else one per sample."""
    d = w.data
    if sampled:
        return (d.samples or d.tokens or 0.0) * d.epochs
    if d.tokens is not None:
        return d.tokens * d.epochs / sequence
    count = (d.samples or 0.0) * d.epochs * objective.sequences
    return count * (_sample_tokens(w) or sequence) / sequence if _is_packed(w, objective) else count
