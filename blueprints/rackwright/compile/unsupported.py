"""Combinations that this release cannot build, checked before compilation, each with an alternative. Stage BUILD: a plan lists them.

Mistakes of the spec are rules: validation/spec/blueprint_options.py.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from rackwright.clouds import profile, supports
from rackwright.clouds.base import GKE
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.serving.neuron import unsupported_on_neuron
from rackwright.compile.serving.sglang import SGLANG, unsupported_with_sglang
from rackwright.compile.serving.tpu import unsupported_on_tpu
from rackwright.diagnostics.problem import At, Problem, Stage
from rackwright.spec.model import architecture_of
from rackwright.spec.workload import Serve
from rackwright.stackplan import BlueprintKind

MACHINE_KINDS = {
    BlueprintKind.BOX: ("gpu", "neuron", "cpu"),
    BlueprintKind.TRAINING_CLUSTER: ("gpu", "neuron"),
    BlueprintKind.INFERENCE_FLEET: ("gpu", "neuron", "tpu"),
    BlueprintKind.TPU_POD: ("tpu",),
}
"""Kinds of machine that each blueprint supports."""
DISAGGREGATION = "https://docs.vllm.ai/en/v0.27.0/features/disagg_prefill/"
QUANTIZED_CACHE = "https://docs.vllm.ai/en/v0.27.0/features/quantization/quantized_kvcache/"
PICKER = "https://gateway-api-inference-extension.sigs.k8s.io/implementations/model-servers/"
NVLINK_DOMAINS = "https://docs.cloud.google.com/ai-hypercomputer/docs/placement-policy-and-workload-policy"
WORKLOAD = At() / "workloads" / 0


def unsupported_problems(context: CompileContext, kind: BlueprintKind) -> list[Problem]:
    """Every reason why this release cannot build the stack; empty where it can."""
    found = (*_machine(context, kind), *_workload(context, kind), *_fleet(context, kind))
    return [replace(problem, stage=Stage.BUILD) for problem in found]


def _machine(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    chosen, machine = context.candidate, context.machine
    if machine.kind not in MACHINE_KINDS[kind]:
        reason = f"Blueprint {kind} supports machines of kind {', '.join(MACHINE_KINDS[kind])}; {chosen.machine} is {machine.kind}"
        yield Problem("C-machine", reason, At() / "blueprint" / "kind", "set it to auto, or choose another candidate")
    domain = machine.scale_up_domain or 0
    if kind is BlueprintKind.TRAINING_CLUSTER and domain > machine.accelerator_count and profile(machine.cloud).managed_kubernetes == GKE:
        reason = (
            f"NVLink joins {domain} GPUs of {machine.name} over several machines; this release does not place them as one domain on GKE"
        )
        yield Problem("C-machine", reason, WORKLOAD, "choose another candidate")
    if kind is not BlueprintKind.BOX:
        return
    if chosen.nodes == 1 and machine.unit_nodes != 1:
        reason = f"A box has one machine; {chosen.label} has {machine.unit_nodes}"
        yield Problem("C-nodes", reason, At() / "blueprint" / "kind", "set it to auto, or pin a larger machine")
    if not machine.orderable:
        why = f"it is a part of {machine.unit_machine}" if machine.unit_machine else "no instance type name is published"
        yield Problem("C-machine", f"{machine.name} cannot be ordered: {why}", WORKLOAD, "choose another candidate")
    if domain > machine.accelerator_count and profile(machine.cloud).managed_kubernetes == GKE:
        reason = (
            f"NVLink joins {domain} GPUs of {machine.name} over several machines, which Google Cloud places together by a workload policy; "
            "a box has one machine"
        )
        yield Problem("C-machine", reason, WORKLOAD, "choose another candidate", link=NVLINK_DOMAINS)
    if machine.no_box_image:
        reason = f"No pinned image supports {machine.name}: {machine.no_box_image}"
        yield Problem("C-image", reason, At() / "blueprint" / "kind", "choose another candidate")


def _workload(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    serves, fleet = isinstance(context.spec.workload, Serve), kind is BlueprintKind.INFERENCE_FLEET
    if serves != fleet and not (serves and kind is BlueprintKind.BOX):
        reason = f"Blueprint {kind} does not support workloads of kind {context.spec.workload.kind}"
        yield Problem("C-workload", reason, At() / "blueprint" / "kind", "set it to auto")


def _fleet(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    workload = context.spec.workload
    if kind is not BlueprintKind.INFERENCE_FLEET or not isinstance(workload, Serve):
        return
    if (workload.scale_to_zero or workload.min_replicas == 0) and not context.spec.blueprint.envoy:
        reason = "Scaling to 0 replicas needs a gateway that counts requests: the metrics of a server come from its own pods"
        fix = "set blueprint.gateway: {envoy: {}} on EKS or own servers, or min_replicas to 1 or more"
        yield Problem("V-92", reason, WORKLOAD / "scale_to_zero", fix)
    need, have = context.candidate.parallelism.accelerators, context.candidate.accelerators_per_node
    if not supports(context.candidate.cloud, "serve.multi_node") and need > have:
        reason = f"A replica needs {need} accelerators and {context.machine.name} has {have}; this release serves it on one machine only"
        yield Problem("C-wide-replica", reason, WORKLOAD, f"pin a machine with {need} accelerators, or quantize the weights")
    fabric = context.catalog.layout_by_machine.get(context.machine.name)
    if need > have and fabric and fabric.gvnic_networks and not fabric.managed_networks_from:
        reason = f"A replica needs {need} accelerators; fleets have no NCCL plugin for {fabric.fabric} of {context.machine.name}"
        able = sorted(name for name, row in context.catalog.layout_by_machine.items() if row.managed_networks_from)
        yield Problem("C-wide-replica", reason, WORKLOAD, f"pin {' or '.join(able[:2])}, or quantize the weights")
    if workload.engine not in ("auto", "vllm", SGLANG):
        reason = f"Engine {workload.engine} is not supported; this release runs vLLM and SGLang"
        yield Problem("C-engine", reason, WORKLOAD / "engine", "set it to auto")
    if workload.engine == SGLANG:
        yield from unsupported_with_sglang(context, math.ceil(need / have))
    if workload.server and context.spec.blueprint.gateway == "inference":
        reason = "The endpoint picker reads the metrics of vLLM and SGLang; `server` has other ones"
        yield Problem("C-server-option", reason, At() / "blueprint" / "gateway", "set it to service, or leave server out", link=PICKER)
    yield from _server_options(context, workload)
    if context.machine.kind == "neuron":
        yield from unsupported_on_neuron(context)
    if context.machine.kind == "tpu":
        yield from unsupported_on_tpu(context)


def _server_options(context: CompileContext, workload: Serve) -> Iterator[Problem]:
    """Options that sizing counts with, and that the server of this release does not have. A server of your own is not checked."""
    if workload.disaggregation is not None:
        reason = "This release builds replicas that compute prompts and answers; it builds no router and no transfer of the KV cache"
        fix = "leave it out; `rackwright estimate` prints the two server commands of a configuration with prefill and decode"
        yield Problem("C-server-option", reason, WORKLOAD / "disaggregation", fix, link=DISAGGREGATION)
    if workload.run.args:
        return
    architecture = architecture_of(workload.model) if workload.kv_dtype == "int8" else None
    if architecture and architecture.kv_lora_rank:
        reason = "vLLM has no int8 cache for latent attention (MLA)"
        yield Problem("C-server-option", reason, WORKLOAD / "kv_dtype", "set fp8 or auto", link=QUANTIZED_CACHE)
