"""What only a real process shows: pipes, terminals, colours, Ctrl-C."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rackwright.cli import terminal
from rackwright.cli.main import run
from rackwright.diagnostics.errors import Bug, CatalogError

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join(str(ROOT / folder) for folder in ("blueprints", "components"))
COMMAND = [sys.executable, "-m", "rackwright"]
SPEC = "stacks/mistral-7b-qlora.yaml"


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "RACKWRIGHT_DEBUG")}
    return kept | {"PYTHONPATH": PATH, "TERM": "xterm-256color"} | more


def shell(line: str, **more: str) -> subprocess.CompletedProcess[str]:
    program = line.replace("rackwright", " ".join(COMMAND))
    return subprocess.run(["bash", "-o", "pipefail", "-c", program], cwd=ROOT, env=environment(**more), capture_output=True, text=True)


def on_a_terminal(*arguments: str, columns: int = 160, **more: str) -> str:
    """What a terminal of so many columns shows."""
    master, slave = pty.openpty()
    environ = environment(COLUMNS=str(columns), **more)
    process = subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, env=environ, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 30)[0]:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(master)
    assert process.wait() == 0
    return shown.decode()


def test_a_reader_that_stops_early_is_no_error():
    for command in (f"rackwright plan {SPEC}", "rackwright catalog prices --json"):
        said = shell(f"{command} | head -1")
        assert (said.returncode, said.stderr) == (0, ""), said.stderr
        assert len(said.stdout.splitlines()) == 1


def test_a_full_disk_is_said():
    said = shell("rackwright schema > /dev/full")
    assert said.returncode == 2
    assert "No space left" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_terminal_without_unicode_gets_text_all_the_same():
    said = shell(f"rackwright plan {SPEC}", PYTHONIOENCODING="ascii")
    assert said.returncode == 0
    assert said.stdout.isascii()


def test_colour_on_a_terminal_none_with_no_color_and_never_wider_than_100():
    coloured = on_a_terminal("plan", SPEC)
    assert "\033[1m" in coloured
    lines = [re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in coloured.splitlines()]
    assert max(map(len, lines)) <= 100
    narrow = on_a_terminal("explain", SPEC, columns=80, NO_COLOR="1")
    assert not re.search(r"\033\[[0-9;]*3[0-7]m", narrow), "no colours"
    assert max(len(re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", line).rstrip()) for line in narrow.splitlines()) <= 80


def test_ctrl_c_ends_with_130_and_no_traceback():
    stopping = "cli._register_plugins = lambda: os.kill(os.getpid(), signal.SIGINT)"
    code = f"import os, signal; from rackwright.cli import main as cli; {stopping}; raise SystemExit(cli.run(['graph', '{SPEC}']))"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert said.returncode == 128 + signal.SIGINT
    assert not said.stderr


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (CatalogError("duplicate row", "machines.csv", 7), 3, "machines.csv:7: duplicate row"),
        (Bug("a fit without memory"), 3, "defect of rackwright"),
        (ZeroDivisionError("division by zero"), 3, "ZeroDivisionError: division by zero"),
        (PermissionError(13, "Permission denied", "x.html"), 2, "x.html: Permission denied"),
    ],
)
def test_whose_fault_it_is(error, status, words, capsys, monkeypatch):
    monkeypatch.delenv("RACKWRIGHT_DEBUG", raising=False)

    def fails() -> None:
        raise error

    assert terminal.guarded(fails, as_json=False) == status
    shown = capsys.readouterr().err
    assert words in " ".join(shown.split())
    assert "Traceback" not in shown


def test_a_spinner_for_what_takes_long_and_none_in_a_pipe(capfd, monkeypatch):
    monkeypatch.setattr(terminal, "SPINNER_DELAY_S", 0.0)
    with terminal.working("sizing"):
        pass
    assert capfd.readouterr().err == "", "nobody looks"


def test_closed_streams_end_no_command(monkeypatch):
    """`rackwright ... >&-` in a cron job: Python then has no stream at all."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert run(["catalog", "models", "mistral"]) == 0
