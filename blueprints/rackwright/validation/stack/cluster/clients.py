"""V-131 to V-133: API key and TLS of the clients of a fleet."""

from collections.abc import Iterator

from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.workload import Serve
from rackwright.spec.workload_parts import API_KEY_VARIABLE, API_PATH
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import OPEN_PATHS_ARGUMENT
from rackwright.validation.stack.registry import StackContext, context_rule, manifests, pod_templates

SECURITY = "https://docs.vllm.ai/en/v0.27.0/usage/security/"
TLS = "https://gateway-api.sigs.k8s.io/guides/tls/"
OUTAGE = "The update of a running fleet closes port 80 and opens 443. Move clients to https when it ends"
SAFETY = At() / "blueprint" / "safety"


@context_rule("V-131", Level.ERROR, SECURITY, Stage.BUILD)
def servers_require_an_api_key(context: StackContext) -> Iterator[Violation]:
    """The model server requires an API key, which vLLM checks for paths below /v1."""
    for at, workload in _open_servers(context) if context.spec and context.spec.blueprint.safety.require_api_key else ():
        fix = (
            "add `secrets: {api-key: {config: apiKey}}` and `api_key: {secret: api-key}`, or set blueprint.safety.require_api_key to false"
            ". Clients of a running fleet must send the key before the update, because it refuses requests without one"
        )
        yield Violation(at / "api_key", fix, f"{workload.name} has no `api_key`, so every client in the network can use the model")


@context_rule("V-132", Level.ERROR, TLS, Stage.BUILD)
def load_balancers_have_certificates(context: StackContext) -> Iterator[Violation]:
    """The load balancer of a fleet has a TLS certificate, so that prompts, answers and API keys are encrypted on the network."""
    if not context.spec or not context.spec.blueprint.safety.require_tls or _has_certificate(context.plan):
        return
    place, listed = context.plan.place, len(context.spec.blueprint.certificates)
    found = f"none of the {listed} certificates is" if listed > 1 else "the certificate is not" if listed else "no certificate is listed"
    form = profile(place.cloud).certificate_form.replace("REGION", place.region)
    fix = f"add {form} to `certificates`, or set blueprint.safety.require_tls to false. {OUTAGE}"
    message = f"The load balancer of {_server(context)} would use plain HTTP: {found} for {place.region}"
    yield Violation(At() / "blueprint" / "certificates", fix, message, link=profile(place.cloud).links.get("certificates", ""))


@context_rule("V-133", Level.WARNING, SECURITY)
def clients_are_protected(context: StackContext) -> Iterator[Violation]:
    """The API key and TLS of a fleet are on, and clients reach only paths for which its server checks the key."""
    if context.spec is None:
        return
    yield from _open_paths(context)
    plan, safety = context.plan, context.spec.blueprint.safety
    for _, workload in _open_servers(context) if not safety.require_api_key else ():
        message = f"{workload.name} accepts requests without an API key from every client in the network"
        yield Violation(SAFETY / "require_api_key", "remove require_api_key from blueprint.safety, and set api_key", message)
    if not safety.require_tls and not _has_certificate(plan):
        message = f"The load balancer of {_server(context)} uses plain HTTP, so prompts, answers and API keys are not encrypted"
        yield Violation(SAFETY / "require_tls", "remove require_tls from blueprint.safety, and set certificates", message)
    for at, workload in _served(context):
        if not (workload.api_key and workload.run.command and _servers(plan)):
            continue
        message = f"`run.command` replaces `vllm serve`; rackwright does not know whether that server checks {API_KEY_VARIABLE}"
        yield Violation(at / "run" / "command", f"make the server require {API_KEY_VARIABLE}, or leave `command` out", message)


def _open_paths(context: StackContext) -> Iterator[Violation]:
    """vLLM checks the key below /v1 only, and a load balancer of connections forwards every path. The stack's middleware, which refuses
    them, is for images and arguments that rackwright knows."""
    limited = {manifest.body["metadata"]["name"] for _, manifest, template in pod_templates(context.plan) if _limits_paths(template)}
    owners = {f"{workload.name}-entrance": (at, workload) for at, workload in _served(context) if workload.name not in limited}
    for body in _load_balancers(context.plan):
        at, workload = owners.get(body["metadata"]["name"], (None, None))
        if at is None or workload is None or not workload.api_key or workload.run.command:
            continue
        ranges = ", ".join(body["spec"].get("loadBalancerSourceRanges", ())) or "every address"
        message = f"{workload.name} checks its key for paths below {API_PATH} only; {ranges} can use the model without it by /invocations"
        fix = f"remove `image` and `args` from `run`, put a proxy that forwards only {API_PATH} before it, or trust these clients"
        yield Violation(at / "api_key", fix, message)


def _limits_paths(template: dict) -> bool:
    """Whether the server of a pod refuses the other paths itself."""
    return any(OPEN_PATHS_ARGUMENT in container.get("args", ()) for container in template["spec"]["containers"])


def _load_balancers(plan: StackPlan) -> list[dict]:
    return [m.body for _, m in manifests(plan, "Service") if m.body["spec"].get("type") == "LoadBalancer"]


def _server(context: StackContext) -> str:
    """Names of the servers."""
    return " and ".join(workload.name for workload in context.spec.workloads) if context.spec else context.plan.name


def _served(context: StackContext) -> list[tuple[At, Serve]]:
    """The serving workloads with their paths."""
    workloads = enumerate(context.spec.workloads) if context.spec else ()
    return [(At() / "workloads" / index, workload) for index, workload in workloads if isinstance(workload, Serve)]


def _open_servers(context: StackContext) -> list[tuple[At, Serve]]:
    """Workloads with a server of this stack that takes no API key from a secret, and no gateway that checks its clients."""
    envoy = context.spec.blueprint.envoy if context.spec else None
    if "workloads" not in context.plan.layers or (envoy and envoy.authenticates):
        return []
    found: set[str] = set()
    for _, manifest, template in pod_templates(context.plan):
        containers = (c for c in template["spec"]["containers"] if c.get("ports"))
        keys = [{row["name"] for row in container.get("env", ()) if "valueFrom" in row} for container in containers]
        found |= {manifest.body["metadata"]["name"]} if any(API_KEY_VARIABLE not in names for names in keys) else set()
    return [(at, workload) for at, workload in _served(context) if workload.name in found]


def _servers(plan: StackPlan) -> list[dict]:
    """Containers that accept requests, where this stack builds them."""
    if "workloads" not in plan.layers:
        return []
    return [c for _, _, template in pod_templates(plan) for c in template["spec"]["containers"] if c.get("ports")]


def _has_certificate(plan: StackPlan) -> bool:
    """Whether every load balancer of the stack has a certificate."""
    if "workloads" not in plan.layers:
        return True
    prefix = profile(plan.place.cloud).load_balancer_annotation
    behind = any(manifests(plan, "EnvoyProxy"))  # its load balancer ends TLS
    listeners = [listener for _, m in manifests(plan, "Gateway") for listener in m.body["spec"]["listeners"] if not behind]
    return all(body["metadata"].get("annotations", {}).get(f"{prefix}-ssl-cert") for body in _load_balancers(plan)) and all(
        listener.get("tls") for listener in listeners
    )
