"""Create, read, update and delete in one simulated cloud, independent of the provider protocol."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rackwright_pulumi.simulator.clusters import api_server, controllers
from rackwright_pulumi.simulator.computed import Context, ResourceRequest, computed
from rackwright_pulumi.simulator.computed.names import place, unique_key
from rackwright_pulumi.simulator.limits import refusals
from rackwright_pulumi.simulator.limits.shortage import FAILED
from rackwright_pulumi.simulator.provider.values import holds_secret, unwrap_secrets, wrap_secret
from rackwright_pulumi.simulator.schema.facts import TRAITS
from rackwright_pulumi.simulator.schema.references import deleted_with, identifiers
from rackwright_pulumi.simulator.store import NameTaken, Record, Store


class CloudError(Exception):
    """The cloud rejects a call; the message is its error text."""


class InitializationFailed(Exception):
    """The resource was created or updated, but its initialization failed; the engine keeps it in its state."""

    def __init__(self, reason: str, id_: str, state: dict[str, Any]):
        super().__init__(reason)
        self.id, self.state = id_, state


@dataclass(frozen=True)
class Cloud:
    """One provider's view of the cloud. context: its account and place; config: its inputs; cancelled: set to end waiting calls."""

    name: str
    store: Store
    context: Context
    config: Mapping[str, Any]
    cancelled: threading.Event

    def create(self, token: str, name: str, urn: str, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Create a resource: its id and state. Raises CloudError, and InitializationFailed on a partial fault or missing machines."""
        with self._logged("create", token, name):
            fault = self._faults("create", token, name)
            with self.store.transaction():
                record, shortage = self._record(token, name, urn, inputs)
                self.store.count_creation(urn)
                try:
                    self.store.add(record)
                except NameTaken as error:
                    raise CloudError(refusals.name_taken_error(record.type, str(error).rpartition("|")[2])) from None
                controllers.after_create(self.store, record)
            if fault or shortage:
                raise InitializationFailed(fault or shortage, record.id, record.state)
        return record.id, record.state

    @contextmanager
    def _logged(self, op: str, token: str, name: str) -> Generator[None]:
        try:
            yield
        except (CloudError, InitializationFailed) as failure:
            self.store.log(op, token, name, str(failure))
            raise
        self.store.log(op, token, name)

    def _record(self, token: str, name: str, urn: str, inputs: dict[str, Any]) -> tuple[Record, str]:
        """The new resource, and the error of its missing machines; empty without one."""
        place_ = self._place(token, unwrap_secrets(inputs))
        context = replace(self.context, generation=self.store.creations(urn), find_state=self._find_state)
        request = ResourceRequest(token, name, urn, unwrap_secrets(inputs), context)
        error = refusals.create_error(self.store, request, place_)
        shortage = None if error else refusals.machine_error(self.store, request)
        if error or (shortage and token not in refusals.CREATED_WITHOUT_MACHINES):
            raise CloudError(error or shortage)
        resource_id, outputs = computed(token, name, urn, request.inputs, context)
        state = _state(inputs, outputs) | (refusals.CREATED_WITHOUT_MACHINES[token] if shortage else {})
        key = unique_key(replace(request, inputs={**request.inputs, **unwrap_secrets(state)}))
        if token.startswith("kubernetes:") and key:
            key = f"{place_}|{key}"
        return Record(token, resource_id, place_, urn, name, inputs, state, key), shortage or ""

    def read(self, token: str, name: str, id_: str) -> Record | None:
        """The resource in the cloud, None if it does not exist."""
        self._faults("read", token, name)
        return self._find(token, id_, {})

    def _find(self, token: str, id_: str, inputs: Mapping[str, Any]) -> Record | None:
        """A resource in the provider's place, else in any, because an input may set another region. Objects stay in their cluster."""
        here = self.store.find(token, id_, self._place(token, inputs))
        return here if here or token.startswith("kubernetes:") else self.store.find(token, id_)

    def update(self, token: str, name: str, urn: str, id_: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """Update a resource in place: its new state. Raises like ``create``."""
        with self._logged("update", token, name):
            fault = self._faults("update", token, name)
            with self.store.transaction():
                record = self._changed(token, name, urn, id_, inputs)
                self.store.change(record)
            if fault:
                raise InitializationFailed(fault, id_, record.state)
        return record.state

    def _changed(self, token: str, name: str, urn: str, id_: str, inputs: dict[str, Any]) -> Record:
        old = self._find(token, id_, unwrap_secrets(inputs))
        if old is None:
            raise CloudError(f"{token} {id_} does not exist: NotFound")
        generation = max(0, self.store.creations(urn) - 1)
        context = replace(self.context, generation=generation, revision=old.revision + 1, find_state=self._find_state)
        request = ResourceRequest(token, name, urn, unwrap_secrets(inputs), context)
        if error := refusals.update_error(self.store, old, request):
            raise CloudError(error)
        state = _state(inputs, computed(token, name, urn, request.inputs, context)[1])
        if old.state.get("status") == FAILED:
            state["status"] = FAILED
        return replace(old, urn=urn, name=name, inputs=inputs, state=state, revision=old.revision + 1)

    def delete(self, token: str, name: str, id_: str) -> None:
        """Delete a resource and all that the cloud deletes with it. A missing resource is no error."""
        with self._logged("delete", token, name):
            self._faults("delete", token, name)
            with self.store.transaction():
                record = self._find(token, id_, {})
                if record and (error := refusals.delete_error(self.store, record)):
                    raise CloudError(error)
                if record:
                    self._remove(record)
                    controllers.after_delete(self.store, record)

    def _remove(self, record: Record) -> None:
        for other in list(deleted_with(self.store, record)):
            self._remove(other)
        self.store.remove(record, tuple(identifiers(record)), keep_name=record.type in refusals.PERMANENT_NAMES)

    def _place(self, token: str, inputs: Mapping[str, Any]) -> str:
        if self.name == "kubernetes":
            cluster, reason = api_server.cluster_of(self.store, self.config)
            if cluster is None:
                raise CloudError(f"configured Kubernetes cluster is unreachable: {reason}")
            return cluster
        request = ResourceRequest(token, "", "", inputs, self.context)
        if TRAITS[self.name]["home"] == "project":
            return str(inputs.get("project") or self.context.project)
        return f"{self.context.account}/{place(request, 'region')}"

    def _find_state(self, token: str, id_: str) -> Mapping[str, Any] | None:
        record = self.store.find(token, id_)
        return unwrap_secrets(record.state) if record else None

    def _faults(self, op: str, token: str, name: str) -> str:
        """Apply latency and faults. Returns the error of a partial failure, empty without one."""
        faults = self.store.next_faults(op, token, name)
        delay_s = self.store.setting("latency_s", 0.0) + sum(f.delay_s for f in faults)
        if delay_s and self.cancelled.wait(delay_s):
            raise CloudError("cancelled")
        for fault in faults:
            if fault.error and not (fault.partial and op in ("create", "update")):
                raise CloudError(fault.error)
        return next((fault.error for fault in faults if fault.error), "")


def _state(inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs and outputs together; an object that the cloud extends stays secret if its input is."""
    given = {k: v for k, v in inputs.items() if k != "__defaults"}
    merged = {k: wrap_secret(v) if holds_secret(inputs.get(k)) else v for k, v in outputs.items()}
    return {**given, **merged} | ({"__defaults": inputs["__defaults"]} if "__defaults" in inputs else {})
