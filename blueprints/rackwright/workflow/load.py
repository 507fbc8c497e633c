"""A file -> a Spec, checked against every rule over specs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.spec.reading.read_spec import Reading, read_spec
from rackwright.spec.reading.source import read_file
from rackwright.spec.spec import Spec
from rackwright.validation.spec import SpecContext, spec_problems
from rackwright.workflow.calibration import calibration_problems, with_calibration


def load(path: str | Path, catalog: Catalog | None = None) -> Spec:
    """The spec in the file. Raises UserError with every problem; warnings are left out (`examine` returns them)."""
    path = Path(path)
    return read(read_file(path), str(path), catalog)


def read(text: str, source: str = "spec.yaml", catalog: Catalog | None = None) -> Spec:
    """The spec that `text` describes. `source`: its path, for messages and for the files it names. Raises UserError."""
    reading = examine(text, source, catalog)
    if reading.spec is None:
        raise UserError(reading.problems, source)
    return reading.spec


def examine_file(path: str | Path, catalog: Catalog | None = None) -> Reading:
    """`examine` for a file. A missing or unreadable file is a problem of the Reading."""
    try:
        return examine(read_file(Path(path)), str(path), catalog)
    except UserError as error:
        return Reading(None, error.problems)


def examine(text: str, source: str = "spec.yaml", catalog: Catalog | None = None) -> Reading:
    """The spec in a text where it has one, with errors and warnings in file order. Never raises UserError."""
    path = Path(source)

    def problems(spec: Spec, folder: Path) -> Iterator[Problem]:
        yield from spec_problems(SpecContext(spec, folder, catalog))
        yield from calibration_problems(spec, path)

    reading = read_spec(text, source, problems)
    return replace(reading, spec=with_calibration(reading.spec, path)) if reading.spec else reading
