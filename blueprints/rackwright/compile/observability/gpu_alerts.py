"""Alerts on GPUs: errors, links, heat, and GPUs that are held and idle. Metrics: dcgm-exporter."""

from rackwright.catalog.release.alert_rows import alert_row, exporter_metrics
from rackwright.compile.cost_alerts import IDLE_MINUTES
from rackwright.compile.observability.alert import Rule, alert, limit
from rackwright.stackplan import BlueprintKind
from rackwright.units import HOUR

MINUTE_NS = 60e9
GPU = "Hostname, gpu"
"""Labels of one GPU."""
WHERE = "GPU {{ $labels.gpu }} of {{ $labels.Hostname }}"
CORDON = "Cordon the node with `kubectl cordon`, drain it, and reset or replace the GPU."


def collected_metrics() -> str:
    """The metrics that dcgm-exporter collects, in its CSV format: its defaults, and those of the alerts."""
    return "".join(f"{row.metric}, {row.type}, {row.help}\n" for row in exporter_metrics("dcgm-exporter"))


def gpu_alerts(kind: BlueprintKind) -> list[Rule]:
    """kind: decides after which time an unused GPU is idle."""
    return [*_errors(), _throttling(), _idle(kind)]


def _errors() -> list[Rule]:
    xid, ecc, link = (alert_row(name) for name in ("GpuXidError", "GpuEccError", "GpuNvLinkError"))
    remap = alert_row("GpuRowRemapFailed")
    return [
        alert(
            xid.alert,
            f"max by ({GPU}, xid) (DCGM_EXP_XID_ERRORS_COUNT{{{xid.matcher}}}) > {limit(xid)}",
            f"{WHERE} reports Xid {{{{ $labels.xid }}}}",
            f"{CORDON} Meaning: docs.nvidia.com/deploy/xid-errors",
        ),
        alert(
            ecc.alert,
            f"sum by ({GPU}) (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[{ecc.window_minutes}m])) > {limit(ecc)}",
            f"{WHERE} has uncorrectable memory errors",
            f"The process that used the memory ended. {CORDON}",
        ),
        alert(
            remap.alert,
            f"max by ({GPU}) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > {limit(remap)}",
            f"{WHERE} cannot replace a faulty row of its memory",
            f"It has no spare rows. {CORDON}",
        ),
        alert(
            link.alert,
            f"sum by ({GPU}) (increase(DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL[{link.window_minutes}m])) > {limit(link)}",
            f"{WHERE} recovered an NVLink after errors",
            f"Collectives over the link are slow or fail. If it repeats: {CORDON}",
        ),
    ]


def _throttling() -> Rule:
    row = alert_row("GpuThermalThrottling")
    share = f"100 * rate(DCGM_FI_DEV_THERMAL_VIOLATION[{row.window_minutes}m]) / {MINUTE_NS / 60:.0f}"
    summary = f"{WHERE} reduces its clock because of heat in more than {limit(row)} % of the time"
    return alert(row.alert, f"max by ({GPU}) ({share}) > {limit(row)}", summary, "Check the cooling of the server and its room.")


def _idle(kind: BlueprintKind) -> Rule:
    """Only GPUs of pods; those without a pod cost nothing where nodes scale down, and are the cluster's reserve otherwise."""
    row, hours = alert_row("GpuIdle"), IDLE_MINUTES.get(kind, IDLE_MINUTES[BlueprintKind.TRAINING_CLUSTER]) * 60 / HOUR
    busy = f'100 * avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE{{pod!=""}}[{hours:g}h])'
    summary = f"Pod {{{{ $labels.pod }}}} of {{{{ $labels.namespace }}}} used its GPUs less than {limit(row)} % of the last {hours:g} h"
    text = "Stop the job, or lower min_replicas of the service: idle GPUs are paid."
    return alert(row.alert, f"max by (namespace, pod) ({busy}) < {limit(row)}", summary, text)
