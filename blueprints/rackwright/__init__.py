"""Say what you want to run; get the machines, the reasons, and the Pulumi stack that builds them.

    from rackwright import load, size, compile_plan

    spec = load("stacks/llama-70b-sft.yaml")
    plan = size(spec)
    stack_plan = compile_plan(spec, plan, plan.fits[0])

This package never imports pulumi; `rackwright_pulumi` does.
"""

import importlib

_HOMES = {
    "load": "rackwright.spec.load",
    "read": "rackwright.spec.load",
    "Spec": "rackwright.spec.spec",
    "size": "rackwright.sizing.size",
    "SizingPlan": "rackwright.sizing.plan",
    "compile_plan": "rackwright.compile.compile",
    "StackPlan": "rackwright.compile.wants",
    "check": "rackwright.rules",
    "bill": "rackwright.cost.bill",
    "Catalog": "rackwright.catalog",
    "Problem": "rackwright.problems",
    "UserError": "rackwright.errors",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
