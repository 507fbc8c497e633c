"""The command line, in this process."""

import contextlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from rackwright.cli.main import app, run
from rackwright_pulumi.cli import register

register(app)


@dataclass(frozen=True)
class Outcome:
    status: int
    output: str
    """Standard output, then standard error."""


@pytest.fixture
def command(monkeypatch) -> Callable[..., Outcome]:
    """Run `rackwright` with arguments; a defect raises its exception."""
    monkeypatch.setitem(os.environ, "RACKWRIGHT_DEBUG", "1")

    def call(*arguments: object) -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run([str(argument) for argument in arguments])
        return Outcome(status, out.getvalue() + err.getvalue())

    return call
