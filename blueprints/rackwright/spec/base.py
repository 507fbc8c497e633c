"""What every part of a spec is: closed and immutable. And the small types that several parts share."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

LARGEST_INT = 10**15
"""No count in a spec is larger; keeps arithmetic on nonsense finite."""


class Part(BaseModel):
    """Unknown keys are errors; values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False)


def wrong(code: str, reason: str, fix: str = "") -> PydanticCustomError:
    """An error that carries its own code, sentence and fix to the user."""
    return PydanticCustomError(code, "{reason}", {"reason": reason, "fix": fix})  # ty: ignore


def quote(value: object) -> str:
    """A value of the user's file inside a sentence: short, never a Python repr."""
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
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        return {"enum": [*self.names()], "type": "string"}

    def _checked(self, value: object) -> object:
        if value not in self.names():
            raise PydanticKnownError("literal_error", {"expected": " or ".join(self.names())})
        return value


PLAIN, MAPPING = "<plain>", "<mapping>"
plain_or_mapping = Discriminator(lambda value: MAPPING if isinstance(value, (dict, BaseModel)) else PLAIN)
"""Tells a mapping from a plain value, so that only one of two alternatives reports its problems."""


def _moment(value: object) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise wrong("S-date", f"Expected a date with time and time zone, got {quote(value)}", "such as 2026-12-01T11:30:00Z") from None
    if moment.tzinfo is None:
        raise wrong("S-date", f"{quote(str(value))} has no time zone", f"such as {moment.isoformat()}Z")
    return moment


Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$", description="lower-case letters, digits, dashes; 40 at most")]
"""The strictest of the clouds' rules: a GKE cluster name (recipes V-01)."""
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
"""A point in time with its zone."""
