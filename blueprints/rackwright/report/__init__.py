"""Plans as text, Markdown and HTML."""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright.report.document.write import render_report, write_report

__all__ = ["render_report", "write_report"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, dict.fromkeys(__all__, "rackwright.report.document.write"))
