"""Quota files of an account, which let sizing check quotas offline.

Two formats are read: that of `rackwright lookup --write-quotas`, and the output of
`aws service-quotas list-service-quotas --service-code ec2`, one document or a list of them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.spec.infra import Place, Quotas
from rackwright.spec.spec import Spec

FORM = "write it with `rackwright lookup SPEC --write-quotas FILE`, or `aws service-quotas list-service-quotas --service-code ec2`"
LARGEST_BYTES = 10_000_000


class Granted(BaseModel):
    """One quota. value: granted amount; used: current usage; both in the quota's unit."""

    model_config = ConfigDict(extra="ignore")

    value: float = Field(ge=0)
    used: float = Field(0, ge=0)


class QuotaFileError(UserError):
    """The file cannot be read, or contains no quotas."""


def read_quotas(path: Path) -> Quotas:
    """Return region -> quota code -> granted amount less usage. Raises QuotaFileError."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise _unreadable(path, f"it is larger than {LARGEST_BYTES // 10**6} MB")
        found = _regions(json.loads(path.read_bytes()))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        raise _unreadable(path, f"it is not a quota file ({type(error).__name__})") from None
    if not any(found.values()):
        raise _unreadable(path, "it contains no quota")
    return found


def with_quotas(spec: Spec, folder: Path) -> Spec:
    """Return the spec with the path of each quota file replaced by its contents. Raises QuotaFileError.

    folder: folder of the spec; paths are relative to it.
    """
    return _with(spec, lambda place: read_quotas(folder / place.quotas) if isinstance(place.quotas, str) else place.quotas)


def without_quotas(spec: Spec) -> Spec:
    """Return the spec without quotas. Used to revalidate machines that already count towards the usage."""
    return _with(spec, lambda place: None)


def known_quotas(spec: Spec, place: int, region: str) -> dict[str, float]:
    """Return quota code -> available amount of the spec's `place`-th place in a region; empty when unknown."""
    known = spec.infra.places[place].quotas
    return known.get(region, {}) if isinstance(known, dict) else {}


def _with(spec: Spec, quotas: Callable[[Place], Quotas | None]) -> Spec:
    """The spec with other quotas in every place."""
    infra = spec.infra
    lists = {key: tuple(p.model_copy(update={"quotas": quotas(p)}) for p in getattr(infra, key)) for key in ("any_of", "ordered")}
    return spec.model_copy(update={"infra": infra.model_copy(update=lists)})


def _regions(document: Any) -> Quotas:
    if isinstance(document, list):
        merged: Quotas = {}
        for part in document:
            for region, quotas in _regions(part).items():
                merged.setdefault(region, {}).update(quotas)
        return merged
    found: Quotas = {}
    if "Quotas" in document:
        for row in document["Quotas"]:  # the region is part of the ARN; account-wide quotas have none and are skipped
            if region := row["QuotaArn"].split(":")[3]:
                found.setdefault(region, {})[row["QuotaCode"]] = float(row["Value"])
        return found
    for region, rows in document["regions"].items():
        granted = {code: Granted.model_validate(entry) for code, entry in rows.items()}
        found[region] = {code: max(0.0, row.value - row.used) for code, row in granted.items()}
    return found


def _unreadable(path: Path, why: str) -> QuotaFileError:
    return QuotaFileError([Problem("S-90", f"{path.name} cannot be used: {why}", fix=FORM)], str(path))
