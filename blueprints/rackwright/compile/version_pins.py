"""The versions a decision recorded, put over those of this release: an upgrade of rackwright never upgrades a running cluster."""

from dataclasses import replace
from typing import Any

from rackwright.stackplan import AddonPlan, ReleasePlan, StackPlan, VersionPins


def with_version_pins(plan: StackPlan, pins: VersionPins) -> StackPlan:
    """`plan` with every version that `pins` names; what they do not name (an operator newer than the decision) keeps its own."""
    charts, addons, images = dict(pins.charts), dict(pins.addons), dict(pins.images)

    def release(want: ReleasePlan) -> ReleasePlan:
        return replace(want, version=charts.get(want.name, want.version))

    def addon(want: AddonPlan) -> AddonPlan:
        return replace(want, version=addons.get(want.name, want.version))

    swapped = {ours: images[name] for name, ours in plan.pins.images if images.get(name, ours) != ours}
    return replace(
        plan,
        cluster=replace(plan.cluster, version=pins.kubernetes) if plan.cluster and pins.kubernetes else plan.cluster,
        box=replace(plan.box, image=images.get("box", plan.box.image)) if plan.box else None,
        releases=tuple(map(release, plan.releases)),
        addons=tuple(map(addon, plan.addons)),
        manifests=tuple(replace(want, body=_swap(want.body, swapped)) for want in plan.manifests) if swapped else plan.manifests,
        pins=replace(
            plan.pins,
            kubernetes=pins.kubernetes or plan.pins.kubernetes,
            images=tuple((name, images.get(name, value)) for name, value in plan.pins.images),
            charts=tuple((name, charts.get(name, value)) for name, value in plan.pins.charts),
            addons=tuple((name, addons.get(name, value)) for name, value in plan.pins.addons),
        ),
    )


def _swap(value: Any, images: dict[str, str]) -> Any:
    """`value` with every text that is one of our images replaced by the recorded one."""
    if isinstance(value, dict):
        return {key: _swap(item, images) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_swap(item, images) for item in value]
    return images.get(value, value) if isinstance(value, str) else value
