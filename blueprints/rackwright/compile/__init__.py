"""Compile a fit into a StackPlan. `compile_plan` is imported on first use.

compile            one fit to one StackPlan: blueprint, parts, options, version pins
compile_context    what every part reads: spec, sizing plan, fit, machine, place
blueprints         one module per blueprint and cloud
network, nodes, storage, serving, operators      the parts of a stack
gateway            one gateway for all models of a fleet
kubernetes         Kubernetes objects; objects for controllers of one cloud are in kubernetes/<cloud>/
observability      alerts and their receivers, dashboards, cost per team
jobs               the job of a training cluster: a JobSet, which is not part of the stack
preflight          checks of nodes before jobs start on them, which are not part of the stack
existing_cluster, spec_options, cost_alerts, version_pins, mirror      changes to every StackPlan after its blueprint
unsupported        combinations that this release cannot build
"""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright.compile.compile import compile_plan

__all__ = ["compile_plan"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, {"compile_plan": "rackwright.compile.compile"})
