"""Commands as processes: pipes, terminals, colours, Ctrl-C."""

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
    """Output on a terminal with the given number of columns."""
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


def test_closed_pipe_is_no_error():
    for command in (f"rackwright plan {SPEC}", "rackwright catalog prices --json"):
        result = shell(f"{command} | head -1")
        assert (result.returncode, result.stderr) == (0, ""), result.stderr
        assert len(result.stdout.splitlines()) == 1


def test_full_disk_is_reported():
    result = shell("rackwright schema > /dev/full")
    assert result.returncode == 2
    assert "No space left" in result.stderr
    assert "Traceback" not in result.stderr


def test_ascii_terminal():
    result = shell(f"rackwright plan {SPEC}", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stdout.isascii()


def test_colour_and_width_on_a_terminal():
    coloured = on_a_terminal("plan", SPEC)
    assert "\033[1m" in coloured
    lines = [re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in coloured.splitlines()]
    assert max(map(len, lines)) <= 100
    narrow = on_a_terminal("explain", SPEC, columns=80, NO_COLOR="1")
    assert not re.search(r"\033\[[0-9;]*3[0-7]m", narrow), "no colours"
    assert max(len(re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", line).rstrip()) for line in narrow.splitlines()) <= 80


def test_ctrl_c_exits_with_130():
    defaults = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell starts background jobs with SIGINT ignored
    stopping = f"{defaults}; cli._register_plugins = lambda: os.kill(os.getpid(), signal.SIGINT)"
    code = f"import os, signal; from rackwright.cli import main as cli; {stopping}; raise SystemExit(cli.run(['graph', '{SPEC}']))"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert result.returncode == 128 + signal.SIGINT
    assert not result.stderr


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (CatalogError("duplicate row", "machines.csv", 7), 3, "machines.csv:7: duplicate row"),
        (Bug("a fit without memory"), 3, "defect of rackwright"),
        (ZeroDivisionError("division by zero"), 3, "ZeroDivisionError: division by zero"),
        (PermissionError(13, "Permission denied", "x.html"), 2, "x.html: Permission denied"),
    ],
)
def test_exit_status_of_errors(error, status, words, capsys, monkeypatch):
    monkeypatch.delenv("RACKWRIGHT_DEBUG", raising=False)

    def fails() -> None:
        raise error

    assert terminal.guarded(fails, as_json=False) == status
    shown = capsys.readouterr().err
    assert words in " ".join(shown.split())
    assert "Traceback" not in shown


def test_no_spinner_in_a_pipe(capfd, monkeypatch):
    monkeypatch.setattr(terminal, "SPINNER_DELAY_S", 0.0)
    with terminal.working("sizing"):
        pass
    assert capfd.readouterr().err == ""


def test_commands_run_with_closed_streams(monkeypatch):
    """With `>&-`, as in some cron jobs, sys.stdout is None."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert run(["catalog", "models", "mistral"]) == 0


@pytest.mark.parametrize("command", [f"plan {SPEC} --full", f"explain {SPEC}", "catalog machines", f"compile {SPEC}"])
def test_redirected_lines_have_no_trailing_blanks(command, rackwright, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = rackwright(*command.split())
    assert result.status == 0, result.err
    assert result.out
    assert [line for line in result.out.splitlines() if line != line.rstrip()] == []
