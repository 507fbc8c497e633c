"""Peers in scratch environments under .cache/peers: pinned, made once, and asked over standard input and output."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOM = HERE.parents[1] / ".cache" / "peers"
INSTALL_S, ASK_S = 900, 1800
"""Longest an installation and a whole list of questions may take."""
VAGUE = ("metadata-generation-failed", "subprocess-exited-with-error", "returned a non-zero exit status", "originates from a subprocess")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
"""Of a peer that is asked: models are described to it, never fetched."""


FAILURES = (OSError, RuntimeError, ValueError, subprocess.SubprocessError)
"""What asking a peer raises."""
ASIDE = ("note:", "hint:", "file ", "×", "╰")
TELLS = re.compile(r"error|fail|cannot|could not|no matching", re.IGNORECASE)


@dataclass(frozen=True)
class Peer:
    """pins: distributions in the order they are tried, the first that installs is run; script: what asks it, beside this file."""

    name: str
    pins: tuple[str, ...]
    script: str


LLM_ANALYSIS = Peer("llm-analysis", ("llm-analysis==0.2.2",), "ask_llm_analysis.py")
AISIMULATE = Peer("aisimulate", ("aisimulate==0.12.0", "aiconfigurator==0.12.0"), "ask_aiconfigurator.py")
"""aiconfigurator is aisimulate's former name; 0.12.0 of both keeps the import name and the command `aiconfigurator`."""


@dataclass(frozen=True)
class Installed:
    """pin: what is run, "" when nothing installed; refused: pins before it with the last telling line of their errors."""

    peer: Peer
    pin: str
    folder: Path
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def ask(self, questions: Any) -> Any:
        """What the script answers. Raises RuntimeError with its last words when it fails."""
        return ask([str(self.python), str(HERE / self.peer.script)], questions)


def ask(command: Sequence[str], questions: Any) -> Any:
    done = subprocess.run(
        command, input=json.dumps(questions), capture_output=True, text=True, timeout=ASK_S, env={**os.environ, **OFFLINE}, check=False
    )
    if done.returncode:
        raise RuntimeError(telling(done.stderr))
    return json.loads(done.stdout)


def install(peer: Peer, room: Path = ROOM, run: Callable[[Sequence[str]], str] | None = None) -> Installed:
    """The first pin that installs. run: a command -> "" or its error output."""
    run, folder, refused = run or _run, room / peer.name, []
    stamp = folder / "installed.json"
    if stamp.exists():
        known = json.loads(stamp.read_text(encoding="utf-8"))
        if known["pins"] == list(peer.pins):
            return Installed(peer, known["pin"], folder, tuple((pin, why) for pin, why in known["refused"]))
    for pin in peer.pins:
        made = run([sys.executable, "-m", "venv", "--clear", str(folder)])
        error = made or run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", pin])
        if not error:
            stamp.write_text(json.dumps({"pins": peer.pins, "pin": pin, "refused": refused}), encoding="utf-8")
            return Installed(peer, pin, folder, tuple(refused))
        refused.append((pin, telling(error)))
    return Installed(peer, "", folder, tuple(refused))


def telling(output: str) -> str:
    """The last line that says what went wrong, without addresses and paths."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    plain = [line for line in lines if not line.lower().startswith(ASIDE) and not any(vague in line for vague in VAGUE)]
    said = [line for line in plain if TELLS.search(line)] or plain or lines or ["no words"]
    return re.sub(r"https?://\S+|(?<!\w)/[\w.-]+(?:/[\w.-]+)+", "...", said[-1])[:200]


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        return f"error: {fault}"
    return "" if done.returncode == 0 else done.stderr + done.stdout or "error: no words"
