"""Say what you want to run; get the machines, the reasons, and the Pulumi stack that builds them.

    from datetime import date
    from rackwright import compile_plan, load, size

    spec, today = load("stacks/llama-70b-sft.yaml"), date.today()
    plan = size(spec, today=today)
    stack_plan = compile_plan(spec, plan, plan.fits[0], today=today)

This package never imports pulumi; `rackwright_pulumi` does.
"""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright.catalog import Catalog
    from rackwright.compile.compile import compile_plan
    from rackwright.compile.wants import StackPlan
    from rackwright.cost.bill import bill
    from rackwright.errors import UserError
    from rackwright.estimator.estimate import estimate
    from rackwright.estimator.result import Estimate
    from rackwright.problems import Problem
    from rackwright.rules import check
    from rackwright.sizing.plan import SizingPlan
    from rackwright.sizing.size import size
    from rackwright.spec.load import load, read
    from rackwright.spec.spec import Spec

__all__ = [
    "Catalog",
    "Estimate",
    "Problem",
    "SizingPlan",
    "Spec",
    "StackPlan",
    "UserError",
    "bill",
    "check",
    "compile_plan",
    "estimate",
    "load",
    "read",
    "size",
]
__getattr__ = on_first_use(
    __name__,
    {
        "Catalog": "rackwright.catalog",
        "Estimate": "rackwright.estimator.result",
        "Problem": "rackwright.problems",
        "SizingPlan": "rackwright.sizing.plan",
        "Spec": "rackwright.spec.spec",
        "StackPlan": "rackwright.compile.wants",
        "UserError": "rackwright.errors",
        "bill": "rackwright.cost.bill",
        "check": "rackwright.rules",
        "compile_plan": "rackwright.compile.compile",
        "estimate": "rackwright.estimator.estimate",
        "load": "rackwright.spec.load",
        "read": "rackwright.spec.load",
        "size": "rackwright.sizing.size",
    },
)
