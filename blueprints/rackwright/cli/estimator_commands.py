"""Commands of the estimator: estimate, calibrate."""

import json
from itertools import repeat
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.app import AsJson, app
from rackwright.cli.terminal import BAD_INPUT, emit
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.terminal.layout.console import console

MAX_FILE_BYTES = 64_000_000
"""Size of a file with a hundred thousand configurations."""
MAX_PROBLEMS = 200
"""Problems shown in text output; with --json each line has its own."""


@app.command()
def estimate(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="One configuration per line, as JSON.")],
    as_json: AsJson = False,
    calibrated: Annotated[Path | None, typer.Option("--calibration", help="File of `calibrate`.", show_default="published runs")] = None,
) -> None:
    """Estimate memory, time and rates of pinned configurations. Shows intervals, launch flags and the nearest measured run.

    --json prints one object per line. Invalid lines are reported, the others are estimated; the exit status is then 2.
    """
    from rackwright.estimator.calibration.calibrate import load_calibration
    from rackwright.estimator.estimate_lines import estimate_lines
    from rackwright.report.terminal.estimate import show_estimate
    from rackwright.spec.reading.source import read_file

    problems: list[Problem] = []
    text = read_file(file, MAX_FILE_BYTES)
    shipped = estimate_lines(text, load_calibration(None)) if calibrated and not as_json else repeat(None)
    for answer, ours in zip(estimate_lines(text, load_calibration(calibrated)), shipped, strict=False):
        problems += answer.problems[: MAX_PROBLEMS - len(problems)]
        if as_json:
            emit(json.dumps(answer.as_json(), ensure_ascii=False))
        elif answer.estimate:
            show_estimate(console(), answer.estimate, ours.estimate if ours else None)
    if problems:
        raise typer.Exit(BAD_INPUT) if as_json else UserError(problems, str(file))


@app.command()
def calibrate(
    runs: Annotated[Path, typer.Argument(metavar="RUNS.csv", help="Your measured runs; docs/estimate.md lists the columns.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Calibration file to write.")] = Path("calibration.json"),
    as_json: AsJson = False,
) -> None:
    """Calibrate the estimator with your own runs. Shows predicted and measured values; used by `estimate --calibration`."""
    from rackwright.estimator.calibration.calibrate import calibrate as learn
    from rackwright.estimator.calibration.calibrate import check_output_path
    from rackwright.files import write_text
    from rackwright.report.terminal.estimate import show_calibration

    check_output_path(output, runs)
    result = learn(runs)
    write_text(output, result.to_text())
    emit(result.as_json() | {"calibration": str(output)}) if as_json else show_calibration(console(), result, str(output))
    if result.problems:
        raise typer.Exit(BAD_INPUT)
