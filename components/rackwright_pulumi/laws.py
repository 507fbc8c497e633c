"""Former name of `rackwright_pulumi.policies` and its contents."""

from rackwright.diagnostics.rule import Rule as Law

from rackwright_pulumi.policies import RESOURCE_RULES, broken

LAWS = list(RESOURCE_RULES)

__all__ = ["LAWS", "Law", "broken"]
