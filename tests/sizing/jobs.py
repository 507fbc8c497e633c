"""Training jobs and machines for the tests of the search."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.model import flops
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.inputs.training_recipe import adapted, full
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.search.training.best_training import best_training
from rackwright.sizing.search.training.branch_and_bound import SearchSpace
from rackwright.sizing.search.training.layouts import PinnedLayout, enumerate_layouts

from tests.sizing.helpers import network, servers

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b")
ACCELERATORS = ("NVIDIA H100 80GB SXM5", "NVIDIA A100 40GB SXM4", "NVIDIA L4", "NVIDIA B200 SXM")


def job(model: str = "llama-3.1-8b", batch: int = 64, sequence: int = 4096, adapter: bool = False, **pins) -> TrainingJob:
    n, method = network(model), "lora" if adapter else "full"
    recipe = adapted(n.total / 200, 2.0) if adapter else full(n.trunk)
    each = flops.training_flops_per_token(n, sequence, method) * sequence
    return TrainingJob(n, recipe, method, sequence, each, batch, 100 * batch, PinnedLayout(**pins))


def with_memory(t: Target, factor: float) -> Target:
    return replace(t, chip=replace(t.chip, memory_bytes=t.chip.memory_bytes * factor))


def with_wires(t: Target, **wires: float) -> Target:
    return replace(t, wires=replace(t.wires, **wires))


def best(j: TrainingJob, *targets: Target) -> list[Outcome]:
    return best_training(j, TargetArrays.of(targets), DEFAULT.max_fill, calibration())


def space(j: TrainingJob, machines: TargetArrays) -> SearchSpace:
    """The memory limit is the whole device memory, so that layouts fit by their median."""
    layouts = enumerate_layouts(j.shape, machines.grids, j.pins)
    return SearchSpace(j, machines, layouts, calibration(), np.asarray(machines.chip.memory_bytes, dtype=float))


jobs = st.builds(
    job,
    model=st.sampled_from(MODELS),
    batch=st.sampled_from([8, 48, 64, 512]),
    sequence=st.sampled_from([2048, 32768]),
    adapter=st.booleans(),
    recompute=st.sampled_from([None, None, "none", "full"]),
)
targets = st.builds(
    lambda name, nodes, per_node, memory, wire: with_memory(servers(nodes, name, per_node, wire), memory),
    name=st.sampled_from(ACCELERATORS),
    nodes=st.sampled_from([1, 2, 3, 8]),
    per_node=st.sampled_from([1, 4, 8]),
    memory=st.sampled_from([0.3, 1.0, 2.0]),
    wire=st.sampled_from([10e9, 400e9]),
)
