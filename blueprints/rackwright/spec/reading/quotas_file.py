"""Quota files of an account, which let sizing check quotas offline.

Formats: that of `rackwright lookup --write-quotas`, the output of `aws service-quotas list-service-quotas --service-code ec2`, and those
of the Google Cloud CLI (gcloud_quotas.py); one document or a list of them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes
from rackwright.spec.infra import Place, Quotas
from rackwright.spec.reading.gcloud_quotas import GLOBAL, ComputeQuotas, QuotaInfo
from rackwright.spec.spec import Spec

FORM = (
    "write it with `rackwright lookup SPEC --write-quotas FILE`, `aws service-quotas list-service-quotas --service-code ec2`, or "
    "`gcloud compute regions describe REGION --format json`"
)
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Granted(_Row):
    """One quota. value: granted amount; used: current usage; both in the quota's unit."""

    value: Amount
    used: Amount = 0.0


class QuotasByRegion(_Row):
    """Document of `rackwright lookup --write-quotas`."""

    regions: dict[str, dict[str, Granted]]

    def available(self) -> Quotas:
        return {region: {code: max(0.0, row.value - row.used) for code, row in granted.items()} for region, granted in self.regions.items()}


class ServiceQuota(_Row):
    """One row of `aws service-quotas list-service-quotas`. The ARN has the region; that of an account-wide quota has none."""

    QuotaArn: Annotated[str, Field(pattern=r"^arn(:[^:]*){5}")]
    QuotaCode: str
    Value: Amount

    @property
    def region(self) -> str:
        return self.QuotaArn.split(":")[3]


class ServiceQuotas(_Row):
    """Output of `aws service-quotas list-service-quotas`."""

    Quotas: list[ServiceQuota]

    def available(self) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for row in self.Quotas:
            if row.region:
                found.setdefault(row.region, {})[row.QuotaCode] = row.Value
        return found


def _form(document: object) -> str:
    """The tag of a document, by the key that only its format has."""
    if isinstance(document, list):
        return "<list>"
    keys = {"Quotas": "<quotas>", "quotas": "<metrics>", "quotaId": "<info>"}
    return next((tag for key, tag in keys.items() if isinstance(document, dict) and key in document), "<regions>")


_Forms = (
    Annotated[QuotasByRegion, Tag("<regions>")]
    | Annotated[ServiceQuotas, Tag("<quotas>")]
    | Annotated[ComputeQuotas, Tag("<metrics>")]
    | Annotated[QuotaInfo, Tag("<info>")]
)
_Document = Annotated[_Forms, Discriminator(_form)]
_FILE = TypeAdapter(Annotated[_Forms | Annotated[list[_Document], Tag("<list>")], Discriminator(_form)])
TAGS = ("<regions>", "<quotas>", "<metrics>", "<info>", "<list>")


class QuotaFileError(UserError):
    """The file cannot be read, or contains no quotas."""


def read_quotas(path: Path) -> Quotas:
    """Return region -> quota code -> granted amount less usage. Raises QuotaFileError."""
    try:
        document = _FILE.validate_json(read_bytes(path))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(step) for step in first["loc"] if step not in TAGS)
        raise _unreadable(path, f"it is not a quota file: {where + ': ' if where else ''}{first['msg']}") from None
    found: Quotas = {}
    for part in document if isinstance(document, list) else [document]:
        for region, quotas in part.available().items():
            found.setdefault(region, {}).update(quotas)
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
    """Return quota code -> available amount of the spec's `place`-th place in a region, and over all; empty when unknown."""
    known = spec.infra.places[place].quotas
    return known.get(GLOBAL, {}) | known.get(region, {}) if isinstance(known, dict) else {}


def _with(spec: Spec, quotas: Callable[[Place], Quotas | None]) -> Spec:
    """The spec with other quotas in every place."""
    infra = spec.infra
    lists = {key: tuple(p.model_copy(update={"quotas": quotas(p)}) for p in getattr(infra, key)) for key in ("any_of", "ordered")}
    return spec.model_copy(update={"infra": infra.model_copy(update=lists)})


def _unreadable(path: Path, why: str) -> QuotaFileError:
    return QuotaFileError([Problem("S-90", f"{path.name} cannot be used: {why}", fix=FORM)], str(path))
