"""Speculative decoding: tokens per step, and the interval from the acceptance of drafts. Does not depend on the catalog or the spec."""

from rackwright.estimator.calibration.coefficients import ResidualQuantiles
from rackwright.estimator.serving.case import ServingCase

ACCEPTANCE_RANGE = 0.1
"""Half the range (p10 to p90) of the accepted share of drafts around the stated one. One pair of models accepts 0.53 to 0.75 over two
tasks and two temperatures (arXiv 2211.17192, table 2)."""
MAX_ACCEPTANCE = 0.9
"""Accepted share of drafts above which a value is doubtful. Drafts of smaller models reach 0.5 to 0.9 (arXiv 2211.17192, section 4.2)."""


def speculation_fields(draft: int, acceptance: float, draft_share: float) -> dict[str, float]:
    """Return the fields of ServingCase, with the tokens per step at ACCEPTANCE_RANGE below and above `acceptance`."""
    low, high = max(acceptance - ACCEPTANCE_RANGE, 0.0), min(acceptance + ACCEPTANCE_RANGE, 1.0)
    return {
        "accepted_tokens": accepted_tokens(draft, acceptance), "accepted_low": accepted_tokens(draft, low),
        "accepted_high": accepted_tokens(draft, high), "draft_tokens": float(draft), "draft_share": draft * draft_share,
    }  # fmt: skip


def accepted_tokens(draft: int, acceptance: float) -> float:
    """Return the mean tokens per target step: accepted draft tokens plus one of the target model (arXiv 2211.17192, eq. 1)."""
    return draft + 1.0 if acceptance == 1 else (1 - acceptance ** (draft + 1)) / (1 - acceptance)


def time_quantiles(found: ResidualQuantiles, case: ServingCase) -> ResidualQuantiles:
    """Return the quantiles of a time per token, wider by the range of the acceptance; unchanged without drafts. One case."""
    return found.widened(float(case.accepted_tokens / case.accepted_high), float(case.accepted_tokens / case.accepted_low))


def rate_quantiles(found: ResidualQuantiles, case: ServingCase) -> ResidualQuantiles:
    """Return the quantiles of a rate, wider by the range of the acceptance; unchanged without drafts. One case."""
    return found.widened(float(case.accepted_low / case.accepted_tokens), float(case.accepted_high / case.accepted_tokens))
