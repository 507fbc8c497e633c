"""Who may use the models behind a gateway: clients with an API key, or with a token of an OpenID Connect issuer."""

from collections.abc import Iterator

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.spec.operators.gateway import EnvoyOptions
from rackwright.stackplan import ManifestPlan, ref
from rackwright.stackplan.namespaces import ENVOY_NAMESPACE

API = "gateway.envoyproxy.io/v1alpha1"
KEY_HEADERS = ["Authorization", "x-api-key"]
"""Where a key is: as a bearer token, as clients of OpenAI's API send it, or alone
(https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/api_key_auth/v3/api_key_auth.proto)."""
CLIENT_HEADER = "x-client-id"
"""Name of the client, for the servers; the key is removed."""


def authentication(stack: str, options: EnvoyOptions) -> Iterator[ManifestPlan]:
    """The policy of the Gateway with its secret; nothing where the servers check a key themselves."""
    if not options.authenticates:
        return
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": stack}
    spec: Body = {"targetRefs": [target]}
    after = ["gateway.gateway"]
    if options.api_keys:
        name = f"{stack}-clients"
        values = {client: ref(f"secret.{source.secret}") for client, source in options.api_keys.items()}
        yield ManifestPlan("gateway.keys", obj("v1", "Secret", name, ENVOY_NAMESPACE, type="Opaque", stringData=values))
        after.append("gateway.keys")
        spec["apiKeyAuth"] = {
            "credentialRefs": [{"group": "", "kind": "Secret", "name": name}],
            "extractFrom": [{"headers": KEY_HEADERS}],
            "forwardClientIDHeader": CLIENT_HEADER,
            "sanitize": True,
        }
    if oidc := options.oidc:
        provider = {
            "name": "issuer",
            "issuer": oidc.issuer,
            "audiences": [*oidc.audiences],
            "remoteJWKS": {"uri": oidc.jwks},
            "claimToHeaders": [{"header": CLIENT_HEADER, "claim": "sub"}],
        }
        spec["jwt"] = {"providers": [provider]}
    yield ManifestPlan("gateway.security", obj(API, "SecurityPolicy", stack, ENVOY_NAMESPACE, spec), tuple(after))
