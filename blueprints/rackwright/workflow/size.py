"""The public functions of the pipeline: `size` ranks candidates, `preview` adds the stack that an update builds."""

from datetime import date
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec
from rackwright.workflow.clock import clock
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.stack_preview import StackPreview


def size(spec: Spec, catalog: Catalog | None = None, *, today: date | None = None, assumptions: Assumptions = DEFAULT) -> SizingPlan:
    """Ranked candidates for the first workload of the spec, those that this release can build first, and the rejected ones.

    `fits` is empty when nothing fits. Raises UserError when the model is unknown. today: date at which capacity blocks are evaluated; now
    by default.
    """
    day, now = clock(today)
    return Pipeline.of_spec(spec, day, catalog, now=now, assumptions=assumptions).plan


def preview(path: str | Path, catalog: Catalog | None = None, *, today: date | None = None) -> StackPreview:
    """What `pulumi up` builds of a spec file: the recorded decision beside it, else the first candidate; compiled, priced and checked.

    Raises UserError for an invalid file. today: date at which capacity blocks are evaluated and the time to live starts; now by default.
    """
    day, now = clock(today)
    return Pipeline(Path(path), day, now, catalog).update_preview()
