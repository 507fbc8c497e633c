"""Names of the generated SDKs, which Pulumi reads from the `language` section of the schema.

Without a name, Pulumi uses the owner of the Git repository (`@<owner>/rackwright`), and `@pulumi/rackwright` for a local folder.
Fields: https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem

VARIABLE = "RACKWRIGHT_SDK_"
"""Environment variables with names, such as RACKWRIGHT_SDK_NODEJS; the engine passes its environment to the plugin."""


@dataclass(frozen=True)
class SdkName:
    """The name of a package in one language. pattern: its grammar; section: fields of the schema's language section for a name."""

    noun: str
    pattern: str
    example: str
    section: Callable[[str], Mapping[str, str]]


SDK_NAMES = {
    "nodejs": SdkName(
        "npm package", r"(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*", "@acme/rackwright", lambda name: {"packageName": name}
    ),
    "python": SdkName("Python package", r"[a-z_][a-z0-9_]*", "acme_rackwright", lambda name: {"packageName": name}),
    "go": SdkName(
        "Go module",
        r"[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+",
        "github.com/acme/rackwright-go",
        lambda name: {"modulePath": name, "importBasePath": f"{name}/rackwright"},
    ),
    "csharp": SdkName("C# namespace", r"[A-Z]\w*(\.[A-Z]\w*)*", "Acme", lambda name: {"rootNamespace": name}),
    "java": SdkName("Java package", r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", "com.acme", lambda name: {"basePackage": name}),
}
"""By language of the schema. Pulumi appends `rackwright` to the names of Go modules, C# namespaces and Java packages."""


def names_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Names by language in environment variables. Empty ones are ignored."""
    return {language: environment[name] for language in SDK_NAMES if environment.get(name := VARIABLE + language.upper())}


def check_names(names: Mapping[str, str]) -> None:
    """Raise UserError with every name that is invalid in its language."""
    problems = [
        Problem("P-sdk-name", f"{name!r} is not a valid {kind.noun} name", At((language,)), fix=f"use a name such as {kind.example}")
        for language, name in names.items()
        if not re.fullmatch((kind := SDK_NAMES[language]).pattern, name, re.ASCII)
    ]
    if problems:
        raise UserError(problems)


def with_sdk_names(schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The schema with names of its SDKs by language."""
    sections: dict[str, Mapping[str, Any]] = dict(schema.get("language", {}))
    for language, name in names.items():
        sections[language] = {**sections.get(language, {}), **SDK_NAMES[language].section(name)}
    return {**schema, "language": sections}
