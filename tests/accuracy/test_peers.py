"""Comparison with peers: only rows that both answer are compared, gaps are no errors, and a missing peer stops no comparison."""

import importlib.util
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from peers.compare import answered, errors, errors_table, fitted, gaps_by_table, lines
from peers.install import Installed, Peer, ask, install, telling
from peers.questions import Gap, asked
from tables import table

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "peers.py"


@dataclass(frozen=True)
class Row:
    id: str
    measured: float = 100.0
    folds: float = 90.0
    shipped: float = 99.0
    metric: str = "tpot_ms"
    table: str = "TPOT dense"
    group: str = "g"
    cells: dict[str, str] = field(default_factory=lambda: {"source_path": ""})


@pytest.fixture(scope="module")
def program():
    found = importlib.util.spec_from_file_location("peers_program", PROGRAM)
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def test_errors_are_shares_of_the_reading():
    found = errors([(100, 150), (200, 190), (100, 90)])
    assert found
    assert (found.n, found.mean, found.median) == (3, pytest.approx(0.65 / 3), pytest.approx(0.1))
    assert found.bias == pytest.approx(-0.05)
    assert errors([]) is None


def test_errors_cover_the_rows_that_both_sides_answer():
    rows = [Row("a"), Row("b", folds=50), Row("c", table="TTFT")]
    dense, first = lines(rows, {("a", "tpot_ms"): 120.0})
    assert dense.theirs
    assert dense.folds
    assert dense.alone
    assert (dense.scored, dense.theirs.n, dense.theirs.mean) == (2, 1, pytest.approx(0.2))
    assert dense.folds.mean == pytest.approx(0.1)
    assert dense.alone.mean == pytest.approx(0.5)
    assert (first.theirs, first.folds, first.scored) == (None, None, 1)
    assert "| TPOT dense | 2 | 1 | 1 | 20.0 | 20.0 | +20.0 | 10.0 |" in errors_table([dense])


def test_a_gap_has_a_reason_and_a_missing_number_is_a_gap():
    values, gaps, seconds = answered(
        [
            {"id": "a", "values": {"tpot_ms": 12.0}, "seconds": 0.5},
            {"id": "b", "gap": "no table"},
            {"id": "c", "values": {"tpot_ms": float("inf")}, "seconds": 0.5},
        ]
    )
    assert values == {("a", "tpot_ms"): 12.0}
    assert gaps == {"b": "no table", "c": "no number"}
    assert seconds == [0.5]
    rows = [Row("a"), Row("b"), Row("c"), Row("b", table="TTFT", metric="ttft_ms")]
    assert gaps_by_table(rows, gaps) == [("TPOT dense", "no number", 1), ("TPOT dense", "no table", 1), ("TTFT", "no table", 1)]


def test_the_fitted_share_never_uses_its_own_group():
    rows = [Row("a", measured=10, group="x"), Row("b", measured=20, group="y"), Row("c", measured=40, group="z")]
    found = fitted(rows, {(row.id, row.metric): 10.0 for row in rows})
    assert found == {("a", "tpot_ms"): 30.0, ("b", "tpot_ms"): 25.0, ("c", "tpot_ms"): 15.0}


def test_a_row_of_two_metrics_is_sent_once():
    def words(row):
        if row.id == "b":
            raise Gap("TPU")
        return {"says": row.metric}

    found, gaps = asked([Row("a"), Row("a", metric="ttft_ms"), Row("b"), Row("b", metric="ttft_ms")], words)
    assert found == [{"id": "a", "says": "tpot_ms"}]
    assert gaps == {"b": "TPU"}


def test_cells_cannot_break_the_table():
    assert table(("a", "b"), [("x|y", "1")]).splitlines()[-1] == "| x/y | 1 |"


STUB = """  File "/somewhere/wheel.py", line 251, in download
  The installation of some for version 1 failed.
  If https://index.example.com/x is not reachable, we
  cannot download the real wheel from https://index.example.com/x to install.
  nvidia-smi command not found. Ensure drivers are installed.
  note: This error originates from a subprocess, and is likely not a problem with pip.
error: metadata-generation-failed

× Encountered error while generating package metadata.
╰─> See above for output.
hint: See above for details.
"""


def test_failures_are_reported_without_addresses_and_paths():
    assert telling(STUB) == "cannot download the real wheel from ... to install."
    assert telling("ERROR: cannot write /a/b/c.whl") == "ERROR: cannot write ..."
    assert telling("ERROR: No matching distribution found for some==1") == "ERROR: No matching distribution found for some==1"
    assert telling("") == "no words"


@pytest.fixture
def commands(tmp_path):
    """Runs no command: creates the folder, and fails for names in `refuse`."""
    seen = []

    def run(command):
        (tmp_path / "some").mkdir(exist_ok=True)
        seen.append(command[-1])
        return "error: refused" if command[-1] in run.refuse else ""

    run.refuse, run.seen = (), seen
    return run


def test_the_next_version_is_tried_and_the_environment_is_created_once(tmp_path, commands):
    commands.refuse = ("new==2",)
    peer = Peer("some", ("new==2", "old==1"), "")
    first = install(peer, tmp_path, commands)
    assert (first.pin, first.refused) == ("old==1", (("new==2", "error: refused"),))
    made = len(commands.seen)
    assert install(peer, tmp_path, commands) == first
    assert len(commands.seen) == made
    assert install(Peer("some", ("old==1",), ""), tmp_path, commands).refused == ()


def test_a_peer_that_does_not_install_is_reported_and_skipped(tmp_path, commands, program):
    commands.refuse = ("new==2",)
    none = install(Peer("some", ("new==2",), ""), tmp_path, commands)
    assert none.pin == ""
    assert program._installed([none]) == "- new==2 did not install: error: refused\n- some: nothing to run, its rows are left out."
    text = "\n".join(program._serving(none, [Row("a")]))
    assert "Left out: not installed." in text
    assert "| TPOT dense | 1 | 10.0 | 10.0 |" in text
    assert list(program._their_search(none)) == []


def test_a_failed_peer_gives_no_answers(program, tmp_path):
    broken = SimpleNamespace(pin="some==1", ask=lambda _: (_ for _ in ()).throw(RuntimeError("its tables are gone")))
    assert program.side(broken, [Row("a")], lambda row: {}).fault == "failed: its tables are gone"


def test_a_peer_runs_in_a_separate_process(tmp_path, program):
    script = tmp_path / "echo.py"
    script.write_text(
        "import json, sys\n"
        "rows = json.load(sys.stdin)['rows']\n"
        "json.dump([{'id': r['id'], 'values': {'tpot_ms': 120.0}, 'seconds': 0.1} for r in rows if r['id'] != 'b']"
        " + [{'id': 'b', 'gap': 'no table'}], sys.stdout)\n"
    )
    peer = SimpleNamespace(pin="some==1", ask=lambda questions: ask([sys.executable, str(script)], questions))
    said = program.side(peer, [Row("a"), Row("b")], lambda row: {})
    assert (said.values, said.gaps) == ({("a", "tpot_ms"): 120.0}, {"b": "no table"})
    script.write_text("raise SystemExit('error: no such model')")
    with pytest.raises(RuntimeError, match="no such model"):
        Installed(Peer("some", (), str(script)), "some==1", Path(sys.executable).parents[1]).ask({"rows": []})


def test_the_search_is_the_same_for_both_sides(program):
    from peers import searches
    from rackwright.spec import read

    for places in (searches.PINNED, searches.OPEN):
        workload = read(searches.spec(places)).workload
        assert (workload.input_tokens.mean, workload.output_tokens.mean) == (searches.THEIRS["isl"], searches.THEIRS["osl"])
    command = searches.their_command(Path("room"))
    assert json.dumps(command).count("Qwen3-32B-FP8") == 1
    assert command[command.index("--tpot") + 1] == "25.0"
