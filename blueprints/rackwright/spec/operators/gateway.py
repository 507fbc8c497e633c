"""Models of `blueprint.gateway`: one gateway for all models of a fleet."""

from typing import Annotated, Literal

from pydantic import Field, Tag

from rackwright.spec.base import MAPPING, PLAIN, Name, Part, PositiveInt, Text, plain_or_mapping
from rackwright.spec.workload_parts import SecretRef

HttpsUrl = Annotated[str, Field(pattern=r"^https://\S+$", description="such as https://login.example.com")]


class Oidc(Part):
    """Tokens (JWT) of an OpenID Connect issuer, which clients send as bearer tokens."""

    issuer: HttpsUrl
    """URL of the issuer, equal to `iss` of its tokens."""
    audiences: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Accepted values of `aud`."""
    jwks: HttpsUrl
    """URL of the issuer's keys: `jwks_uri` of its /.well-known/openid-configuration."""


class RateLimit(Part):
    """Limit of requests to each model; further ones are answered with status 429."""

    requests: PositiveInt
    """Number of requests of all clients together."""
    per: Literal["second", "minute", "hour"] = "minute"
    """Time in which they are counted."""


class EnvoyOptions(Part):
    """Options of Envoy Gateway."""

    route_by: Literal["model", "header", "path"] = "model"
    """What selects one of several models: `model` of the request's body, the header X-Gateway-Model-Name, or a path such as /chat/v1."""
    api_keys: dict[Name, SecretRef] = {}
    """API keys by name of the client, from secrets. Clients send theirs as bearer token or in the header x-api-key."""
    oidc: Oidc | None = None
    """Tokens that clients send instead of API keys."""
    rate_limit: RateLimit | None = None
    """Limit of requests; default: none."""

    @property
    def authenticates(self) -> bool:
        """Whether the gateway checks its clients."""
        return bool(self.api_keys or self.oidc)


class EnvoyGateway(Part):
    """Envoy Gateway, on EKS and own servers."""

    envoy: EnvoyOptions
    """Options; `{}` for none."""


Gateway = Annotated[
    Annotated[Literal["service", "inference"], Tag(PLAIN)] | Annotated[EnvoyGateway, Tag(MAPPING)],
    plain_or_mapping,
]
