"""The Pulumi program: config -> spec -> decision -> compile -> build -> export."""

import signal
from pathlib import Path

import pulumi
from rackwright_pulumi.program import Settings, decide
from rackwright_pulumi.program.build import build

if __name__ == "__main__":  # Pulumi stops a failed program by SIGINT; a traceback of it would hide the error
    signal.signal(signal.SIGINT, signal.SIG_DFL)
settings = Settings.from_config(Path(__file__).resolve().parent)
decided = decide(settings)
for name, value in build(decided, settings).items():
    pulumi.export(name, value)
