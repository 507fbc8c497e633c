"""S-292 to S-295: one gateway for all models of a fleet."""

from collections import Counter
from collections.abc import Iterator

from rackwright.clouds import supports
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.base import quote
from rackwright.spec.workload import Serve
from rackwright.validation.spec.registry import SpecContext, rule

GATEWAY = At() / "blueprint" / "gateway"
KEYS = "https://gateway.envoyproxy.io/docs/tasks/security/apikey-auth/"


@rule("S-292", link="https://gateway.envoyproxy.io/docs/")
def gateway_is_supported(context: SpecContext) -> Iterator[Violation]:
    """Envoy Gateway is for fleets in new EKS clusters and on own servers."""
    blueprint = context.spec.blueprint
    if blueprint.envoy is None:
        return
    lacking = sorted({place.cloud for _, place in context.places if not supports(place.cloud, "serve.envoy")})
    if lacking:
        yield Violation(GATEWAY, "use service, or inference", f"Envoy Gateway is not supported on {', '.join(lacking)} in this release")
    if blueprint.cluster != "new":
        message = "Envoy Gateway is an operator, and a stack in an existing EKS cluster installs none"
        yield Violation(GATEWAY, "use service, or a new cluster", message)
    if blueprint.kind not in ("auto", "inference-fleet") or not any(context.each(Serve)):
        message = f"The stack has no fleet (kind {blueprint.kind}), so it has no gateway"
        yield Violation(GATEWAY, "leave it out, or use kind: inference-fleet", message)


@rule("S-293", link=KEYS)
def one_place_checks_the_clients(context: SpecContext) -> Iterator[Violation]:
    """The gateway or the servers check the clients: with `api_keys` or `oidc` the workloads have no `api_key`."""
    envoy = context.spec.blueprint.envoy
    if envoy is None:
        return
    for at, workload in context.each(Serve) if envoy.authenticates else ():
        if workload.api_key:
            message = f"The gateway checks and removes the key of a client, so {workload.name} would refuse every request"
            yield Violation(at / "api_key", "leave it out, or leave api_keys and oidc of the gateway out", message)
    if envoy.api_keys and envoy.oidc:
        message = "A request would need an API key and a token, and both are in its header Authorization"
        yield Violation(GATEWAY / "envoy" / "oidc", "keep api_keys or oidc", message)


@rule("S-294")
def names_select_one_model(context: SpecContext) -> Iterator[Violation]:
    """A name in a request selects one model: workloads and adapters of a gateway that routes by name have different ones."""
    envoy = context.spec.blueprint.envoy
    served = list(context.each(Serve))
    if envoy is None or envoy.route_by == "path" or len(served) < 2:
        return
    names = {workload.name: {workload.name, workload.model.base or "", *_adapters(workload)} - {""} for _, workload in served}
    twice = Counter(name for own in names.values() for name in own)
    for at, workload in served[1:]:
        if shared := sorted(name for name in names[workload.name] if twice[name] > 1):
            message = f"Requests for {quote(shared[0])} would select {workload.name} and another workload"
            yield Violation(at / "name", "use route_by: path, or a stack for each", message)


@rule("S-295")
def limits_are_divided_evenly(context: SpecContext) -> Iterator[Violation]:
    """The two proxies of a gateway count the requests of a rate apart, so that it is 2 or more."""
    envoy = context.spec.blueprint.envoy
    if envoy and envoy.rate_limit and envoy.rate_limit.requests < 2:
        message = f"A limit of {envoy.rate_limit.requests} request per {envoy.rate_limit.per} cannot be divided between two proxies"
        yield Violation(GATEWAY / "envoy" / "rate_limit" / "requests", "set 2 or more, or a longer time", message)


def _adapters(workload: Serve) -> set[str]:
    return {*workload.loras.adapters} if workload.loras else set()
