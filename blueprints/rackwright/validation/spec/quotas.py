"""S-90: files of quotas."""

from collections.abc import Iterator

from rackwright.diagnostics.rule import Violation
from rackwright.spec.quotas import FORM, QuotaFileError, read_quotas
from rackwright.validation.spec.registry import SpecContext, rule


@rule("S-90", link="https://docs.aws.amazon.com/servicequotas/latest/userguide/gs-request-quota.html")
def quotas_can_be_read(context: SpecContext) -> Iterator[Violation]:
    """A quota file must exist, and list what the account grants per region and quota code."""
    for at, place in context.places:
        if isinstance(place.quotas, str):
            try:
                read_quotas(context.folder / place.quotas)
            except QuotaFileError as error:
                yield Violation(at / "quotas", FORM, error.problems[0].reason)
