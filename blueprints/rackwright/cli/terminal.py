"""What every command shares: where it prints, how it waits, and how it ends when something is wrong.

Exit status: 0 done, 1 nothing meets the goals, 2 the input is wrong, 3 our own data or code is wrong, 130 stopped by the user.
"""

import io
import json
import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rackwright.diagnostics.errors import CatalogError, UserError
from rackwright.diagnostics.problem import Level, Problem

DONE, NOT_FEASIBLE, BAD_INPUT, OUR_FAULT, STOPPED = 0, 1, 2, 3, 130
PATIENCE_S = 0.7
"""What is over sooner needs no spinner."""


@contextmanager
def working(words: str, quiet: bool = False) -> Generator[None]:
    """A spinner on a terminal for what takes longer than a moment; nothing where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{words} ...")
    timer = threading.Timer(PATIENCE_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


def emit(value: Any) -> None:
    """JSON on standard output and nothing else; text is printed as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, default=str, ensure_ascii=False)
    sys.stdout.write(text.removesuffix("\n") + "\n")


def tell(problems: Sequence[Problem], source: str = "") -> None:
    """Warnings, on standard error, so that a pipe stays clean."""
    from rackwright.diagnostics.render import rendered

    if problems:
        sys.stderr.write(rendered(UserError(problems, source or "rackwright"), color=_colored()))


def guarded(command: Callable[[], int | None], as_json: bool) -> int:
    """Runs a command and returns its exit status; no error is shown as a traceback."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us, as `>&-` does
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the character gets a question mark
    try:
        status = command() or DONE
        sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _silence()  # `| head`: the reader has what it wanted; rich makes an exit of it
        return DONE
    except Exception as error:
        return _ended(error, as_json)
    return status


def _ended(error: Any, as_json: bool) -> int:
    status, problems, source = _fault(error)
    try:
        if as_json:
            emit(failure(problems, source))
        elif hasattr(error, "show"):  # wrong usage: the parser prints its own
            error.show()
        else:
            tell(problems, source)
        sys.stdout.flush()
    except OSError:
        _silence()
    return status


def failure(problems: Sequence[Problem], source: str) -> dict[str, Any]:
    """What `--json` prints when there is no answer."""
    errors = sum(problem.level is Level.ERROR for problem in problems)
    found = [problem.as_json() | ({} if source else {"path": ""}) for problem in problems]
    return {"ok": False, "source": source, "errors": errors, "problems": found}


def _fault(error: Any) -> tuple[int, Sequence[Problem], str]:
    """Whose fault it is, and in which words."""
    if isinstance(error, UserError):
        return BAD_INPUT, error.problems, error.source
    if hasattr(error, "format_message"):  # typer's and click's usage errors share this shape, not a class
        return BAD_INPUT, [Problem("U-usage", error.format_message() or "no command was given", fix="rackwright --help")], ""
    if type(error).__name__ == "Abort":
        return STOPPED, [Problem("U-stopped", "stopped")], ""
    if isinstance(error, OSError):
        return BAD_INPUT, [Problem("F-os", f"{error.filename or 'the output'}: {error.strerror or error}")], ""
    if isinstance(error, CatalogError):
        return OUR_FAULT, [Problem("B-catalog", f"the catalog of this release is wrong: {error}", fix="please report it")], ""
    if os.environ.get("RACKWRIGHT_DEBUG"):
        raise error
    fix = "please report it, with what RACKWRIGHT_DEBUG=1 shows"
    return OUR_FAULT, [Problem("B-bug", f"this is a bug in rackwright: {type(error).__name__}: {error}", fix=fix)], ""


def _silence() -> None:
    """Nothing more can be written; keeps the interpreter from trying again at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _colored() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
