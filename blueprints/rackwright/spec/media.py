"""Parts of a workload that describe one sample: image, audio, and the data of a batch."""

import re
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from rackwright.spec.base import Flag, Part, PositiveInt, Text, Uri, quote, wrong
from rackwright.spec.quantity import Count, Duration, Size

PIXELS = (8, 16_384)
"""Allowed width and height. Larger images are cut into tiles."""
MAX_SECONDS = 24 * 3600.0
"""Longest audio of one request."""


def _image_size(value: object) -> tuple[int, int]:
    """(width, height) of `1024` or `1024x768`."""
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    found = re.fullmatch(r"\s*([0-9]{1,6})(?:\s*x\s*([0-9]{1,6}))?\s*", text)
    if not found:
        raise wrong("S-type", f"Expected the width and height in pixels, got {quote(value)}", "such as 1024 or 1024x768")
    width, height = int(found[1]), int(found[2] or found[1])
    if not all(PIXELS[0] <= side <= PIXELS[1] for side in (width, height)):
        raise wrong("S-range", f"Expected a width and height from {PIXELS[0]} to {PIXELS[1]:,} pixels, got {quote(value)}")
    return width, height


def _audio_seconds(value: object) -> float:
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if number is None:
        raise wrong("S-type", f"Expected the length of the audio in seconds, got {quote(value)}", "such as 30")
    if not 0 < number <= MAX_SECONDS:
        raise wrong("S-range", f"Expected a length above 0 and at most {MAX_SECONDS:,.0f} seconds, got {quote(value)}")
    return number


ImageSize = Annotated[
    tuple[int, int],
    BeforeValidator(_image_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": PIXELS[0], "maximum": PIXELS[1]},
                {"type": "string", "pattern": "^[0-9]+(x[0-9]+)?$", "examples": ["1024x768"]},
            ]
        }
    ),
]
"""Width and height of an image, pixels."""
Seconds = Annotated[
    float, BeforeValidator(_audio_seconds), WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS})
]
"""Length of audio, seconds without a unit."""


class Image(Part):
    """One image that a diffusion model generates, or that a vision model reads."""

    size: ImageSize | None = None
    """Width and height in pixels: `1024`, or `1024x768`; default: the size at which the model was published."""
    steps: PositiveInt | None = None
    """Denoising steps per image (diffusion); default: 50."""
    guidance: Flag = False
    """Classifier-free guidance, which runs the network twice per step (diffusion)."""


class Audio(Part):
    """Audio of one request."""

    seconds: Seconds = 30.0
    """Length of the audio; Whisper reads it in windows of 30 s."""


class BatchData(Part):
    """Samples of a batch, and where they are."""

    samples: Count | None = None
    """Number of samples: images, audio files, documents or prompts; set this or `requests`."""
    size: Size | None = None
    """Size on disk."""
    uri: Uri | None = None
    """Location of the samples."""
    region: Text | None = None
    """Region of the bucket in `uri`, to price the transfer to machines elsewhere; default: unknown, and not priced."""


class BatchProgress(Part):
    """Progress that a batch records, so that a stopped machine continues."""

    uri: Uri | None = None
    """Destination; default: the results bucket of the stack."""
    region: Text | None = None
    """Region of the bucket in `uri`, to price the transfer from machines elsewhere; default: unknown, and not priced."""
    interval: Duration = 600.0
    """Time between two records; default: 10 minutes. Work since the last record is repeated after an interruption."""
