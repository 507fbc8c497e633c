"""What every part of a spec is: closed and immutable."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """Unknown keys are errors; values never change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$", description="lower-case letters, digits, dashes; 40 at most")]
"""The strictest of the clouds' rules: a GKE cluster name (recipes V-01)."""
PositiveInt = Annotated[int, Field(gt=0, strict=True)]
