"""Helm releases through the Helm SDK of the provider: hooks run, an install that fails is rolled back, versions never float."""

from typing import Any

from pulumi import ResourceOptions
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
from rackwright.stackplan import ReleasePlan

KEPT_REVISIONS = 5


def helm_release(name: str, plan: ReleasePlan, values: dict[str, Any], opts: ResourceOptions | None = None) -> Release:
    """The release of `want`, under its own name in the cluster; `values` are those of the want with every ref resolved.

    An `oci://` chart carries its registry itself and refuses a repository beside it.
    """
    repository = RepositoryOptsArgs(repo=plan.repository) if plan.repository else None
    return Release(
        name,
        name=plan.name,
        namespace=plan.namespace,
        chart=plan.chart,
        version=plan.version,
        repository_opts=repository,
        values=values,
        atomic=True,
        cleanup_on_fail=True,
        skip_await=False,
        timeout=plan.timeout_s,
        max_history=KEPT_REVISIONS,
        opts=opts,
    )
