"""Base class of the spec models, and the field types that several models share."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from rackwright.units import YEARS

LARGEST_INT = 10**15
"""Upper limit of every integer in a spec. Keeps arithmetic on absurd values finite."""


class Part(BaseModel):
    """Base of every spec model: unknown keys are errors, and instances are immutable."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, validate_default=False)


def wrong(code: str, reason: str, fix: str = "") -> PydanticCustomError:
    """Return a validation error with a problem code, a sentence and an optional fix."""
    return PydanticCustomError(code, "{reason}", {"reason": reason, "fix": fix})  # ty: ignore


def quote(value: object) -> str:
    """Format a value of the user's file for a message: 40 characters at most, in YAML notation."""
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = str(value)
    text = text if len(text) <= 40 else text[:37] + "..."
    return f"`{text}`" if isinstance(value, str) else text


class OneOf:
    """Annotates text that is one of `names()`. A Literal whose words are looked up when a value is read: clouds may be registered later."""

    def __init__(self, names: Callable[[], tuple[str, ...]]):
        self.names = names

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        def check(value: object) -> object:
            if value not in self.names():
                raise PydanticKnownError("literal_error", {"expected": " or ".join(self.names())})
            return value

        return core_schema.no_info_plain_validator_function(check)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        return {"enum": [*self.names()], "type": "string"}


PLAIN, MAPPING = "<plain>", "<mapping>"
plain_or_mapping = Discriminator(lambda value: MAPPING if isinstance(value, (dict, BaseModel)) else PLAIN)
"""Discriminator of a mapping and a plain value. Only the matching alternative reports problems."""


def tag_by_key(tags: Mapping[str, str], otherwise: str | None) -> Callable[[object], str | None]:
    """Return the choice of a form of a mapping: the tag of the first key that the mapping has. A plain value is PLAIN."""

    def choose(value: object) -> str | None:
        if not isinstance(value, (dict, BaseModel)):
            return PLAIN
        keys = value if isinstance(value, dict) else type(value).model_fields
        return next((tag for key, tag in tags.items() if key in keys), otherwise)

    return choose


def _moment(value: object) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise wrong("S-date", f"Expected a date with time and time zone, got {quote(value)}", "such as 2026-12-01T11:30:00Z") from None
    if moment.tzinfo is None:
        raise wrong("S-date", f"{quote(str(value))} has no time zone", f"such as {moment.isoformat()}Z")
    if moment.year not in YEARS:
        raise wrong("S-date", f"Expected a date from {YEARS[0]} to {YEARS[-1]}, got {quote(str(value))}", "such as 2026-12-01T11:30:00Z")
    return moment


Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$", description="lower-case letters, digits, dashes; 40 at most")]
"""Name that every cloud accepts. The strictest limit is that of a GKE cluster name: 40 characters."""
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S+$", description="a name or id without spaces")]
Uri = Annotated[
    str, Field(max_length=2000, pattern=r"^[a-z][a-z0-9+.-]*://\S+$", description="such as s3://bucket/path or gs://bucket/path")
]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="letters, digits, underscores")]
Flag = Annotated[bool, Field(strict=True)]
PositiveInt = Annotated[int, Field(gt=0, le=LARGEST_INT, strict=True)]
MOMENT_FORM = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})$"
MOMENT = {"type": "string", "pattern": MOMENT_FORM, "examples": ["2026-12-01T11:30:00Z"]}
Moment = Annotated[datetime, BeforeValidator(_moment), WithJsonSchema(MOMENT)]
"""Date and time with a time zone."""
