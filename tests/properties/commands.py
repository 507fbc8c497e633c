"""The command line and the functions of the library that read files, in this process."""

import contextlib
import io
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import typer.main
from rackwright.catalog import Catalog
from rackwright.cli.main import app, run
from rackwright.cli.terminal import guarded
from rackwright.diagnostics.errors import CatalogError, UserError
from rackwright.diagnostics.problem import Problem
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.teardown import decide_for_teardown
from rackwright_pulumi.cli import register

from tests.properties.inputs import Inputs
from tests.properties.samples import TODAY

register(app)
typer.main.get_command = cache(typer.main.get_command)  # once per process instead of once per command
NO_NUMBER = re.compile(r"(?<![\"'`])(?<![\"'`]-)\b(nan|inf|NaN|Infinity)\b")
"""Numbers that are none. In quotes they are names, such as those of columns."""


def _plan_with_prices(spec: Path, prices: Path) -> None:
    print(Pipeline(spec, TODAY, own_catalog=Catalog.default().with_prices(prices)).preview().bill)


def _plan_with_catalog(spec: Path, folder: Path) -> None:
    try:
        print(Pipeline(spec, TODAY, own_catalog=Catalog.load(folder)).preview().bill)
    except CatalogError as error:
        raise UserError([Problem("catalog", str(error))]) from None


LIBRARY: dict[str, Callable[..., object]] = {
    "prices": _plan_with_prices,
    "catalog-folder": _plan_with_catalog,
    "teardown": lambda spec: print(decide_for_teardown(Pipeline(spec, TODAY)).bill),
    "update": lambda spec: print(Pipeline(spec, TODAY).decide().bill),
}
"""Functions without a command: own prices and catalogs, and what the Pulumi program calls."""


@dataclass(frozen=True)
class Outcome:
    """output: standard output, then standard error."""

    status: int
    output: str
    seconds: float

    @property
    def fault(self) -> str:
        """What is wrong with the answer to any input; empty if nothing is."""
        if self.status not in (0, 1, 2):
            return f"exit status {self.status}: {self.output[-2000:]}"
        if self.status == 0 and (found := NO_NUMBER.search(self.output)):
            return f"{found[0]} in the output: {self.output[max(0, found.start() - 300) : found.end() + 300]}"
        raw = {c for c in self.output if not c.isprintable() and c != "\n"}
        return f"control characters {raw} in the output" if raw else ""


def call(arguments: tuple) -> Outcome:
    """The outcome of `rackwright` with arguments, or of a function of LIBRARY. A defect of rackwright raises its exception."""
    os.environ["RACKWRIGHT_DEBUG"] = "1"
    command, *values = arguments
    out, err, start = io.StringIO(), io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # numpy's, about values that are no numbers
        if command in LIBRARY:
            status = guarded(lambda: LIBRARY[command](*values) and None, False)
        else:
            status = run([str(argument) for argument in arguments])
    return Outcome(status, out.getvalue() + err.getvalue(), time.process_time() - start)


def numbered(kind: str, number: int, seed: int, folder: Path, is_mutated: bool = True) -> tuple:
    """The arguments of one input. Its files replace those of the input before in the folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Inputs(folder, Random(f"{seed}/{kind}/{number}"), is_mutated).of_kind(kind)
