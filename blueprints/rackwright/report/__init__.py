"""Plans as text, Markdown and HTML."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackwright.report.document.write import render_report, write_report

__all__ = ["render_report", "write_report"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from rackwright.report.document import write

        return getattr(write, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
