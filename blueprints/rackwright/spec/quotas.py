"""Files of an account's quotas, so that a plan is held against them without asking the cloud.

Two forms are read: ours, and what `aws service-quotas list-service-quotas --service-code ec2` prints, one document or a list of them.
"""

import json
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
    """value: what the account has; used: what others take of it, in the same unit."""

    model_config = ConfigDict(extra="ignore")

    value: float = Field(ge=0)
    used: float = Field(0, ge=0)


class QuotaFileError(UserError):
    """The file cannot be read, or says no quotas."""


def read_quotas(path: Path) -> Quotas:
    """Region -> quota code -> what is left. Raises QuotaFileError."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise _unreadable(path, "it is larger than quotas ever are")
        found = _regions(json.loads(path.read_bytes()))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        raise _unreadable(path, f"it is not a file of quotas ({type(error).__name__})") from None
    if not any(found.values()):
        raise _unreadable(path, "it names no quota")
    return found


def with_quotas(spec: Spec, folder: Path) -> Spec:
    """The spec with each file of quotas replaced by what it says. Raises QuotaFileError."""
    infra = spec.infra
    lists = {key: tuple(_written_out(place, folder) for place in getattr(infra, key)) for key in ("any_of", "ordered")}
    return spec.model_copy(update={"infra": infra.model_copy(update=lists)})


def without_quotas(spec: Spec) -> Spec:
    """The spec as if nothing were known of any account: machines that run already are not chosen again by what is left of a quota."""
    infra = spec.infra
    lists = {key: tuple(place.model_copy(update={"quotas": None}) for place in getattr(infra, key)) for key in ("any_of", "ordered")}
    return spec.model_copy(update={"infra": infra.model_copy(update=lists)})


def known_quotas(spec: Spec, place: int, region: str) -> dict[str, float]:
    """What is known of the account of the spec's `place`-th place; empty where nothing is."""
    known = spec.infra.places[place].quotas
    return known.get(region, {}) if isinstance(known, dict) else {}


def _written_out(place: Place, folder: Path) -> Place:
    return place.model_copy(update={"quotas": read_quotas(folder / place.quotas)}) if isinstance(place.quotas, str) else place


def _regions(document: Any) -> Quotas:
    if isinstance(document, list):
        merged: Quotas = {}
        for part in document:
            for region, quotas in _regions(part).items():
                merged.setdefault(region, {}).update(quotas)
        return merged
    if "Quotas" in document:
        return _of_the_cli(document["Quotas"])
    return {
        region: {code: _left(Granted.model_validate(entry)) for code, entry in rows.items()} for region, rows in document["regions"].items()
    }


def _of_the_cli(rows: list[dict[str, Any]]) -> Quotas:
    """The region stands in each quota's ARN; quotas of the whole account have none there and are left out."""
    found: Quotas = {}
    for row in rows:
        region = row["QuotaArn"].split(":")[3]
        if region:
            found.setdefault(region, {})[row["QuotaCode"]] = float(row["Value"])
    return found


def _left(granted: Granted) -> float:
    return max(0.0, granted.value - granted.used)


def _unreadable(path: Path, why: str) -> QuotaFileError:
    return QuotaFileError([Problem("S-90", f"{path.name} cannot be used: {why}", fix=FORM)], str(path))
