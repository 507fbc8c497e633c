"""Versions recorded by a decision replace those of this release, so that a new rackwright does not upgrade a running cluster."""

from dataclasses import replace
from typing import Any

from rackwright.stackplan import AddonPlan, ReleasePlan, StackPlan, VersionPins


def with_version_pins(plan: StackPlan, pins: VersionPins) -> StackPlan:
    """`plan` with the versions in `pins`; parts without a pin, such as new operators, keep the version of this release."""
    charts, addons, images = dict(pins.charts), dict(pins.addons), dict(pins.images)

    def release(plan: ReleasePlan) -> ReleasePlan:
        return replace(plan, version=charts.get(plan.name, plan.version))

    def addon(plan: AddonPlan) -> AddonPlan:
        """An add-on that was recorded without a version keeps the one that EKS selected, which may be newer than this release's."""
        return replace(plan, version=addons.get(plan.name, "" if addons else plan.version))

    swapped = {ours: images[name] for name, ours in plan.pins.images if images.get(name, ours) != ours}
    manifests = plan.manifests
    if swapped:
        manifests = tuple(replace(manifest, body=_swap(manifest.body, swapped)) for manifest in manifests)
    return replace(
        plan,
        cluster=replace(plan.cluster, version=pins.kubernetes) if plan.cluster and pins.kubernetes else plan.cluster,
        box=replace(plan.box, image=images.get("box", plan.box.image)) if plan.box else None,
        releases=tuple(map(release, plan.releases)),
        addons=tuple(map(addon, plan.addons)),
        manifests=manifests,
        pins=replace(
            plan.pins,
            kubernetes=pins.kubernetes or plan.pins.kubernetes,
            images=tuple((name, images.get(name, value)) for name, value in plan.pins.images),
            charts=tuple((name, charts.get(name, value)) for name, value in plan.pins.charts),
            addons=tuple((name, addons.get(name, value)) for name, value in plan.pins.addons if name in addons or not addons),
        ),
    )


def _swap(value: Any, images: dict[str, str]) -> Any:
    """`value` with every image of this release replaced by the recorded one."""
    if isinstance(value, dict):
        return {key: _swap(item, images) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_swap(item, images) for item in value]
    return images.get(value, value) if isinstance(value, str) else value
