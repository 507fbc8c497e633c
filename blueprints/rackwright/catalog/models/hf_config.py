"""Reader of Hugging Face `config.json` files. Model types: hf_types.py."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rackwright.catalog.models.architecture import Architecture, ConfigError, from_fields
from rackwright.catalog.models.hf_fields import Fields
from rackwright.catalog.models.hf_types import READERS
from rackwright.files import FileTooLargeError, read_bytes

WEIGHTS_FORMATS = {"fp8": "fp8", "mxfp4": "fp4"}
"""`quant_method` -> format of checkpoints published in fewer than 16 bits. Other methods quantize 16-bit weights afterwards."""

__all__ = ["ConfigError", "read_hf_config", "supported_types"]

LARGEST_FILE_BYTES = 4 * 2**20
"""Largest accepted file. A config.json has some kilobytes."""


def supported_types() -> tuple[str, ...]:
    return tuple(sorted(READERS))


def read_hf_config(source: str | Path | Mapping[str, Any]) -> Architecture:
    """Return the architecture of a `config.json`. source: its path or its content.

    Raises ConfigError with the missing or invalid field, the unreadable file, or the unknown model type.
    """
    config = source if isinstance(source, Mapping) else _load(Path(source))
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ConfigError("model_type is missing: is this the config.json of a transformers model?", field="model_type")
    if model_type not in READERS:
        near = get_close_matches(model_type, READERS, n=1)
        hint = f"; nearest is {near[0]}" if near else ""
        known = ", ".join(supported_types())
        raise ConfigError(
            f"model_type {model_type!r} is not read{hint}; write the architecture out, or use one of {known}", field="model_type"
        )
    quantization = config.get("quantization_config")
    method = quantization.get("quant_method") if isinstance(quantization, Mapping) else None
    published = {"weights_format": WEIGHTS_FORMATS[method]} if isinstance(method, str) and method in WEIGHTS_FORMATS else {}
    return from_fields(READERS[model_type](Fields(config)) | published)


def _load(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(read_bytes(path, LARGEST_FILE_BYTES))
    except FileTooLargeError as error:
        raise ConfigError(f"{path} has more than {LARGEST_FILE_BYTES // 2**20} MiB: not a config.json") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{path} holds no JSON object")
    return config
