"""From a fit to a StackPlan. `compile_plan` is imported on first use, so that components reading only the wants load nothing else."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackwright.compile.compile import compile_plan

__all__ = ["compile_plan"]


def __getattr__(name: str) -> Any:
    if name == "compile_plan":
        from rackwright.compile.compile import compile_plan

        return compile_plan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
