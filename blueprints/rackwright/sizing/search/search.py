"""Search of the best outcome for a job on each target."""

from dataclasses import replace

from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.config.accelerators import nearest_format
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import SFT, CustomJob, Job, ServingJob, TrainingJob
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.target import Target, TargetArrays, sixteen_bits


def search(job: Job, machines: TargetArrays, a: Assumptions, c: Calibration) -> list[Outcome]:
    """One outcome per target, in order."""
    if isinstance(job, CustomJob):
        return _custom(job, machines, a)
    if isinstance(job, ServingJob):
        return _serve(job, machines, a, c)
    return _train(job, machines, a, c)


def _train(job: TrainingJob, machines: TargetArrays, a: Assumptions, c: Calibration) -> list[Outcome]:
    """Training outcomes; GPUs and TPUs separately, with the rejections of each accelerator."""
    from rackwright.sizing.search.training.best_training import best_training
    from rackwright.sizing.search.training.rollouts import with_rollouts

    found: dict[int, Outcome] = {}
    for which, some in machines.kinds:
        tpu = some.targets[0].tpu
        if tpu and (job.recipe.is_adapter or job.objective is not SFT):
            what = job.method if job.recipe.is_adapter else job.objective.name
            rejection = Rejection(Limit.DATA, reason=Reason.TPU_ADAPTER, detail=what)
            outcomes = [Outcome(precision=job.precision, rejections=(rejection,))] * len(which)
        else:
            kind = job.on_tpu() if tpu else job
            outcomes = best_training(kind, some.computing(job.precision), a.max_fill, c)
            if job.objective.rollouts:
                outcomes = with_rollouts(job, job.objective.rollouts, some, outcomes, a, c)
        found.update(zip(which.tolist(), outcomes, strict=True))
    formats = [_training_format(job, t) for t in machines.targets]
    for i, numbers in enumerate(formats):
        if found[i].precision != numbers:
            found[i] = replace(found[i], precision=numbers)
    kinds = {t.accelerator: (t, f) for t, f in zip(machines.targets, formats, strict=True)}
    rejections = {name: (*_precision(f, t, trains=True), *_neuron_training(job, t)) for name, (t, f) in kinds.items()}
    return _with_rejections([found[i] for i in range(len(formats))], machines, rejections)


def _training_format(job: TrainingJob, target: Target) -> str:
    """Format of the products. `precision: auto` trains in fp16 with loss scaling on accelerators without bf16 (Volta, Turing).

    Bytes and rate are those of bf16 there: both have fp32 master weights (Micikevicius et al. 2018, arXiv 1710.03740, section 3), and loss
    scaling skips one step in about 2,000 (torch.amp.GradScaler, growth_interval).
    """
    formats = dict(target.flops)
    return "fp16" if job.any_sixteen and job.precision == "bf16" and "bf16" not in formats and "fp16" in formats else job.precision


def _neuron_training(job: TrainingJob, target: Target) -> tuple[Rejection, ...]:
    """Neuron trainers support language models, in full or with LoRA (NxD Training 1.2, 2025-04; optimum-neuron)."""
    if not target.neuron or (job.method in ("full", "lora") and not job.sampled):
        return ()
    what, remedies = ("images", (Remedy.GPU,)) if job.sampled else (job.method, ("adapter: {type: lora}", Remedy.GPU))
    return (Rejection(Limit.DATA, reason=Reason.NEURON_METHOD, subject=target.accelerator, detail=what, remedies=remedies),)


def _neuron_serving(job: ServingJob, target: Target) -> tuple[Rejection, ...]:
    """vLLM's Neuron plugin supports text generation only."""
    if not target.neuron or job.generates:
        return ()
    return (Rejection(Limit.DATA, reason=Reason.NEURON_ENGINE, subject=target.accelerator),)


def _serve(job: ServingJob, machines: TargetArrays, a: Assumptions, c: Calibration) -> list[Outcome]:
    formats = [weight_format(job, t) for t in machines.targets]
    if job.generates:
        from rackwright.sizing.search.serving.best_serving import best_batch, best_serving

        found = (best_batch if job.ends else best_serving)(job, machines, formats, a, c)
    else:
        from rackwright.sizing.search.serving.forward_pass import forward_pass_outcomes

        found = forward_pass_outcomes(job, machines.targets, formats, a, c)
    rejections = {}
    weights_key = "precision" if job.precision == job.products else "quantization"
    for t, numbers in zip(machines.targets, formats, strict=True):
        products = () if job.products == "auto" else _precision(job.products, t)
        rejections[t.accelerator] = tuple(dict.fromkeys((*_precision(numbers, t, weights_key), *products, *_neuron_serving(job, t))))
    return _with_rejections(found, machines, rejections)


def _custom(job: CustomJob, machines: TargetArrays, a: Assumptions) -> list[Outcome]:
    from rackwright.sizing.search.measured_runs import measured_outcome

    formats = [sixteen_bits(t) if job.precision == "auto" else job.precision for t in machines.targets]
    found = [measured_outcome(job, t, numbers, a) for t, numbers in zip(machines.targets, formats, strict=True)]
    rejections = {t.accelerator: _precision(numbers, t) for t, numbers in zip(machines.targets, formats, strict=True)}
    return _with_rejections(found, machines, rejections)


def weight_format(job: ServingJob, target: Target) -> str:
    """Weight format: the requested one, else the published one where the accelerator supports it, else 16 bit."""
    if job.precision != "auto":
        return job.precision
    return sixteen_bits(target) if job.native == "bf16" or _precision(job.native, target, "quantization") else job.native


def _with_rejections(found: list[Outcome], machines: TargetArrays, rejections: dict[str, tuple[Rejection, ...]]) -> list[Outcome]:
    """Outcomes with the rejections of their accelerator added."""
    return [
        replace(o, rejections=(*o.rejections, *more)) if (more := rejections[t.accelerator]) else o
        for o, t in zip(found, machines.targets, strict=True)
    ]


def _precision(precision: str, target: Target, weights_key: str = "", trains: bool = False) -> tuple[Rejection, ...]:
    """Rejection of an unsupported number format, with the nearest one; nf4 is computed in 16 bit, every accelerator has fp32.

    weights_key: key of the spec that sets the format of the weights, empty for products. trains: for training. fp4 weights are multiplied
    in 16 bit without fp4 support (vLLM's Marlin kernels, from NVIDIA Ampere on: those with bf16), int4 weights on every GPU
    (https://docs.vllm.ai/en/v0.27.0/features/quantization/).
    """
    peaks = dict(target.flops)
    if precision in ("nf4", "fp32") or precision in peaks:
        return ()
    in_16_bit = precision == "fp4" and target.vendor == "NVIDIA" and "bf16" in peaks
    if weights_key and (in_16_bit or (precision == "int4" and not (target.tpu or target.neuron))):
        return ()
    remedies = (f"{weights_key or 'precision'}: {nearest_format(precision, peaks, trains)}", Remedy.NEWER_ACCELERATOR)
    return (Rejection(Limit.PRECISION, reason=Reason.FORMAT, subject=target.accelerator, detail=precision, remedies=remedies),)
