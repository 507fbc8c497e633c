"""S-60..S-64, S-110, S-112, V-12, V-80, V-114: tags, secrets, acknowledgements, URIs and address ranges."""

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any

from rackwright.clouds import profiles
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.diagnostics.secrets import HARMLESS, follows_secret_option, has_token, sets_secret
from rackwright.spec.base import quote
from rackwright.spec.blueprint import PrivateAccess
from rackwright.spec.infra import ExistingSubnet, SecondaryRange
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.spec.workload_parts import API_KEY_VARIABLE
from rackwright.validation.spec.registry import RULES, SpecContext, rule

MAX_ADDRESS_SHARE = 0.5
"""Share of all addresses from which ranges count as open to the internet."""
OWN_TAGS = 8
"""Tags that a stack adds, such as its name and expiry date."""
SECRET_NAME = re.compile(r"(^|_)(TOKEN|SECRET|SECRET_KEY|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)$", re.IGNORECASE)
LITERAL = re.compile(r"[*]|[$][{(]?")
"""Wildcards of IAM and of shells, and the start of a variable."""


@rule("V-12")
def tag_format(context: SpecContext) -> Iterator[Violation]:
    """Tags must be within the limits of every cloud in use."""
    tags, clouds = context.spec.tags, {place.cloud for _, place in context.places}
    for cloud in profiles():
        limit, link = cloud.max_tags, cloud.links.get("tags", "")
        if cloud.name not in clouds or not limit:
            continue
        if len(tags) > limit - OWN_TAGS:
            message = f"There are {len(tags)} tags; {cloud.name} allows {limit}, of which the stack uses {OWN_TAGS}"
            yield Violation(At() / "tags", f"keep {limit - OWN_TAGS}", message, link=link)
        for key, value in tags.items():
            if why := cloud.tag_error(key, value):
                message = f"Tag {quote(key)} is not valid on {cloud.name}: {why}"
                yield Violation(At() / "tags" / key, "rename it, or change its value", message, about_key=True, link=link)


@rule("V-80")
def ranges_exclude_every_address(context: SpecContext) -> Iterator[Violation]:
    """The ranges for the cluster's API or for SSH, alone or together, must not include every address."""
    lists: dict[At, list[tuple[At, IPv4Network | IPv6Network]]] = {}
    for at, network in _cidrs(context):
        if network is not None:
            lists.setdefault(At(at.steps[:-1]), []).append((at, network))
    for listed, ranges in lists.items():
        word = "anywhere" if "ssh_from" in listed.steps else "public"
        fix = f"use your own networks, such as 203.0.113.0/24, or write `{word}`"
        alone = [(at, network) for at, network in ranges if network.prefixlen == 0]
        yield from (Violation(at, fix, f"{network} includes every address") for at, network in alone)
        for version, bits in ((4, 32), (6, 128)) if not alone else ():
            networks = [network for _, network in ranges if network.version == version]
            share = sum(network.num_addresses for network in collapse_addresses(networks)) / 2**bits  # ty: ignore
            if share >= MAX_ADDRESS_SHARE:
                message = f"The ranges together include {share:.0%} of all IPv{version} addresses"
                yield Violation(listed, fix, message)


@rule("V-114")
def no_plaintext_secrets(context: SpecContext) -> Iterator[Violation]:
    """A secret must be a reference, because the spec is committed in plain text."""
    found: dict[At, tuple[str, str]] = {}
    for at, text in _texts(At(), context.spec.model_dump(mode="json", exclude_unset=True)):
        if has_token(text):
            key = next((step for step in reversed(at.steps) if isinstance(step, str)), "")
            found[at] = ("remove it, and revoke it", f"`{key}` contains a secret in plain text")
    for at, workload in context.workloads:
        for name, value in workload.run.env.items():
            where = at / "run" / "env" / name
            if where in found or sets_secret(value) or (SECRET_NAME.search(name) and not HARMLESS.fullmatch(value)):
                fix = f"run.secrets: {{{name}: {{secret: NAME}}}}, secrets: {{NAME: {{config: KEY}}}}; and revoke this one"
                found[where] = (fix, f"`{name}` contains a secret in plain text")
        for key in ("command", "args"):
            words = getattr(workload.run, key)
            for i, word in enumerate(words):
                if at / "run" / key / i in found or sets_secret(word) or (i and follows_secret_option(words[i - 1], word)):
                    found[at / "run" / key / i] = (
                        "set a variable in run.secrets, refer to it as $(NAME), and revoke this one",
                        f"`{key}` contains a secret in plain text",
                    )
    yield from (Violation(at, fix, message) for at, (fix, message) in found.items())


@rule("S-110")
def uris_are_literal(context: SpecContext) -> Iterator[Violation]:
    """A URI must name one bucket and path, without wildcards and variables, because IAM policies are derived from it."""
    for at, text in _texts(At(), context.spec.model_dump(mode="json", exclude_unset=True)):
        if at.steps[-1:] == ("uri",) and (sign := LITERAL.search(text)):
            message = f"{quote(text)} contains `{sign[0]}`; rackwright expands neither wildcards nor variables"
            yield Violation(at, "write the bucket and path out, such as s3://bucket/path", message)


@rule("S-60")
def cidr_format(context: SpecContext) -> Iterator[Violation]:
    """An address range must be in CIDR notation."""
    for at, network in _cidrs(context):
        if network is None:
            yield Violation(at, "such as 203.0.113.0/24, with host bits zero", "The range is not in CIDR notation")
    for at, network in _addresses(context):
        if network is None:
            yield Violation(at, "such as 10.20.0.0/16, with host bits zero", "The range is not in IPv4 CIDR notation")


@rule("S-61")
def secrets_are_declared(context: SpecContext) -> Iterator[Violation]:
    """A secret that a workload, a receiver of alerts or Grafana refers to must be declared in `secrets`."""
    declared = context.spec.secrets
    for at, workload in context.workloads:
        for name, ref in workload.secret_variables.items():
            if ref.secret not in declared:
                where = at / "run" / "secrets" / name if name in workload.run.secrets else at / "api_key"
                fix = did_you_mean(ref.secret, declared) if declared else "declare it at the top level: secrets: {NAME: {config: KEY}}"
                message = f"{where.steps[-1]} refers to secret {quote(ref.secret)}, which `secrets` does not declare"
                yield Violation(where / "secret", fix, message)
    for steps, ref in context.spec.blueprint.secret_refs.items():
        if ref.secret not in declared:
            fix = did_you_mean(ref.secret, declared) if declared else "declare it at the top level: secrets: {NAME: {config: KEY}}"
            message = f"{steps[-1]} refers to secret {quote(ref.secret)}, which `secrets` does not declare"
            yield Violation(At(("blueprint", *steps, "secret")), fix, message)


@rule("S-62")
def variables_are_set_once(context: SpecContext) -> Iterator[Violation]:
    """A variable must be set in one of `env`, `secrets` and `api_key`."""
    for at, workload in context.workloads:
        for name in workload.run.secrets:
            if name in workload.run.env:
                message = f"{name} is set in `env` and in `secrets`"
                yield Violation(at / "run" / "env" / name, "remove it from `env`", message, about_key=True)
        for key in ("env", "secrets"):
            if getattr(workload, "api_key", None) and API_KEY_VARIABLE in getattr(workload.run, key):
                message = f"{API_KEY_VARIABLE} is set in `{key}` and by `api_key`"
                yield Violation(at / "run" / key / API_KEY_VARIABLE, "remove it", message, about_key=True)


@rule("S-63")
def acknowledged_rules_exist(context: SpecContext) -> Iterator[Violation]:
    """An acknowledged rule must exist, and be listed once."""
    if not context.spec.acknowledge:
        return
    from rackwright.validation.stack import RULES as STACK_RULES  # imported here, because most specs acknowledge nothing

    known = [*RULES.rules, *STACK_RULES.rules]
    seen: set[str] = set()
    for i, entry in enumerate(context.spec.acknowledge):
        at = At() / "acknowledge" / i / "rule"
        if entry.rule not in known:
            yield Violation(at, did_you_mean(entry.rule, known), f"No rule has the id {quote(entry.rule)}")
        elif entry.rule in seen:
            yield Violation(at, "remove one", f"{entry.rule} is acknowledged twice")
        seen.add(entry.rule)


@rule("S-112", Level.WARNING)
def only_warnings_are_acknowledged(context: SpecContext) -> Iterator[Violation]:
    """Only warnings can be acknowledged; an error stays an error. Some rules warn about a part of what they find."""
    if not context.spec.acknowledge:
        return
    from rackwright.validation.stack import RULES as STACK_RULES  # imported here, because most specs acknowledge nothing

    rules = RULES.rules | STACK_RULES.rules
    for i, entry in enumerate(context.spec.acknowledge):
        if entry.rule in rules and rules[entry.rule].level is Level.ERROR and not rules[entry.rule].warns:
            message = f"{entry.rule} is an error, which cannot be acknowledged"
            yield Violation(At() / "acknowledge" / i / "rule", "remove the entry, and correct what the error names", message)


@rule("S-64", Level.WARNING)
def secrets_are_used(context: SpecContext) -> Iterator[Violation]:
    """A declared secret should be used by a workload, a receiver of alerts or Grafana."""
    used = {ref.secret for _, workload in context.workloads for ref in workload.secret_variables.values()}
    used |= {ref.secret for ref in context.spec.blueprint.secret_refs.values()}
    for name in context.spec.secrets:
        if name not in used:
            message = f"No workload uses secret {quote(name)}"
            yield Violation(At() / "secrets" / name, "use it in run.secrets or api_key, or remove it", message, about_key=True)


def _texts(at: At, value: Any) -> Iterator[tuple[At, str]]:
    """Every text of plain data with its path."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(at / key, inner)


def _cidrs(context: SpecContext) -> Iterator[tuple[At, IPv4Network | IPv6Network | None]]:
    """Every range of api_access and ssh_from; None for an invalid one. SSH is opened for IPv4 only."""
    access, ssh = context.spec.blueprint.api_access, context.spec.blueprint.ssh_from
    for i, text in enumerate(access.cidrs if isinstance(access, PrivateAccess) else ()):
        yield At() / "blueprint" / "api_access" / "cidrs" / i, _read(text, ip_network)
    for i, text in enumerate(() if isinstance(ssh, str) else ssh):
        yield At() / "blueprint" / "ssh_from" / i, _read(text, IPv4Network)


def _addresses(context: SpecContext) -> Iterator[tuple[At, IPv4Network | None]]:
    """Every range of a place's network; None for an invalid one."""
    for at, place in context.places:
        here, known = at / "network", place.network.existing
        if place.network.cidr:
            yield here / "cidr", _read(place.network.cidr, IPv4Network)
        for i, subnet in enumerate(known.subnets if known else ()):
            if isinstance(subnet, ExistingSubnet) and subnet.cidr:
                yield here / "existing" / "subnets" / i / "cidr", _read(subnet.cidr, IPv4Network)
            for key in ("pods", "services") if isinstance(subnet, ExistingSubnet) else ():
                given = getattr(subnet, key)
                if isinstance(given, SecondaryRange) and given.cidr:
                    yield here / "existing" / "subnets" / i / key / "cidr", _read(given.cidr, IPv4Network)


def _read(text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except ValueError:
        return None
