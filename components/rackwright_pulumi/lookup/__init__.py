"""Asks an AWS account whether what a plan takes for granted is so. Read only, optional, and it changes nothing that is pinned.

    found = look_up(plan, Account.of("us-east-1"))

gives warnings where the account's answer differs from our tables, and what could not be asked with the reason.
"""

from rackwright_pulumi.lookup.account import Account, NotAnswered
from rackwright_pulumi.lookup.compare import Answers, look_up

__all__ = ["Account", "Answers", "NotAnswered", "look_up"]
