"""S-149, S-162 to S-166, S-210, S-226 to S-229, V-230, V-231: options of model servers."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.estimator.launch_flags import VLLM_RANKS
from rackwright.estimator.serving.speculation import MAX_ACCEPTANCE
from rackwright.spec.workload import Batch, Serve
from rackwright.spec.workload_parts import Disaggregation, ServerEndpoint
from rackwright.stackplan.labels import SERVER_PORT
from rackwright.validation.spec.registry import SpecContext, rule

GROUPED = ("awq", "gptq")
CARRIED = ("kv_dtype", "speculation", "chunked_prefill", "max_batched_tokens", "loras")
"""Options that are arguments of the server."""


@rule("S-149")
def draft_model_has_a_size(context: SpecContext) -> Iterator[Violation]:
    """`draft_model` and `draft_share`, its size, are set together."""
    for at, workload in context.each(Serve, Batch):
        if (speculation := workload.speculation) and bool(speculation.draft_model) != bool(speculation.draft_share):
            given, missing = ("draft_model", "draft_share") if speculation.draft_model else ("draft_share", "draft_model")
            fix = "such as draft_share: 15 %" if missing == "draft_share" else "name the draft model, or leave draft_share out"
            yield Violation(at / "speculation" / given, fix, f"`{given}` is set without `{missing}`", about_key=True)


@rule("S-163", Level.WARNING)
def acceptance_is_plausible(context: SpecContext) -> Iterator[Violation]:
    """The accepted share of draft tokens should be at most 90 %."""
    for at, workload in context.each(Serve, Batch):
        speculation = workload.speculation
        if speculation and speculation.acceptance > MAX_ACCEPTANCE:
            given, highest = f"{speculation.acceptance:.0%}", f"{MAX_ACCEPTANCE:.0%}"
            message = f"An acceptance of {given} is above {highest}, the highest that is published for draft models"
            fix = "measure it on your requests: accepted over proposed draft tokens of the server's metrics"
            yield Violation(at / "speculation" / "acceptance", fix, message)


@rule("S-162")
def grouped_weights_multiply_in_sixteen_bit(context: SpecContext) -> Iterator[Violation]:
    """Weights of awq and gptq are multiplied in 16 bit; `precision` must be auto, bf16 or fp16."""
    for at, workload in context.each(Serve, Batch):
        if workload.quantization in GROUPED and workload.precision not in ("auto", "bf16", "fp16"):
            message = f"Weights in {workload.quantization} are multiplied in 16 bit; precision is {workload.precision}"
            fix = f"set auto; or leave {workload.quantization} out and set quantization: {workload.precision}"
            yield Violation(at / "precision", fix, message)


@rule("S-164", Level.WARNING, stage=Stage.BUILD)
def own_arguments_have_the_options(context: SpecContext) -> Iterator[Violation]:
    """`run.args` replaces the arguments of the server, so it must contain those of the options in the spec."""
    for at, workload in context.each(Serve):
        fields = type(workload).model_fields
        given = [key for key in CARRIED if getattr(workload, key) != fields[key].default]
        if workload.run.args and given:
            message = f"`args` replaces the server's arguments; plan and bill count with {', '.join(given)}, which it must set"
            yield Violation(at / "run" / "args", "add their arguments, or leave args out", message, about_key=True, blocks_update=False)


@rule("S-165")
def pools_are_within_the_replicas(context: SpecContext) -> Iterator[Violation]:
    """The replicas of `disaggregation` together must be at least min_replicas and at most max_replicas."""
    for at, workload in context.each(Serve):
        pools = workload.disaggregation
        if isinstance(pools, Disaggregation):
            total, least, most = pools.prefill + pools.decode, workload.min_replicas, workload.max_replicas
            limit = "min_replicas" if total < least else "max_replicas" if most is not None and total > most else ""
            if limit:
                message = f"{pools.prefill} prefill and {pools.decode} decode replicas are {total}; {limit} is {getattr(workload, limit)}"
                yield Violation(at / "disaggregation", f"set {limit} to {total}, or auto", message)


@rule("S-166")
def whole_prompts_fill_the_batch(context: SpecContext) -> Iterator[Violation]:
    """Without chunked prefill an iteration holds the longest request, so max_batched_tokens must not be below max_context."""
    for at, workload in context.each(Serve, Batch):
        tokens, longest = workload.max_batched_tokens, workload.max_context
        if workload.chunked_prefill is False and tokens and longest and tokens < longest:
            message = f"max_batched_tokens ({tokens:,}) is below max_context ({longest:,}), and chunked_prefill is false"
            yield Violation(at / "max_batched_tokens", f"set {longest} or more, or leave it out", message)


@rule("S-210", Level.WARNING, link="https://docs.vllm.ai/en/v0.27.0/configuration/optimization/")
def whole_prompts_are_not_supported_officially(context: SpecContext) -> Iterator[Violation]:
    """vLLM does not officially support generation without chunked prefill."""
    for at, workload in context.each(Serve):
        if workload.chunked_prefill is False:
            message = "vLLM does not officially support generation without chunked prefill; it may stop or answer incorrectly"
            fix = "leave it out, and set max_batched_tokens to the longest prompt: prompts are then computed whole"
            yield Violation(at / "chunked_prefill", fix, message)


@rule("S-226")
def adapters_fit_the_server(context: SpecContext) -> Iterator[Violation]:
    """The rank of adapters is at most 512, and `count` is at most the number of named adapters, unless clients load others."""
    for at, workload in context.each(Serve):
        loras = workload.loras
        if loras and loras.rank > VLLM_RANKS[-1]:
            message = f"Adapters of rank {loras.rank} exceed {VLLM_RANKS[-1]}, the highest that vLLM supports"
            yield Violation(at / "loras" / "rank", f"set {VLLM_RANKS[-1]} or less", message)
        if loras and loras.adapters and loras.count > len(loras.adapters) and not loras.updates:
            named = len(loras.adapters)
            message = f"`count` ({loras.count}) exceeds the {named} named adapters, so that memory stays unused"
            yield Violation(at / "loras" / "count", f"set {named}, name more adapters, or set updates: true", message)


@rule("S-227")
def only_clients_with_the_key_change_adapters(context: SpecContext) -> Iterator[Violation]:
    """`updates` of adapters requires `api_key`: every client could load a folder or a repository otherwise."""
    for at, workload in context.each(Serve):
        if workload.loras and workload.loras.updates and workload.api_key is None:
            message = "`updates` lets every client load adapters, because `api_key` is not set"
            yield Violation(at / "loras" / "updates", "set api_key, or leave updates out", message)


@rule("S-228")
def own_server_has_an_image(context: SpecContext) -> Iterator[Violation]:
    """`server` describes a container of your own, so `run.image` must be set, and `engine` must not."""
    for at, workload in context.each(Serve):
        if workload.server and workload.run.image is None:
            yield Violation(at / "server", "set run.image to the image of the server", "`run.image` is not set", about_key=True)
        if workload.server and workload.engine != "auto":
            message = f"`server` describes a server of your own; engine is {workload.engine}"
            yield Violation(at / "engine", "leave engine out, or server", message)


@rule("S-229")
def adapters_are_beside_the_weights(context: SpecContext) -> Iterator[Violation]:
    """Adapters of `weights://` are in the bucket of the weights; weights of a model hub have none."""
    for at, workload in context.each(Serve):
        weights = workload.model.weights
        if not workload.loras or weights is None or not weights.uri.startswith("hf://"):
            continue
        for name, uri in workload.loras.adapters.items():
            if uri.startswith("weights://"):
                message = f"{uri} is a folder beside the weights, and the weights are on a model hub"
                yield Violation(at / "loras" / "adapters" / name, "write hf://ORG/REPO, or put the weights into a bucket", message)


@rule("V-230", Level.WARNING, stage=Stage.BUILD, link="https://docs.vllm.ai/en/v0.27.0/features/lora/")
def updates_reach_one_replica(context: SpecContext) -> Iterator[Violation]:
    """Adapters that a client loads are on one replica only; the other replicas answer that the model does not exist."""
    for at, workload in context.each(Serve):
        if workload.loras and workload.loras.updates and workload.max_replicas != 1:
            fix = "set max_replicas: 1, or name the adapters in loras.adapters"
            message = "A request to load an adapter reaches one replica, and the fleet can have several"
            yield Violation(at / "loras" / "updates", fix, message, blocks_update=False)


@rule("V-231", link="https://kubernetes.io/docs/concepts/services-networking/service/#multi-port-services")
def ports_of_a_server_differ(context: SpecContext) -> Iterator[Violation]:
    """Ports of a service differ: `metrics.port` is neither the port of the server nor 8000, on which clients reach the service."""
    for at, workload in context.each(Serve):
        server = workload.server if isinstance(workload.server, ServerEndpoint) else None
        port = server.metrics.port if server else None
        if server and port is not None and port in (server.port, SERVER_PORT):
            fix = "leave it out, if the server publishes its metrics on that port" if port == server.port else "set another port"
            yield Violation(at / "server" / "metrics" / "port", fix, f"The service has port {port} twice")
