"""A simulated cloud: one file, its settings and its resources."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from rackwright_pulumi.simulator.clusters.cluster_view import is_controlled, is_orphaned
from rackwright_pulumi.simulator.computed import Context
from rackwright_pulumi.simulator.provider.plugins import write_plugins
from rackwright_pulumi.simulator.provider.provider import SimulatedProvider
from rackwright_pulumi.simulator.provider.server import STATE_VARIABLE
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.store import Fault, Record, Store

Value = TypeVar("Value")


class Setting(Generic[Value]):
    """A setting of a SimulatedCloud, stored in its file. default: makes the value of a setting that is not set."""

    def __init__(self, default: Callable[[], Value]):
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, cloud: None, owner: type) -> "Setting[Value]": ...
    @overload
    def __get__(self, cloud: "SimulatedCloud", owner: type) -> Value: ...
    def __get__(self, cloud: "SimulatedCloud | None", owner: type) -> "Value | Setting[Value]":
        return self if cloud is None else cloud.store.setting(self.name, self.default())

    def __set__(self, cloud: "SimulatedCloud", value: Value) -> None:
        cloud.store.set_setting(self.name, value)


class SimulatedCloud:
    """AWS, Google Cloud and their Kubernetes clusters in one SQLite file.

        cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
        cloud.capacity = {"p5.48xlarge": {"us-east-1a": 4}}
        cloud.fault("aws:eks/nodeGroup:NodeGroup", op="create", error="InternalFailure", times=1)

    Several processes may open the file at once. It also holds the settings, so that they apply to running plugins.
    """

    def __init__(self, path: Path | str):
        self.store: Store = Store(Path(path))

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self.store.path

    capacity: Setting[Mapping[str, Mapping[str, int]]] = Setting(dict)
    """Available machines as {machine type: {zone: count}}; types and zones not listed are unlimited. Zones are names or IDs."""
    quota: Setting[Mapping[str, int]] = Setting(dict)
    """{AWS quota code or Google metric: vCPU, GPUs or chips per region}; quotas not listed are unlimited."""
    reservations: Setting[Mapping[str, Mapping[str, Any]]] = Setting(dict)
    """{reservation id: {type, zone, count, start, end, block, placement_group}}; fields not set are not checked."""
    now: Setting[str] = Setting(str)
    """Current time (ISO 8601) for the start and end of reservations; empty disables the check."""
    latency_s: Setting[float] = Setting(float)
    """Duration of every create, read, update and delete."""

    @property
    def runner(self) -> str:
        """Where Pulumi runs: ``inside`` the network, or ``outside``, where private endpoints are unreachable."""
        return self.store.setting("runner", "inside")

    @runner.setter
    def runner(self, value: str) -> None:
        if value not in ("inside", "outside"):
            raise ValueError(f"runner {value!r} is not supported; use 'inside' or 'outside'")
        self.store.set_setting("runner", value)

    permissive: Setting[bool] = Setting(bool)
    """Whether unsupported resource types are accepted without checks instead of rejected."""

    def identity(self, account: str = Context.account, project: str = Context.project) -> None:
        """Set the AWS account and Google project of providers that set none."""
        self.store.set_setting("account", account)
        self.store.set_setting("project", project)

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
        """Make matching calls fail or wait; ``Fault`` documents the arguments."""
        self.store.add_fault(Fault(type, name, op, error, times, partial, delay_s))

    def clear_faults(self) -> None:
        self.store.clear("fault")

    def resources(self, type: str = "*") -> list[Record]:
        """Resources of programs, oldest first, by shell pattern on the type token."""
        return [r for r in self.store.all(type) if not r.external and not is_controlled(r)]

    def controlled(self, type: str = "*") -> list[Record]:
        """Resources of controllers in clusters: machines of Karpenter, load balancers, network interfaces."""
        return [r for r in self.store.all(type) if is_controlled(r)]

    def leftovers(self) -> list[Record]:
        """Controller resources whose owner was deleted. They remain, and block the deletion of their subnet."""
        return [r for r in self.controlled() if is_orphaned(self.store, r)]

    def resource(self, type: str, name: str) -> Record:
        """The resource of this type and logical name. Raises LookupError if the number of matches is not 1."""
        found = [r for r in self.resources(type) if r.name == name]
        if len(found) != 1:
            raise LookupError(f"{len(found)} resources of type {type} are named {name}")
        return found[0]

    def is_empty(self) -> bool:
        """Whether no resource of a program or of a controller is left."""
        return not self.resources() and not self.controlled()

    def exists(self, type: str, id: str, place: str = "", **state: Any) -> None:
        """Add a resource outside of any stack, such as an existing network or a bucket of another owner."""
        self.store.add(Record(type, id, place, f"urn:pulumi:outside::outside::{type}::{id}", id, state, state, external=True))

    def drift(self, type: str, name: str, **changes: Any) -> None:
        """Change a resource outside of Pulumi, as in the console; ``pulumi refresh`` detects it."""
        record = self.resource(type, name)
        inputs, state = ({**unwrap_secrets(values), **changes} for values in (record.inputs, record.state))
        self.store.change(replace(record, inputs=inputs, state=state))

    def lose(self, type: str, name: str) -> None:
        """Delete a resource outside of Pulumi."""
        record = self.resource(type, name)
        self.store.remove(record, (record.id,))

    def fill(self, bucket: str) -> None:
        """Put an object into a bucket, so that it cannot be deleted."""
        self.store.set_setting("filled", sorted({*self.store.setting("filled", []), bucket}))

    def calls(self) -> list[tuple[str, str, str, str]]:
        """All creates, updates and deletes: operation, type, logical name, error."""
        return self.store.calls()

    def reset(self) -> None:
        """Delete all resources and settings."""
        self.store.clear()

    def provider(self, cloud: str) -> SimulatedProvider:
        """A provider for use in this process; ``server.serve`` starts it on a port."""
        return SimulatedProvider(cloud, self.store)

    def plugins(self, folder: Path) -> dict[str, Path]:
        """Plugin folders that the real engine can launch, by cloud; see ``write_plugins``."""
        return write_plugins(folder, self.path)

    def environment(self, state: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Environment of the ``pulumi`` CLI for this cloud only: backend in ``state``, no network, no prompts."""
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
