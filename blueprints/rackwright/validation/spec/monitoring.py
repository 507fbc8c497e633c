"""S-225: receivers of alerts of the cluster."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.validation.spec.registry import SpecContext, rule


@rule("S-225")
def mail_server_has_recipients(context: SpecContext) -> Iterator[Violation]:
    """A mail server in `smtp` needs an email address in `notify`."""
    blueprint = context.spec.blueprint
    if blueprint.smtp and not blueprint.emails:
        message = "`smtp` is set, and `notify` has no email address"
        yield Violation(At() / "blueprint" / "smtp", "add an address to notify, or remove smtp", message, about_key=True)
