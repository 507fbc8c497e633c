"""Which quota the chosen machines draw on, and how much of it."""

from rackwright.catalog import Catalog
from rackwright.report.words import UNKNOWN
from rackwright.sizing.plan import Fit


def quota_lines(fit: Fit, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """(name, words) for a report. The account's applied limit is never known here; the default is what the cloud prints."""
    chosen = fit.candidate
    machine = catalog.machine_by_name.get(chosen.machine)
    if machine is None:
        return ()
    code = {"spot": machine.quota_spot, "capacity-block": machine.quota_capacity_block}.get(chosen.capacity, machine.quota_on_demand)
    if not code:
        return (("Quota", f"{UNKNOWN} for {chosen.machine}"),)
    row = next((quota for quota in catalog.quotas if quota.code == code), None)
    unit = row.unit if row else ""
    need = chosen.nodes * (machine.vcpus or 0) if unit.lower() == "vcpu" else chosen.accelerators
    default = f"default {row.default:,.0f}" if row and row.default is not None else "default " + UNKNOWN
    return (("Quota needed", f"{need:,} {unit} of {code} in {chosen.region} ({default}; check your account's)"),)
