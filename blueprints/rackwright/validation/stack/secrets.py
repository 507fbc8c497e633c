"""Secrets: plaintext in scripts, chart values and Kubernetes objects, and values that the configuration lacks."""

import re
from collections.abc import Iterator
from typing import Any

from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import StackContext, context_rule, rule

TOKENS = re.compile(
    r"AKIA[0-9A-Z]{16}"  # AWS access key
    r"|hf_[A-Za-z0-9]{30,}"  # Hugging Face
    r"|ghp_[A-Za-z0-9]{36}"  # GitHub
    r"|sk-[A-Za-z0-9_-]{32,}"  # model providers
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
SECRET_NAME = re.compile(r"(PASSWORD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|CREDENTIAL)S?$", re.IGNORECASE)
NO_SECRET = re.compile(r"TOKENS$")
"""Names of token counts, such as MAX_TOKENS."""
NESTED = (str, dict, list)
"""Types of values that can hold a secret."""


@rule("V-114", Level.ERROR, "https://www.pulumi.com/docs/iac/concepts/secrets/")
def secrets_are_references(plan: StackPlan) -> Iterator[Violation]:
    """Secrets are references; a plaintext value in a script, in chart values or in an object is visible to everyone with read access."""
    places: list[tuple[tuple[str | int, ...], Any]] = [(("releases", i, "values"), r.values) for i, r in enumerate(plan.releases)]
    places += [(("manifests", i, "body"), m.body) for i, m in enumerate(plan.manifests)]
    places += [(("box", "setup_script"), plan.box.setup_script)] if plan.box else []
    for place, value in places:
        for steps in _secrets(value):
            yield Violation(At((*place, *steps)), "add it to run.secrets and refer to it", "This value is a plaintext secret")


@context_rule("D-secret", Level.ERROR, "https://www.pulumi.com/docs/iac/concepts/secrets/", Stage.BUILD)
def secrets_are_configured(context: StackContext) -> Iterator[Violation]:
    """The configuration of the stack has every secret of the spec; containers cannot start without it."""
    secrets = context.spec.secrets_of_layers(context.plan.layers) if context.spec else {}
    for name, secret in secrets.items():
        if context.is_configured is None or not context.is_configured(secret.config):
            reason = f"Secret {name} must be set"
            fix = f"run `pulumi config set --secret rackwright:{secret.config}`"
            known = context.is_configured is not None  # a plan reads no configuration, so it only reminds
            yield Violation(At() / "secrets" / name, fix, reason, level=None if known else Level.WARNING)


def _secrets(value: Any) -> list[tuple[str | int, ...]]:
    """Paths to plaintext secrets below a value, built on the way back: most of the hundreds of values in a stack are none."""
    if isinstance(value, str):
        return [()] if TOKENS.search(value) else []
    if isinstance(value, dict):
        name, text = value.get("name"), value.get("value")  # an environment variable
        if isinstance(name, str) and isinstance(text, str) and text and SECRET_NAME.search(name) and not NO_SECRET.search(name):
            return [("value",)]
        items = value.items()
    else:
        items = enumerate(value) if isinstance(value, list) else ()
    found = []
    for step, item in items:
        if isinstance(item, NESTED) and (below := _secrets(item)):
            found += [(step, *steps) for steps in below]
    return found
