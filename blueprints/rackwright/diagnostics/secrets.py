"""What counts as a secret: token patterns of issuers, and names of keys and environment variables."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

HIDDEN = "(hidden)"
ISSUERS = {
    "hugging-face": ("hf_ api_org_", r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}"),
    "amazon": ("AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    "github": ("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"),
    "gitlab": ("gl GR1348941", r"\bgl(?:pat|rt|dt|ptt|cbt|ft|imt|agent|soat|oas|ffct|rtr)-[\w.-]{16,}|\bGR1348941[\w-]{16,}"),
    "openai-anthropic": ("sk-", r"\bsk-[\w-]{20,}"),
    "google": ("AIza GOCSPX- ya29.", r"\bAIza[\w-]{30,}|\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}"),
    "slack": (
        "xox xapp- hooks.slack.com",
        r"\bxox[abeposr]-[\w-]{10,}|\bxapp-[\w-]{20,}|hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{16,}",
    ),
    "discord": ("/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]+"),
    "teams": ("/webhookb2/", r"\bwebhook\.office\.com/webhookb2/[\w@/-]{20,}"),
    "nvidia": ("nvapi-", r"\bnvapi-[\w-]{20,}"),
    "vault": ("hvs. hvb. hvr.", r"\bhv[sbr]\.[\w-]{20,}"),
    "terraform-cloud": (".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    "pypi": ("pypi-", r"\bpypi-[\w-]{16,}"),
    "npm": ("npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    "stripe": ("k_live_ k_test_ k_prod_ whsec_", r"\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}"),
    "azure": ("Key= Q~", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{20,}|\b[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    "digitalocean": ("_v1_", r"\bdo[opr]_v1_[a-f0-9]{40,}"),
    "databricks": ("dapi", r"\bdapi[a-f0-9]{32}"),
    "docker": ("dckr_", r"\bdckr_[a-z]{2,3}_[\w-]{20,}"),
    "pulumi": ("pul-", r"\bpul-[a-f0-9]{40}"),
    "sendgrid": ("SG.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    "grafana": ("glsa_ glc_", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{20,}"),
    "groq": ("gsk_", r"\bgsk_[A-Za-z0-9]{20,}"),
    "replicate": ("r8_", r"\br8_[A-Za-z0-9]{30,}"),
    "weights-and-biases": ("wandb_v1_", r"\bwandb_v1_\w{20,}"),
    "telegram": (":AA", r"\b\d{8,10}:AA[\w-]{32,}"),
    "private-key": ("PRIVATE AGE-SECRET-KEY", r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    "json-web-token": ("eyJ", r"\beyJ[\w-]{10,}\.[\w-]{10,}\."),
    "header": ("Bearer Basic", r"\b(?:Bearer|Basic)\s+[\w.~+/=-]{16,}"),
    "user-in-uri": ("://", r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)|(?<=://)[^/\s:@]{20,}(?=@)"),
    "query-of-uri": (
        "? &",
        r"(?i:(?<=[?&])(?:sig|signature|x-amz-(?:signature|security-token|credential)|x-goog-signature|access_token|auth_token"
        r"|token|api_?key|key|secret|password)=[^&\s]{8,})",
    ),
}
"""Issuer -> parts of which each token has one, and the pattern. Source: gitleaks 8 (config/gitleaks.toml), 2026-11, and the documentation
of each issuer; minimum lengths are shorter, so that a truncated token is found too. tests/spec/test_secret_corpus.py has examples."""
_PATTERNS = tuple((tuple(parts.split()), re.compile(pattern)) for parts, pattern in ISSUERS.values())
WORD = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
LAST_WORD = re.compile(
    r"(?:^|[_.-]|(?<=[a-z])(?=[A-Z]))(?:(?:api|access|private|secret)[_-]?key|token|secret|passw(?:or)?d|passphrase|credentials?)$",
    re.IGNORECASE,
)
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
ASSIGNMENT = re.compile(r"([\w.-]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?))[\"']?=(?=\S)", re.IGNORECASE)
"""NAME=value inside a command line or a list of variables."""
SECRET_OPTION = re.compile(
    r"(?:^|[_-])(?:(?:api|access|private|secret|auth|account|license|wandb|hf)[_-]?key|token|secret|passw(?:or)?d|passphrase|credentials?)$",
    re.IGNORECASE,
)
"""Name of an option or variable whose value is a secret."""
SPECIAL_TOKEN = re.compile(r"(?:^|[_-])(?:pad|eos|bos|unk|sep|cls|mask|image|audio|special|start|stop|end)[_-]token$", re.IGNORECASE)
"""Options of tokenizers that look like secrets."""
SETTING = re.compile(r"([A-Za-z_-][\w-]*)[\"']?=[\"']?([^\s\"'&;]+)")
"""NAME=value of an option, a variable or a query."""
HARMLESS = re.compile(r"|true|false|null|none|[0-9]+|[./~$<\[{].*", re.IGNORECASE)
"""Values that are not secrets under any name: switches, numbers, paths, placeholders, references to other variables."""
NEAR_SECRETS = 0.8
"""Share of letters that a misspelt `secrets` has in common with it."""


@lru_cache(1000)
def is_secret_name(name: str, in_env: bool = False) -> bool:
    """Whether the value of this key is hidden. in_env: the key names an environment variable, so any word of it counts."""
    if (in_env or VARIABLE.fullmatch(name)) and WORD.search(name):
        return True
    near = name[:1] in ("s", "S") and len(name) <= 12 and SequenceMatcher(None, name.lower(), "secrets").ratio() >= NEAR_SECRETS
    return near or LAST_WORD.search(name) is not None


def has_token(text: str) -> bool:
    """Whether a text contains a token of a known pattern."""
    return any(pattern.search(text) for pattern in _possible_patterns(text))


def is_secret_text(text: str) -> bool:
    """Whether a text contains a token of a known pattern, or sets a variable or an option whose name looks secret."""
    return has_token(text) or ASSIGNMENT.search(text) is not None or _has_secret_option(text)


def sets_secret(text: str) -> bool:
    """Whether a word of a command sets an option or variable with a secret name to a literal value: `--api-key=x`, `export KEY=x`.

    The word can be a whole command line, such as that of `sh -c`: `serve --api-key x`.
    """
    return _has_secret_option(text) or any(
        SECRET_OPTION.search(found[1]) and not SPECIAL_TOKEN.search(found[1]) and not HARMLESS.fullmatch(found[2])
        for found in SETTING.finditer(text)
    )


def follows_secret_option(option: str, word: str) -> bool:
    """Whether `word` is the literal value of an option with a secret name: `--api-key x`."""
    is_option = option.startswith("-") and SECRET_OPTION.search(option) and not SPECIAL_TOKEN.search(option)
    return bool(is_option) and not word.startswith("-") and not HARMLESS.fullmatch(word)


def _has_secret_option(text: str) -> bool:
    """Whether a command line has an option with a secret name before a literal value."""
    words = text.split()
    return any(follows_secret_option(option, word.strip("\"'")) for option, word in pairwise(words))


def is_secret_path(steps: Sequence[str | int]) -> bool:
    """Whether the value at this path of a spec is hidden."""
    return any(isinstance(step, str) and is_secret_name(step, "env" in steps[:i]) for i, step in enumerate(steps))


def without_tokens(text: str) -> str:
    """The text with every token of a known pattern hidden."""
    for pattern in _possible_patterns(text):
        text = pattern.sub(HIDDEN, text)
    return text


def _possible_patterns(text: str) -> Iterator[re.Pattern[str]]:
    """Patterns of the issuers of whose tokens the text has a part. One loop: every value and message of a spec is searched."""
    for parts, pattern in _PATTERNS:
        for part in parts:
            if part in text:
                yield pattern
                break
