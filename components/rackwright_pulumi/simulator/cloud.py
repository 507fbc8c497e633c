"""A simulated cloud as its user sees it: one file, some knobs, and what is in it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rackwright_pulumi.simulator.clusters.cluster_view import controlled, orphaned
from rackwright_pulumi.simulator.computed import Context
from rackwright_pulumi.simulator.provider.plugins import write_plugins
from rackwright_pulumi.simulator.provider.provider import SimulatedProvider
from rackwright_pulumi.simulator.provider.server import STATE_VARIABLE
from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.store import Fault, Record, Store


class SimulatedCloud:
    """Amazon, Google and every Kubernetes cluster made in them, in one SQLite file.

        cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
        cloud.capacity = {"p5.48xlarge": {"us-east-1a": 4}}
        cloud.fault("aws:eks/nodeGroup:NodeGroup", op="create", error="no luck", times=1)

    The file may be opened by any number of processes at once. The knobs are kept in it, so they reach running plugins too.
    """

    def __init__(self, path: Path | str):
        self.store = Store(Path(path))

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self.store.path

    @property
    def capacity(self) -> Mapping[str, Mapping[str, int]]:
        """{machine type: {zone: machines there are}}; what is not named is unlimited."""
        return self.store.knob("capacity", {})

    @capacity.setter
    def capacity(self, value: Mapping[str, Mapping[str, int]]) -> None:
        self.store.set_knob("capacity", value)

    @property
    def quota(self) -> Mapping[str, int]:
        """{AWS quota code or Google metric: vCPU, GPUs or chips granted per region}; what is not named is unlimited."""
        return self.store.knob("quota", {})

    @quota.setter
    def quota(self, value: Mapping[str, int]) -> None:
        self.store.set_knob("quota", value)

    @property
    def reservations(self) -> Mapping[str, Mapping[str, Any]]:
        """{reservation id: {type, zone, count, start, end, block, placement_group}}; what a row leaves out is not asked about."""
        return self.store.knob("reservations", {})

    @reservations.setter
    def reservations(self, value: Mapping[str, Mapping[str, Any]]) -> None:
        self.store.set_knob("reservations", value)

    @property
    def now(self) -> str:
        """The time (ISO 8601) by which reservations have begun or ended; empty: no time passes."""
        return self.store.knob("now", "")

    @now.setter
    def now(self, value: str) -> None:
        self.store.set_knob("now", value)

    @property
    def latency_s(self) -> float:
        """How long every create, read, update and delete takes."""
        return self.store.knob("latency_s", 0.0)

    @latency_s.setter
    def latency_s(self, value: float) -> None:
        self.store.set_knob("latency_s", value)

    @property
    def runner(self) -> str:
        """Where Pulumi runs: ``inside`` the network, or ``outside``, from where private endpoints do not answer."""
        return self.store.knob("runner", "inside")

    @runner.setter
    def runner(self, value: str) -> None:
        if value not in ("inside", "outside"):
            raise ValueError(f"runner is inside or outside, not {value!r}")
        self.store.set_knob("runner", value)

    @property
    def permissive(self) -> bool:
        """Whether types the simulator does not know are taken unchecked instead of refused."""
        return self.store.knob("permissive", False)

    @permissive.setter
    def permissive(self, value: bool) -> None:
        self.store.set_knob("permissive", value)

    def identity(self, account: str = Context.account, project: str = Context.project) -> None:
        """The AWS account and Google project of providers that pin none."""
        self.store.set_knob("account", account)
        self.store.set_knob("project", project)

    def fault(
        self,
        type: str = "*",
        name: str = "*",
        op: str = "*",
        error: str = "",
        times: int | None = None,
        partial: bool = False,
        delay_s: float = 0.0,
    ) -> None:
        """Make matching calls fail or wait; ``Fault`` says what each argument means."""
        self.store.add_fault(Fault(type, name, op, error, times, partial, delay_s))

    def clear_faults(self) -> None:
        self.store.clear("fault")

    def resources(self, type: str = "*") -> list[Record]:
        """What programs made and did not delete, oldest first; by shell pattern on the type token."""
        return [r for r in self.store.all(type) if not r.foreseen and not controlled(r)]

    def controlled(self, type: str = "*") -> list[Record]:
        """What controllers inside clusters made: machines of Karpenter, load balancers, network interfaces."""
        return [r for r in self.store.all(type) if controlled(r)]

    def leftovers(self) -> list[Record]:
        """Of those, what was made for something that is gone: nobody will delete it, and its subnet cannot be deleted."""
        return [r for r in self.controlled() if orphaned(self.store, r)]

    def resource(self, type: str, name: str) -> Record:
        """The one resource of this type and logical name. Raises LookupError when there are none or several."""
        found = [r for r in self.resources(type) if r.name == name]
        if len(found) != 1:
            raise LookupError(f"{len(found)} resources of type {type} are named {name}")
        return found[0]

    def is_empty(self) -> bool:
        """Whether nothing is left that any program, or a controller in a program's cluster, made."""
        return not self.resources() and not self.controlled()

    def exists(self, type: str, id: str, place: str = "", **state: Any) -> None:
        """Put something there that no program made: a network to adopt, a bucket somebody else owns."""
        self.store.add(Record(type, id, place, f"urn:pulumi:outside::outside::{type}::{id}", id, state, state, foreseen=True))

    def drift(self, type: str, name: str, **changes: Any) -> None:
        """Change a resource behind Pulumi's back, as from the console; ``pulumi refresh`` then sees it."""
        record = self.resource(type, name)
        inputs, state = ({**opened(kept), **changes} for kept in (record.inputs, record.state))
        self.store.change(replace(record, inputs=inputs, state=state))

    def lose(self, type: str, name: str) -> None:
        """Delete a resource behind Pulumi's back."""
        record = self.resource(type, name)
        self.store.remove(record, (record.id,))

    def fill(self, bucket: str) -> None:
        """Put an object into a bucket, so that it cannot be deleted."""
        self.store.set_knob("filled", sorted({*self.store.knob("filled", []), bucket}))

    def calls(self) -> list[tuple[str, str, str, str]]:
        """Every create, update and delete so far: operation, type, logical name, error."""
        return self.store.calls()

    def reset(self) -> None:
        """Empty the cloud and forget every knob."""
        self.store.clear()

    def provider(self, cloud: str) -> SimulatedProvider:
        """A provider of this cloud for use in this process; ``server.serve`` puts it on a port."""
        return SimulatedProvider(cloud, self.store)

    def plugins(self, folder: Path) -> dict[str, Path]:
        """Plugin folders that the real engine can launch, by cloud; see ``write_plugins``."""
        return write_plugins(folder, self.path)

    def environment(self, state: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """What the ``pulumi`` CLI needs to run against this cloud and nothing else: backend in ``state``, no network, no prompts."""
        home, backend = Path(state).resolve() / "home", Path(state).resolve() / "backend"
        for folder in (home, backend):
            folder.mkdir(parents=True, exist_ok=True)
        own = {
            STATE_VARIABLE: str(self.path.resolve()),
            "PULUMI_HOME": str(home),
            "PULUMI_BACKEND_URL": f"file://{backend}",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
        }
        return {**(os.environ if base is None else base), **own}
