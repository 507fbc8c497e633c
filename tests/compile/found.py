"""Find a part of a compiled plan by its name."""

from rackwright.stackplan import ReleasePlan, StackPlan


def manifest(plan: StackPlan, key: str) -> dict:
    return next(m.body for m in plan.manifests if m.key == key)


def after(plan: StackPlan, key: str) -> tuple[str, ...]:
    return next(m.after for m in plan.manifests if m.key == key)


def release(plan: StackPlan, name: str) -> ReleasePlan:
    return next(r for r in plan.releases if r.name == name)


def objects(plan: StackPlan, kind: str) -> list[dict]:
    return [manifest.body for manifest in plan.manifests if manifest.body["kind"] == kind]


def one(plan: StackPlan, kind: str) -> dict:
    (found,) = objects(plan, kind)
    return found
