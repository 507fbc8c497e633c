"""What an estimate assumes where a configuration leaves it out, and the configuration that is computed."""

from typing import TypeVar

import numpy as np

from rackwright.catalog.read import Catalog
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import ServingConfig, TrainingConfig
from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.config.resolve import REAL_ROUTING_IMBALANCE, found_accelerator
from rackwright.estimator.serving.case import ServingCase

C = TypeVar("C", bound=TrainingConfig | ServingConfig)


def assumptions_of(
    config: TrainingConfig | ServingConfig, case: TrainingCase | ServingCase, catalog: Catalog | None = None
) -> tuple[str, ...]:
    """Return the assumptions made for fields that the configuration leaves out, one sentence each."""
    h, links = config.hardware, case.links
    defaults = (
        ("hardware.per_node", h.per_node, f"{float(links.per_node):g}"),
        ("hardware.scale_out_gb_s", h.scale_out_gb_s, f"{float(links.scale_out_bytes_per_s) / 1e9:g} GB/s per accelerator"),
    )
    assumed = [f"{name} not given: {value}" for name, given, value in defaults if given is None]
    is_training = isinstance(config, TrainingConfig)
    if is_training and "routing" not in config.model_fields_set and np.any(case.network.experts):
        fullest = f"with real routing the fullest rank gets {REAL_ROUTING_IMBALANCE:g} times the mean tokens"
        assumed.append(f"routing not given: balanced, as in benchmarks; {fullest}")
    if engine_family(config.engine.name, "train" if is_training else "serve").family == "other":
        assumed.append(f"engine.name {config.engine.name[:60]!r} is unknown: common defaults are used")
    a, field = accelerators.find(h.accelerator, catalog), "numbers" if is_training else "weight_numbers"
    if computed_config(config, catalog) != config:
        assumed.append(f"{field} bf16: estimated as fp16, because {a.name} has no bf16 arithmetic")
    if not is_training and config.weight_numbers == "fp4" and a.peak("fp4") is None:
        assumed.append(f"{field} fp4: multiplied in 16 bit, because {a.name} has no fp4 arithmetic")
    return tuple(assumed)


def computed_config(config: C, catalog: Catalog | None = None) -> C:
    """Return the configuration with fp16 for bf16 on an accelerator without bf16."""
    field = "numbers" if isinstance(config, TrainingConfig) else "weight_numbers"
    if getattr(config, field) != "bf16" or "bf16" in dict(found_accelerator(config.hardware, catalog).flops):
        return config
    return config.model_copy(update={field: "fp16"})
