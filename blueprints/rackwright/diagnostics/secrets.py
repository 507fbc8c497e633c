"""What counts as a secret: token patterns of issuers, and names of keys and environment variables."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

HIDDEN = "(hidden)"
TOKEN = re.compile(
    r"hf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|\bsk-[\w-]{20,}"
    r"|\bAIza[\w-]{30,}|xox[abposr]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{10,}\.[\w-]{10,}\.|(?<=://)[^/\s:@]+:[^/\s:@]+(?=@)"
)
"""Tokens of Hugging Face, AWS, GitHub, GitLab, OpenAI, Google and Slack, private keys, JSON web tokens, passwords in URLs."""
WORD = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
LAST_WORD = re.compile(
    r"(?:^|[_.-]|(?<=[a-z])(?=[A-Z]))(?:(?:api|access|private|secret)[_-]?key|token|secret|passw(?:or)?d|passphrase|credentials?)$",
    re.IGNORECASE,
)
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
ASSIGNMENT = re.compile(r"([\w.-]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?))[\"']?=(?=\S)", re.IGNORECASE)
"""NAME=value inside a command line or a list of variables."""
NEAR_SECRETS = 0.8
"""Share of letters that a misspelt `secrets` has in common with it."""


@lru_cache(1000)
def is_secret_name(name: str, in_env: bool = False) -> bool:
    """Whether the value of this key is hidden. in_env: the key names an environment variable, so any word of it counts."""
    if (in_env or VARIABLE.fullmatch(name)) and WORD.search(name):
        return True
    near = name[:1] in ("s", "S") and len(name) <= 12 and SequenceMatcher(None, name.lower(), "secrets").ratio() >= NEAR_SECRETS
    return near or LAST_WORD.search(name) is not None


def is_secret_text(text: str) -> bool:
    """Whether a text contains a token of a known pattern, or sets a variable whose name looks secret."""
    return TOKEN.search(text) is not None or ASSIGNMENT.search(text) is not None


def is_secret_path(steps: Sequence[str | int]) -> bool:
    """Whether the value at this path of a spec is hidden."""
    return any(isinstance(step, str) and is_secret_name(step, "env" in steps[:i]) for i, step in enumerate(steps))


def without_tokens(text: str) -> str:
    """The text with every token of a known pattern hidden."""
    return TOKEN.sub(HIDDEN, text)
