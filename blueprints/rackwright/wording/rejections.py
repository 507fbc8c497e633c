"""Rejections as text: the failed condition with its numbers, and what would make the candidate fit."""

import math
from collections.abc import Iterable, Sequence

from rackwright.diagnostics.problem import Problem, Stage
from rackwright.sizing.plan import Rejected
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy
from rackwright.wording.formatting import tell_apart

CONFIGURED = {Limit.DEADLINE, Limit.BUDGET, Limit.TTFT, Limit.TPOT, Limit.LATENCY, Limit.ORGANISATION, Limit.RUN_LIMIT, Limit.BLUEPRINT}
"""Constraints set in the spec: the second number is `allowed`. For others it is what the candidate `has`."""
EXPLANATIONS = {
    Reason.ACCELERATOR_FAMILY: "no blueprint supports this accelerator in this release",
    Reason.ACCELERATOR_LIMIT: "limits.accelerators",
    Reason.BATCH_MEMORY: "weights and a batch of {subject} samples",
    Reason.BATCH_NOT_DIVISIBLE: "a batch of {subject} sequences cannot be divided over the replicas of {detail} accelerators",
    Reason.BATCH_TOO_SMALL: "more accelerators than sequences in a batch",
    Reason.BLOCK_ENDED: "the block ended {subject} (R-10)",
    Reason.BLOCK_TOO_SHORT: "the last 30 minutes of a block cannot be used",
    Reason.BLUEPRINT_DEVICE: "blueprint.kind {subject} requires a {detail}",
    Reason.BLUEPRINT_ON_CPU: "blueprint.kind {subject} requires accelerators",
    Reason.BOX_IS_ONE_MACHINE: "blueprint.kind box allows one machine",
    Reason.BUDGET_OF_BILL: "the whole bill of {detail}, of it {amount:,.2f} for these machines",
    Reason.BUDGET_OF_MONTH: "a month",
    Reason.BUDGET_OF_RUN: "machines alone",
    Reason.CAPACITY_COUNT: "{subject}",
    Reason.CAPACITY_MODE: "not offered as {subject}",
    Reason.CLUSTER_ON_CPU: "blueprint.cluster names a cluster; this release adds only machines with accelerators to it",
    Reason.CONTEXT_OR_EXPERT: "context parallelism must divide the sequence, and expert parallelism the experts",
    Reason.CPU_ENGINE_RATE: "p80 rate of one machine",
    Reason.CPU_FAMILY: "the compute rate of a {subject} vCPU is not published",
    Reason.CPU_FORMAT: "no estimate exists for {detail} on CPUs",
    Reason.CPU_MEMORY: "the model beside the operating system",
    Reason.CPU_METHOD: "no documented trainer runs {detail} on CPUs",
    Reason.CPU_MODEL_SIZE: "larger models generate text slower than people read",
    Reason.CUSTOM_ON_CPU: "numbers measured on accelerators do not apply to CPUs",
    Reason.ESTIMATOR: "{detail}",
    Reason.FALLBACK_MACHINE: "capacity.fallback names machine {subject}",
    Reason.FALLBACK_ZONE: "capacity.fallback names zone {subject}",
    Reason.FEWER_THAN_MEASURED: "the memory of one accelerator is known from measured runs on this number and more",
    Reason.FORMAT: "{subject} does not compute in {detail}; its nearest format is {nearest}",
    Reason.HOST_LATENCY: "of it {amount:.0f} ms of the processors of the machine",
    Reason.HOST_MEMORY: "operating system and the processes of its accelerators",
    Reason.IDLE_LATENCY: "one replica without other traffic",
    Reason.MEASURED_MEMORY: "peak of your measured run",
    Reason.MODE_TOO_SHORT: "longest run of {subject}",
    Reason.NEURON_ENGINE: "no documented engine serves this model on {subject}",
    Reason.NEURON_METHOD: "no documented trainer of {detail} runs on {subject}",
    Reason.NEURON_NOT_PINNED: "Neuron instances are considered only when pinned, because models must be compiled for them",
    Reason.NEURON_SERVES_ONLY: "no documented trainer runs on {subject}",
    Reason.NOT_IN_SPEC: "the spec no longer selects {subject} in {detail}",
    Reason.NO_CACHE_ROOM: "the weights leave no room for a cache in {subject} x {amount:,.0f} GiB",
    Reason.NO_COMMON_PLACE: "no zone of `infra` offers machines for every workload",
    Reason.NO_FABRIC: "no RDMA fabric between machines",
    Reason.NO_RUN_OF_VENDOR: "no measured run is on an accelerator of {detail}, so the rate on {subject} is unknown",
    Reason.NO_PRICE: "the price of {subject} is not published, so max_cost cannot be checked",
    Reason.OTHER_WORKLOADS: "recorded for {subject}, the spec has {detail}",
    Reason.PINNED_ELSEWHERE: "the place is pinned to {subject}",
    Reason.PINNED_NODES: "pin.nodes",
    Reason.PIPELINE_PIN: (
        "pipeline parallelism {subject} must leave no stage of {amount:g} layers empty and divide {detail} accelerators; "
        "TPUs and adapters do not support it"
    ),
    Reason.POOLS_TOO_SMALL: "{subject} prefill and {detail} decode replicas do not carry the traffic",
    Reason.REGION_NOT_ALLOWED: "limits.regions allows {subject}",
    Reason.REGION_NOT_OFFERED: "not offered in {subject}",
    Reason.REGIONS_UNKNOWN: "the regions that offer it are not published",
    Reason.REPLICAS_SEARCHED: "more than {subject} replicas would be needed",
    Reason.REPLICA_BLOCKS: "tensor parallelism {subject} makes {detail} of {amount:,.0f} columns; 128 columns share an FP8 scale",
    Reason.REPLICA_LIMIT: "max_replicas",
    Reason.REPLICA_MEMORY: "weights and one request of full length",
    Reason.REPLICA_TENSOR: "tensor parallelism {subject} must divide {detail} heads and {amount:g} accelerators of a node",
    Reason.RESIDENCY: "{subject} is outside {detail}",
    Reason.ROLLOUT_MEMORY: "weights and one answer of the inference engine beside the states of the trainer",
    Reason.SAMPLE_MEMORY: "weights and one sample",
    Reason.TENSOR_PIN: "tensor parallelism {subject} must divide {detail} heads and stay within {amount:g} linked accelerators",
    Reason.TPU_ADAPTER: "no published run uses {detail} on TPU",
    Reason.TPU_BATCH: "batch inference on TPU is not supported in this release",
    Reason.TPU_NOT_PINNED: "TPUs serve only when pinned, because vLLM on TPU supports fewer models and options",
    Reason.TPU_SERVING: "TPUs serve only when pinned",
    Reason.TPU_SERVING_HOSTS: "topology {subject} has several hosts; this release serves on slices with one host",
    Reason.TRAINING_MEMORY: "pessimistic estimate, for every parallel layout",
    Reason.UNPUBLISHED: "{detail} of {subject} not published",
    Reason.VCPU_QUOTA: "quota {subject}",
    Reason.ZONE: "not offered in zone {subject}",
}
"""Failed condition per reason; for rejections with numbers a note on their origin."""
GEOMETRY = "change the batch size, the number of machines or the pinned parallelism"
REMEDIES = {
    Reason.ACCELERATOR_FAMILY: "another accelerator",
    Reason.ACCELERATOR_LIMIT: "limits.accelerators: {need:.0f}",
    Reason.BATCH_NOT_DIVISIBLE: GEOMETRY,
    Reason.BATCH_TOO_SMALL: "raise global_batch_size, or use fewer accelerators",
    Reason.BLOCK_ENDED: "a later block",
    Reason.BLOCK_TOO_SHORT: "a longer block, or one with more machines",
    Reason.BLUEPRINT_DEVICE: "blueprint.kind: auto",
    Reason.BLUEPRINT_ON_CPU: "blueprint.kind: box",
    Reason.BOX_IS_ONE_MACHINE: "blueprint.kind: training-cluster",
    Reason.BUDGET_OF_BILL: "max_cost: {ceiling} USD",
    Reason.BUDGET_OF_MONTH: "max_cost: {ceiling} USD",
    Reason.BUDGET_OF_RUN: "max_cost: {ceiling} USD",
    Reason.CAPACITY_COUNT: "a block or reservation of {need:.0f} machines",
    Reason.CAPACITY_MODE: "capacity: {listed}",
    Reason.CLUSTER_ON_CPU: "a GPU",
    Reason.CONTEXT_OR_EXPERT: GEOMETRY,
    Reason.CPU_ENGINE_RATE: "a larger machine, or a GPU",
    Reason.CPU_FAMILY: "pin: {{instance: m7i.4xlarge}}",
    Reason.CPU_FORMAT: "precision: bf16",
    Reason.CPU_MEMORY: "a larger size of the same family",
    Reason.CPU_METHOD: "adapter: {{type: lora}}",
    Reason.CPU_MODEL_SIZE: "a GPU",
    Reason.CUSTOM_ON_CPU: "a GPU",
    Reason.DEADLINE: "max_duration: {ceiling}{unit}",
    Reason.FALLBACK_MACHINE: "capacity: ordered",
    Reason.FALLBACK_ZONE: "capacity: ordered",
    Reason.HOST_LATENCY: "a machine with more vCPUs",
    Reason.HOST_MEMORY: "a larger size of the same family",
    Reason.IDLE_LATENCY: "{detail}.target: {ceiling} ms",
    Reason.MODE_TOO_SHORT: "more machines, or on-demand",
    Reason.NEURON_ENGINE: "a GPU",
    Reason.NEURON_NOT_PINNED: "pin: {{instance: {listed}}}",
    Reason.NEURON_SERVES_ONLY: "pin: {{instance: trn1.32xlarge}}",
    Reason.FEWER_THAN_MEASURED: "add a run on fewer accelerators to `measured`",
    Reason.NOT_ORDERABLE: "another machine",
    Reason.NO_RUN_OF_VENDOR: "add a run on one of its accelerators to `measured`",
    Reason.NO_COMMON_PLACE: "more regions in `infra`, or a stack for each workload",
    Reason.NO_FABRIC: "an instance type with EFA, TCPX, RoCE or ICI",
    Reason.NO_PRICE: "a region or capacity mode with a published price, or no max_cost",
    Reason.OTHER_WORKLOADS: "choose again",
    Reason.PINNED_ELSEWHERE: "remove the pin",
    Reason.PINNED_NODES: "nodes: {need:.0f}",
    Reason.PIPELINE_PIN: GEOMETRY,
    Reason.NOT_IN_SPEC: "`rackwright choose`",
    Reason.REGION_NOT_ALLOWED: "another region, or other limits.regions",
    Reason.REGION_NOT_OFFERED: "regions: [{listed}]",
    Reason.REGIONS_UNKNOWN: "another machine",
    Reason.REPLICAS_SEARCHED: "a larger accelerator",
    Reason.REPLICA_BLOCKS: "remove parallelism.tensor",
    Reason.REPLICA_LIMIT: "max_replicas: {need:.0f}",
    Reason.REPLICA_TENSOR: "remove parallelism.tensor",
    Reason.RESIDENCY: "a region in {detail}, or another limits.residency",
    Reason.TENSOR_PIN: GEOMETRY,
    Reason.TPU_ADAPTER: "adapter: {{type: none}}, or a GPU",
    Reason.TPU_BATCH: "a GPU",
    Reason.TPU_NOT_PINNED: "pin: {{instance: {listed}}}",
    Reason.TPU_SERVING: "a GPU",
    Reason.TPU_SERVING_HOSTS: "pin a slice with one host",
    Reason.UNPUBLISHED: "another accelerator",
    Reason.VCPU_QUOTA: "request {missing:g} more of {subject}",
    Reason.ZONE: "zones: [{listed}]",
}
"""What meets the failed limit; the other limits are evaluated again. Reasons that are not listed join their `remedies` with `or`."""
QUANTIZED_SPEED_UP = 2.0
"""Weights of one byte are read in half the time of two; at most this ratio of latencies."""
CHANGES = {
    Remedy.GPU: "a GPU",
    Remedy.LARGER_ACCELERATOR: "an accelerator with more memory",
    Remedy.LARGER_SLICE: "a larger slice",
    Remedy.MORE_MACHINES: "more machines",
    Remedy.NEWER_ACCELERATOR: "a newer accelerator",
    Remedy.SHORTER_SEQUENCE: "a shorter sequence",
}


def explanation(rejection: Rejection) -> str:
    """`not offered in eu-west-2`; beside numbers their origin, such as `p80 of the estimate`."""
    if rejection.reason is Reason.DEADLINE:
        waiting = f"of it {rejection.amount:,.1f} {rejection.unit} wait for machines" if rejection.amount else ""
        return "; ".join(filter(None, (percentiles(rejection) or "p80 of the estimate", waiting)))
    if rejection.reason is Reason.NOT_ORDERABLE:
        return f"sold only inside {rejection.subject}" if rejection.subject else "no name to order it by is published"
    return "; ".join(filter(None, (percentiles(rejection), _filled(EXPLANATIONS.get(rejection.reason, ""), rejection))))


def percentiles(rejection: Rejection) -> str:
    """`p80 of the estimate, p50 24.5 h`: which percentile is compared with the limit; empty where the number is certain."""
    if rejection.p50 is None or rejection.need is None or rejection.need == rejection.p50:
        return ""
    return f"p80 of the estimate, p50 {tell_apart(rejection.need, rejection.p50)[1]} {rejection.unit}"


def remedy(rejection: Rejection) -> str:
    """`max_duration: 45h`; empty where no change of the spec helps."""
    if template := REMEDIES.get(rejection.reason):
        is_near = rejection.reason is Reason.IDLE_LATENCY and rejection.distance <= QUANTIZED_SPEED_UP
        return ", or ".join((_filled(template, rejection), *(rejection.remedies if is_near else ())))
    return ", or ".join(CHANGES.get(change, change) for change in rejection.remedies)


def _filled(template: str, r: Rejection) -> str:
    need, have = r.need or 0.0, r.have or 0.0
    return template.format(
        need=need, missing=need - have, ceiling=math.ceil(need), unit=r.unit, subject=r.subject, detail=r.detail, amount=r.amount or 0.0,
        listed=", ".join(r.remedies), nearest=r.remedies[0].rpartition(": ")[2] if r.remedies else "",
    )  # fmt: skip


def rejection_text(rejection: Rejection) -> str:
    """`deadline: needs 30.0 h, allowed 24.0 h (p80 of the estimate)`."""
    words, of = explanation(rejection), f"{rejection.workload}, " if rejection.workload else ""
    if rejection.need is None or rejection.have is None:
        return f"{of}{rejection.limit}: {words}"
    need, have = tell_apart(rejection.need, rejection.have)
    verb = "allowed" if rejection.limit in CONFIGURED else "has"
    numbers = f"needs {need} {rejection.unit}".rstrip() + f", {verb} {have} {rejection.unit}".rstrip()
    return f"{of}{rejection.limit}: {numbers}" + (f" ({words})" if words else "")


def distance_from_limit(rejection: Rejection) -> str:
    """`off by 150.4 GiB per accelerator, 5.1 times the limit`; empty where the constraint is not a number."""
    if rejection.need is None or not rejection.have:
        return ""
    digits = 2 if rejection.distance < 1.95 else 1
    gap = f"{abs(rejection.need - rejection.have):,.1f}".removesuffix(".0")
    return f"off by {gap} {rejection.unit}, {rejection.distance:,.{digits}f} times the limit"


def refusal_text(problems: Sequence[Problem]) -> str:
    """Why a stack cannot be built: mistakes of the spec, else limits of this release; empty without problems."""
    mistakes = [problem for problem in problems if problem.stage is Stage.PLAN]
    where = "with this spec" if mistakes else "in this release"
    return f"not buildable {where}: {'; '.join(problem.reason for problem in mistakes or problems)}" if problems else ""


def joined_remedies(rejections: Iterable[Rejection]) -> str:
    """The remedy of each rejection, once; empty where none has one."""
    return "; ".join(dict.fromkeys(filter(None, map(remedy, rejections))))


def candidate_remedy(rejected: Rejected) -> str:
    """What would make the candidate fit, for a table cell."""
    return joined_remedies(rejected.rejections) or "no change of the spec"
