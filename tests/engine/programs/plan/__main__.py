"""The resources of a compiled plan in a file, as the product's program declares them."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "blueprints"), str(ROOT / "components")]

import pulumi  # noqa: E402
from rackwright.stackplan import StackPlan  # noqa: E402
from rackwright_pulumi.program.build import declare  # noqa: E402

config = pulumi.Config("rackwright")
plan = StackPlan.from_json(Path(config.require("plan")).read_text(encoding="utf-8"))
for name, value in declare(plan, teardown=config.get_bool("teardown") or False).stack_outputs().items():
    pulumi.export(name, value)
