"""The Pulumi program: config -> spec -> decision -> compile -> build -> export."""

import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "blueprints"), str(ROOT / "components")]

import pulumi  # noqa: E402
from rackwright_pulumi.program import Settings, decide  # noqa: E402
from rackwright_pulumi.program.build import build  # noqa: E402

if __name__ == "__main__":  # Pulumi stops a failed program by SIGINT; a traceback of it would hide the error
    signal.signal(signal.SIGINT, signal.SIG_DFL)
settings = Settings.from_config(ROOT)
decided = decide(settings)
for name, value in build(decided, settings).items():
    pulumi.export(name, value)
