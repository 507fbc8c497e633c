"""Equal specs are sized once in a process, in folders whose tests are about what follows sizing: their conftest.py imports the fixture."""

from functools import cached_property

import pytest
from rackwright.sizing.plan import SizingPlan
from rackwright.wording.plan_text import with_text
from rackwright.workflow.sized_spec import SizedSpec

SIZE = SizedSpec.__dict__["_sized"].func
PLANS: dict[str, SizingPlan] = {}


def sized(pipeline: SizedSpec) -> SizingPlan:
    """The plan of an equal spec, catalog, date, record and assumptions, else a new one, with its sentences. Plans are frozen."""
    inputs = (pipeline.spec, pipeline.catalog.digest, pipeline.today, pipeline.now, pipeline._readable_record, pipeline.assumptions)
    key = repr(inputs)
    if key not in PLANS:
        PLANS[key] = with_text(SIZE(pipeline))
    return PLANS[key]


SIZED = cached_property(sized)
SIZED.__set_name__(SizedSpec, "_sized")


@pytest.fixture(autouse=True)
def sized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SizedSpec, "_sized", SIZED)
