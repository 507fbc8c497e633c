"""S-90: files of quotas."""

from collections.abc import Iterator

from rackwright.spec.checks.registry import Context, Finding, check
from rackwright.spec.quotas import FORM, QuotaFileError, read_quotas


@check("S-90", link="https://docs.aws.amazon.com/servicequotas/latest/userguide/gs-request-quota.html")
def quotas_can_be_read(context: Context) -> Iterator[Finding]:
    """A file of quotas must be there, and say what an account grants by region and code."""
    for at, place in context.places:
        if isinstance(place.quotas, str):
            try:
                read_quotas(context.folder / place.quotas)
            except QuotaFileError as error:
                yield Finding(at / "quotas", FORM, error.problems[0].reason)
