"""Output, progress, and exit statuses of every command.

Exit status: 0 done, 1 no candidate meets the goals, 2 invalid input, 3 a defect of rackwright, 130 stopped by the user.
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
from rackwright.diagnostics.problem import Level, Problem, escaped

DONE, NOT_FEASIBLE, BAD_INPUT, DEFECT, STOPPED = 0, 1, 2, 3, 130
SPINNER_DELAY_S = 0.7
"""Work that ends sooner shows no spinner."""


@contextmanager
def working(text: str, quiet: bool = False) -> Generator[None]:
    """Shows a spinner on a terminal during long work; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{text} ...")
    timer = threading.Timer(SPINNER_DELAY_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


def emit(value: Any) -> None:
    """Prints a text, or a value as JSON, on standard output. Control characters are escaped, also in JSON."""
    text = value if isinstance(value, str) else _json(value)
    sys.stdout.write(escaped(text.removesuffix("\n"), keep="\n") + "\n")


def _json(value: Any) -> str:
    """The value as indented JSON. The encoder of pydantic is ten times as fast as that of Python, which has lone surrogates too."""
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, indent=2, fallback=str).decode()
    except PydanticSerializationError:
        return json.dumps(value, indent=2, default=str, ensure_ascii=False)


def tell(problems: Sequence[Problem], source: str = "") -> None:
    """Prints problems on standard error, those with the same text and path once."""
    from rackwright.diagnostics.render import rendered

    if problems:
        problems = [*{(problem.code, problem.at, problem.advice): problem for problem in problems}.values()]
        colored = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        sys.stderr.write(rendered(UserError(problems, source or "rackwright"), color=colored))


def guarded(command: Callable[[], int | None], as_json: bool) -> int:
    """Runs a command and returns its exit status; prints every error without a traceback."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, such as `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # unsupported characters become question marks
    try:
        status = command() or DONE
        sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _silence()  # `| head` closed the pipe; rich turns that into SystemExit
        return DONE
    except Exception as error:
        return _report(error, as_json)
    return status


def _report(error: Any, as_json: bool) -> int:
    """Prints an error and returns its exit status."""
    status, problems, source = _classify(error)
    try:
        if as_json:
            emit(failure(problems, source))
        elif hasattr(error, "show"):  # a usage error of the parser
            error.message = escaped(error.message)
            error.show()
        else:
            tell(problems, source)
        sys.stdout.flush()
    except OSError:
        _silence()
    return status


def failure(problems: Sequence[Problem], source: str) -> dict[str, Any]:
    """JSON of a command that failed."""
    errors = sum(problem.level is Level.ERROR for problem in problems)
    found = [problem.as_json() | ({} if source else {"path": ""}) for problem in problems]
    return {"ok": False, "source": source, "errors": errors, "problems": found}


def _classify(error: Any) -> tuple[int, Sequence[Problem], str]:
    """(exit status, problems, source) of an exception."""
    if isinstance(error, UserError):
        return BAD_INPUT, error.problems, error.source
    if hasattr(error, "format_message"):  # usage errors of typer and click have no common class
        return BAD_INPUT, [Problem("U-usage", error.format_message() or "no command was given", fix="rackwright --help")], ""
    if type(error).__name__ == "Abort":
        return STOPPED, [Problem("U-stopped", "stopped")], ""
    if isinstance(error, OSError):
        return BAD_INPUT, [Problem("F-os", f"{error.filename or 'the output'}: {error.strerror or error}")], ""
    if isinstance(error, CatalogError):
        return DEFECT, [Problem("B-catalog", f"the catalog of this release is invalid: {error}", fix="please report it")], ""
    if os.environ.get("RACKWRIGHT_DEBUG"):
        raise error
    fix = "please report it, with the traceback that RACKWRIGHT_DEBUG=1 shows"
    return DEFECT, [Problem("B-bug", f"defect of rackwright: {type(error).__name__}: {error}", fix=fix)], ""


def _silence() -> None:
    """Redirects standard output to /dev/null, so that the interpreter does not fail when it flushes the closed pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
