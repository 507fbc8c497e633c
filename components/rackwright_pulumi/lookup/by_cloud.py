"""`rackwright lookup` by the cloud of a stack."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.stackplan import StackPlan

from rackwright_pulumi.lookup import google
from rackwright_pulumi.lookup.account import Account
from rackwright_pulumi.lookup.command import write_quota_rows, write_quotas
from rackwright_pulumi.lookup.compare import Answers, answers, look_up
from rackwright_pulumi.lookup.gcloud import Project


def look_up_stack(plan: StackPlan, profile: str | None, quotas: Path | None, today: date) -> Answers:
    """Compare a plan with its account or project. quotas: file to which its quotas are written. Raises UserError for own servers."""
    if plan.place.cloud not in CLOUDS:
        reason = f"The stack is on {plan.place.cloud}, which has no account to compare with"
        raise UserError([Problem("U-aws", reason, fix=f"name a spec on {' or '.join(CLOUDS)}")])
    return CLOUDS[plan.place.cloud](plan, profile, quotas, today)


def _on_aws(plan: StackPlan, profile: str | None, quotas: Path | None, today: date) -> Answers:
    account = Account.of(plan.place.region, profile)
    if quotas:
        write_quotas(quotas, plan, account, today)
    return look_up(plan, account)


def _on_gcp(plan: StackPlan, profile: str | None, quotas: Path | None, today: date) -> Answers:
    """With the credentials of the Google Cloud CLI; `profile` is of AWS."""
    project = Project.of(plan.place.account, plan.place.region)
    if quotas:
        write_quota_rows(quotas, plan, lambda: google.quota_rows(project), today)
    return answers(google.checks(plan, Catalog.default()), project)


CLOUDS: dict[str, Callable[[StackPlan, str | None, Path | None, date], Answers]] = {AWS.name: _on_aws, GCP.name: _on_gcp}
