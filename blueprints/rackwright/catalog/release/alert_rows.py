"""Thresholds of alerts, and metrics that exporters publish. They belong to the release, as the versions of the charts do."""

from dataclasses import dataclass
from functools import cache

from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import ALERTS, EXPORTER_METRICS


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One alert. threshold: in `unit`; None where the plan has it. window_minutes: of the metric; None for its last value.

    for_minutes: how long the condition holds before the alert is sent. matcher: PromQL label matcher of its metric.
    """

    alert: str
    threshold: float | None
    unit: str
    window_minutes: int | None
    for_minutes: int
    severity: str
    matcher: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class ExporterMetric:
    """One metric of an exporter. type: of Prometheus. A histogram has the suffixes _bucket, _sum and _count."""

    exporter: str
    metric: str
    type: str
    help: str
    notes: str
    source: str
    as_of: str


@cache
def alert_row(name: str) -> AlertRow:
    """The row of an alert in `alerts.csv`. Raises KeyError for an unknown one, CatalogError when the file is invalid."""
    return alert_rows()[name]


@cache
def alert_rows() -> dict[str, AlertRow]:
    """Rows of `alerts.csv` by alert, in file order."""
    return {record["alert"]: AlertRow(**record) for record in read_table(DATA, ALERTS)}


@cache
def exporter_metrics(exporter: str = "") -> tuple[ExporterMetric, ...]:
    """Rows of `exporter_metrics.csv` of one exporter, or of all."""
    rows = (ExporterMetric(**record) for record in read_table(DATA, EXPORTER_METRICS))
    return tuple(row for row in rows if exporter in ("", row.exporter))
