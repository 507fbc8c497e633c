"""Write tests/cases/compile/*.json; read the difference before committing it."""

import json
from pathlib import Path
from typing import Any

from rackwright.stackplan import StackPlan

from tests import plans

FOLDER = Path(__file__).parents[1] / "cases" / "compile"


def shown(plan: StackPlan) -> dict[str, Any]:
    """The plan as data, with only the first lines of scripts and of 33 equal interfaces."""
    data = json.loads(plan.to_json())
    if data["box"]:
        data["box"]["setup_script"] = data["box"]["setup_script"].splitlines()[1]
    for pool in data["pools"]:
        pool["nics"] = [f"{n['kind']}@{n['card']}.{n['device']}" for n in pool["nics"]]
    return data


if __name__ == "__main__":
    for name, build in plans.ALL.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(shown(build()), indent=1) + "\n")
