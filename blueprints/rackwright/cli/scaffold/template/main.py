"""The Pulumi program: config -> spec -> decision -> compile -> build -> export."""

from pathlib import Path

import pulumi
from rackwright_pulumi.program import Settings, decide
from rackwright_pulumi.program.build import build

settings = Settings.from_config(Path(__file__).resolve().parent)
decided = decide(settings)
for name, value in build(decided, settings).items():
    pulumi.export(name, value)
