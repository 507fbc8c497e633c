"""Check for capacity blocks that have ended."""

from datetime import UTC, date, datetime, time

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.infra import CapacityBlock, existing_capacity
from rackwright.spec.spec import Spec

EXPIRED_BLOCK_RULE = "R-10"
"""The stack rule for the same condition."""
BLOCKS_LINK = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"


def check_expired_blocks(spec: Spec, today: date) -> None:
    """Raises UserError when every entry of every place is a block that has ended before `today`."""
    now, problems = datetime.combine(today, time(), UTC), []
    for index, place in enumerate(spec.infra.places):
        at = At() / "infra" / ("any_of" if spec.infra.any_of else "ordered") / index / "capacity"
        for key, entries in (("ordered", place.capacity.ordered), ("fallback", place.capacity.fallback)):
            for position, entry in enumerate(entries):
                block = existing_capacity(entry)
                if not isinstance(block, CapacityBlock) or block.end > now:
                    return
                problems.append(_expired(block, at / key / position, today))
    if problems:
        raise UserError(problems)


def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _expired(block: CapacityBlock, at: At, today: date) -> Problem:
    return Problem(
        EXPIRED_BLOCK_RULE,
        f"Capacity block {block.id} ended {utc(block.end)}, before {today.isoformat()}",
        at / "capacity_block" / "end",
        f"name a block that ends after {today.isoformat()}, or on-demand; `aws ec2 describe-capacity-block-offerings` lists what is sold",
        link=BLOCKS_LINK,
    )
