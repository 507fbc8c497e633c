"""S-204 to S-209, N-36, N-37: accelerators that replicas of services share."""

from collections.abc import Iterator
from fractions import Fraction

from rackwright.catalog import query
from rackwright.catalog.rows import MigProfile
from rackwright.catalog.sharing import MAX_MPS_CLIENTS
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.sizing.offers.own_servers import accelerator_of
from rackwright.sizing.offers.sharing import options_of, profiles_of
from rackwright.spec.base import quote
from rackwright.spec.blueprint import OwnImage, SharingOptions
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.spec.workload import Serve
from rackwright.stackplan.operators import GPU_OPERATOR
from rackwright.validation.spec.registry import SpecContext, rule

SHARING = At() / "blueprint" / "sharing"
MIG_GUIDE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"
MPS_GUIDE = "https://docs.nvidia.com/deploy/mps/when-to-use-mps.html"
TIME_SLICING = "https://docs.aws.amazon.com/eks/latest/userguide/device-management-nvidia-time-slicing.html"
VLLM_LIMIT, SGLANG_LIMIT = "--gpu-memory-utilization", "--mem-fraction-static"
"""Arguments that limit the memory of a server."""


def _options(context: SpecContext) -> SharingOptions | None:
    """`blueprint.sharing` where it names one strategy."""
    found = options_of(context.spec.blueprint.sharing)
    return found[0] if len(found) == 1 else None


def _pinned_accelerators(context: SpecContext) -> list[str]:
    """Accelerators of the pinned machines, once each; empty where a place pins none."""
    pins = [place.pin.instance if place.pin else None for _, place in context.places]
    machines = [query.machine(context.catalog, pin) if pin else None for pin in pins]
    return list(dict.fromkeys(machine.accelerator or "CPUs" for machine in machines if machine)) if all(machines) else []


@rule("S-204", link=MIG_GUIDE)
def shared_profile_exists(context: SpecContext) -> Iterator[Violation]:
    """The MIG profile of `blueprint.sharing` is one of the accelerators that may be chosen, which MIG can divide."""
    options = _options(context)
    if options is None or options.strategy != "mig":
        return
    every = list(dict.fromkeys(row.accelerator for row in context.catalog.mig_profiles))
    pinned = _pinned_accelerators(context)
    known = {name: [row.profile for row in profiles_of(name, context.catalog)] for name in pinned or every}
    at = SHARING / "profile" if options.profile else SHARING
    for name in (name for name in pinned if not known[name]):
        yield Violation(at, "use mps, or pin a machine with such as H100", f"{name} cannot be divided by MIG")
    if options.profile is None or not any(known.values()):
        return
    if not any(options.profile in profiles for profiles in known.values()):
        whose = " and ".join(name for name in pinned if known[name]) if pinned else "any accelerator of the catalog"
        names = list(dict.fromkeys(profile for profiles in known.values() for profile in profiles))
        message = f"The MIG profile {quote(options.profile)} does not exist on {whose}"
        near = "" if pinned else did_you_mean(options.profile, names)
        yield Violation(at, near or f"use {', '.join(names)}", message)


@rule("S-205", link="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/deployment-considerations.html")
def parts_run_whole_replicas(context: SpecContext) -> Iterator[Violation]:
    """A replica on a divided accelerator has one part: parts have no direct path to each other, so tensor or pipeline parallelism is 1."""
    choice = context.spec.blueprint.sharing
    divided = [group.gpus.mig for _, group in context.server_groups if group.gpus and group.gpus.mig]
    if choice in ("none", "auto") and not divided:
        return
    options = _options(context)
    what = f"blueprint.sharing is {options.strategy}" if options else f"the GPUs are divided into {divided[0]}"
    for at, workload in context.each(Serve):
        for key in ("tensor", "pipeline"):
            degree = getattr(workload.parallelism, key)
            if isinstance(degree, int) and degree > 1:
                message = f"`{key}: {degree}` needs {degree} accelerators per replica, and {what}: one part for each replica"
                yield Violation(at / "parallelism" / key, "leave it out, or set sharing: none", message)


@rule("S-206", link=MIG_GUIDE)
def parts_fit_the_accelerator(context: SpecContext) -> Iterator[Violation]:
    """The parts of an accelerator together are at most the whole: instances of a MIG profile, or clients of MPS."""
    options = _options(context)
    count = options.replicas_per_accelerator if options else None
    if options is None or count is None:
        return
    at = SHARING / "replicas_per_accelerator"
    if options.strategy == "mig" and options.profile is None:
        yield Violation(at, "set `profile`, or use mps", "`replicas_per_accelerator` is set for MIG without a `profile`")
    rows = [row for row in context.catalog.mig_profiles if options.strategy == "mig" and row.profile == options.profile]
    pinned = _pinned_accelerators(context)
    rows = [row for row in rows if not pinned or row.accelerator in pinned]
    if rows and all(row.instances != count for row in rows):
        row = rows[0]
        yield Violation(at, f"set {row.instances}, or leave it out", _against_whole(row, count))


def _against_whole(row: MigProfile, count: int) -> str:
    sms, memory = (Fraction(share).limit_denominator(8) for share in (row.fraction_of_sms, row.fraction_of_memory))
    if count > row.instances:
        room = f"{row.accelerator} has room for {row.instances}"
        return f"{count} x {row.profile} need {count} x {sms} of the SMs and {count} x {memory} of the memory; {room}"
    return f"{row.accelerator} is divided into {row.instances} x {row.profile}; `replicas_per_accelerator` is {count}"


@rule("S-207", link=MPS_GUIDE)
def mps_clients_are_within_the_limit(context: SpecContext) -> Iterator[Violation]:
    """A GPU has at most 48 clients of MPS."""
    options = _options(context)
    count = options.replicas_per_accelerator if options and options.strategy == "mps" else None
    if count and count > MAX_MPS_CLIENTS:
        message = f"{count} clients of MPS on one GPU exceed the limit of {MAX_MPS_CLIENTS}"
        yield Violation(SHARING / "replicas_per_accelerator", f"set {MAX_MPS_CLIENTS} or fewer", message)


@rule("S-208", Level.WARNING, link=TIME_SLICING)
def time_slicing_isolates_no_memory(context: SpecContext) -> Iterator[Violation]:
    """Time-slicing isolates no memory: a replica that uses more than its part stops the others."""
    options = _options(context)
    if options and options.strategy == "time-slicing":
        message = "Time-slicing does not limit the memory of a replica; one that uses more than its part stops the others on its GPU"
        yield Violation(SHARING, "use mps, which limits it, or mig, which also isolates faults", message)


@rule("S-209")
def own_arguments_limit_memory(context: SpecContext) -> Iterator[Violation]:
    """On a GPU shared without MIG, `run.args` limits the memory of the server; a server that `server` describes needs such arguments."""
    strategies = {options.strategy for options in options_of(context.spec.blueprint.sharing)} - {"mig"}
    for at, workload in context.each(Serve) if strategies else ():
        args, limits = workload.run.args, _memory_limits(workload)
        fix = f"add such as {limits[0]}=0.45 for two replicas per GPU"
        if args and not any(arg.startswith(limits) for arg in args):
            engine = "" if workload.server else "SGLang" if workload.engine == "sglang" else "vLLM"
            takes = f"{engine} takes most of the GPU by default, and replicas share it" if engine else "replicas share the GPU"
            yield Violation(at / "run" / "args", fix, f"`args` has no {' or '.join(limits)}; {takes}", about_key=True)
        elif workload.server and not args:
            message = "The server has no `run.args` that limit its memory, and replicas share the GPU"
            yield Violation(at / "server", "set `run.args` with its memory limit, or share by mig", message, about_key=True)


def _memory_limits(workload: Serve) -> tuple[str, ...]:
    """Arguments that limit the memory of the workload's server, any of which is enough."""
    if workload.server:
        return (VLLM_LIMIT, SGLANG_LIMIT)
    return (SGLANG_LIMIT,) if workload.engine == "sglang" else (VLLM_LIMIT,)


@rule("N-36")
def shared_pools_are_built_on_these_nodes(context: SpecContext) -> Iterator[Violation]:
    """Shared accelerators are built on managed node groups of al2023 or Ubuntu, in a new cluster, or on GKE."""
    blueprint = context.spec.blueprint
    if blueprint.sharing == "none":
        return
    family = blueprint.nodes.image.family if isinstance(blueprint.nodes.image, OwnImage) else blueprint.nodes.image
    if family == "bottlerocket":
        yield Violation(At() / "blueprint" / "nodes" / "image", "use al2023", "Shared accelerators on Bottlerocket are not supported")
    if blueprint.nodes.provisioner == "karpenter":
        # https://github.com/kubernetes-sigs/karpenter/issues/2140
        message = "Karpenter counts a part of an accelerator as a whole one, and starts a machine for each"
        yield Violation(At() / "blueprint" / "nodes" / "provisioner", "use auto or managed", message)
    if blueprint.cluster != "new":
        message = "Shared accelerators in an existing cluster are not supported: its device plugin is not part of the stack"
        yield Violation(SHARING, "use none, or a new cluster", message)


@rule("N-37")
def operators_of_own_servers_are_free(context: SpecContext) -> Iterator[Violation]:
    """On own servers the stack divides GPUs only where it installs the GPU operator."""
    if context.spec.blueprint.sharing == "none":
        return
    for at, place in context.places:
        inventory = context.inventory(place)
        has_operator = inventory is not None and any(each.name == GPU_OPERATOR for each in inventory.installed)
        whole = inventory is not None and any(accelerator_of(g, context.catalog) and not (g.gpus and g.gpus.mig) for g in inventory.servers)
        if has_operator and whole:
            message = "The cluster has a GPU operator, which is not part of the stack, so its GPUs cannot be divided here"
            fix = "divide them by MIG with that operator, run `rackwright inventory` again, and set sharing: none"
            yield Violation(at / "inventory", fix, message)
