"""Compare the assumptions of a plan with an AWS account. Optional and read-only.

    found = look_up(plan, Account.of("us-east-1"))

returns a warning for every difference from the catalog, and the checks that were not possible, with the reason.
"""

from rackwright_pulumi.lookup.account import Account, NotAnswered
from rackwright_pulumi.lookup.compare import Answers, look_up

__all__ = ["Account", "Answers", "NotAnswered", "look_up"]
