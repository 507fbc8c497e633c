"""Choose machines for a workload, with reasons, and compile the Pulumi stack that builds them.

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
    from rackwright.cost.bill import bill
    from rackwright.diagnostics.errors import UserError
    from rackwright.diagnostics.problem import Problem
    from rackwright.estimator.estimate import estimate
    from rackwright.estimator.result import Estimate
    from rackwright.sizing.plan import SizingPlan
    from rackwright.spec.spec import Spec
    from rackwright.stackplan import StackPlan
    from rackwright.validation.stack import check
    from rackwright.workflow.load import load, read
    from rackwright.workflow.size import preview, size
    from rackwright.workflow.stack.stack_preview import StackPreview

__all__ = [
    "Catalog",
    "Estimate",
    "Problem",
    "SizingPlan",
    "Spec",
    "StackPlan",
    "StackPreview",
    "UserError",
    "bill",
    "check",
    "compile_plan",
    "estimate",
    "load",
    "preview",
    "read",
    "size",
]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(
        __name__,
        {
            "Catalog": "rackwright.catalog",
            "Estimate": "rackwright.estimator.result",
            "Problem": "rackwright.diagnostics.problem",
            "SizingPlan": "rackwright.sizing.plan",
            "Spec": "rackwright.spec.spec",
            "StackPlan": "rackwright.stackplan",
            "StackPreview": "rackwright.workflow.stack.stack_preview",
            "UserError": "rackwright.diagnostics.errors",
            "bill": "rackwright.cost.bill",
            "check": "rackwright.validation.stack",
            "compile_plan": "rackwright.compile.compile",
            "estimate": "rackwright.estimator.estimate",
            "load": "rackwright.workflow.load",
            "preview": "rackwright.workflow.size",
            "read": "rackwright.workflow.load",
            "size": "rackwright.workflow.size",
        },
    )
