"""S-225, S-262: receivers of alerts of the cluster, and the account of its budget."""

from collections.abc import Iterator

from rackwright.clouds import supports
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


@rule("S-262", link="https://docs.cloud.google.com/billing/docs/how-to/budgets")
def billing_account_is_of_google_cloud(context: SpecContext) -> Iterator[Violation]:
    """`billing_account` is valid for gcp only."""
    for at, place in context.places:
        if place.billing_account is not None and not supports(place.cloud, "project.alerts"):
            message = f"`billing_account` is valid for gcp only; this place is on {place.cloud}"
            yield Violation(at / "billing_account", "leave it out", message, about_key=True)
