"""Create, read, update, delete in one simulated cloud, without the protocol around them."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rackwright_pulumi.simulator.clusters import api_server, controllers
from rackwright_pulumi.simulator.computed import Context, ResourceRequest, computed
from rackwright_pulumi.simulator.limits import refusals
from rackwright_pulumi.simulator.limits.shortage import FAILED
from rackwright_pulumi.simulator.provider.values import holds_secret, opened, secret
from rackwright_pulumi.simulator.schema.facts import TRAITS
from rackwright_pulumi.simulator.schema.names import place, unique_key
from rackwright_pulumi.simulator.schema.references import followers, handles
from rackwright_pulumi.simulator.store import Record, Store, Taken


class Refused(Exception):
    """The cloud says no; the message is its error."""


class HalfMade(Exception):
    """Made and broken: the engine is to keep it."""

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
        """Make a resource: its id and state. Raises Refused, and HalfMade when a fault says partial or machines never come."""
        with self._logged("create", token, name):
            fault = self._faults("create", token, name)
            with self.store.transaction():
                record, lacking = self._make(token, name, urn, inputs)
                self.store.bear(urn)
                self._add(record)
                controllers.react(self.store, record)
            if fault or lacking:
                raise HalfMade(fault or lacking, record.id, record.state)
        return record.id, record.state

    def _add(self, record: Record) -> None:
        try:
            self.store.add(record)
        except Taken as taken:
            raise Refused(refusals.taken(record.type, str(taken).rpartition("|")[2])) from None

    @contextmanager
    def _logged(self, op: str, token: str, name: str) -> Generator[None]:
        try:
            yield
        except (Refused, HalfMade) as failure:
            self.store.log(op, token, name, str(failure))
            raise
        self.store.log(op, token, name)

    def _make(self, token: str, name: str, urn: str, inputs: dict[str, Any]) -> tuple[Record, str]:
        """The resource, and why it is broken; empty when it is whole."""
        where = self._place(token, opened(inputs))
        context = replace(self.context, generation=self.store.births(urn), known=self._known)
        asked = ResourceRequest(token, name, urn, opened(inputs), context)
        refusal = refusals.refuse_create(self.store, asked, where)
        lacking = None if refusal else refusals.refuse_machines(self.store, asked)
        if refusal or (lacking and token not in refusals.FAILS_LATE):
            raise Refused(refusal or lacking)
        resource_id, outputs = computed(token, name, urn, asked.inputs, context)
        state = _state(inputs, outputs) | (refusals.FAILS_LATE[token] if lacking else {})
        taken = unique_key(replace(asked, inputs={**asked.inputs, **opened(state)}))
        if token.startswith("kubernetes:") and taken:
            taken = f"{where}|{taken}"
        return Record(token, resource_id, where, urn, name, inputs, state, taken), lacking or ""

    def read(self, token: str, name: str, id_: str) -> Record | None:
        """The resource as the cloud has it, None when it is gone."""
        self._faults("read", token, name)
        return self._find(token, id_, {})

    def _find(self, token: str, id_: str, inputs: Mapping[str, Any]) -> Record | None:
        """Where the provider works; else anywhere, since a resource's own input may move it. Objects never leave their cluster."""
        here = self.store.find(token, id_, self._place(token, inputs))
        return here if here or token.startswith("kubernetes:") else self.store.find(token, id_)

    def update(self, token: str, name: str, urn: str, id_: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """Change a resource in place: its new state. Raises as ``create``."""
        with self._logged("update", token, name):
            fault = self._faults("update", token, name)
            with self.store.transaction():
                record = self._changed(token, name, urn, id_, inputs)
                self.store.change(record)
            if fault:
                raise HalfMade(fault, id_, record.state)
        return record.state

    def _changed(self, token: str, name: str, urn: str, id_: str, inputs: dict[str, Any]) -> Record:
        old = self._find(token, id_, opened(inputs))
        if old is None:
            raise Refused(f"{token} {id_} does not exist: NotFound")
        generation = max(0, self.store.births(urn) - 1)
        context = replace(self.context, generation=generation, revision=old.revision + 1, known=self._known)
        asked = ResourceRequest(token, name, urn, opened(inputs), context)
        refusal = refusals.refuse_update(self.store, old, asked)
        if refusal:
            raise Refused(refusal)
        state = _state(inputs, computed(token, name, urn, asked.inputs, context)[1])
        if old.state.get("status") == FAILED:
            state["status"] = FAILED
        return replace(old, urn=urn, name=name, inputs=inputs, state=state, revision=old.revision + 1)

    def delete(self, token: str, name: str, id_: str) -> None:
        """Take a resource away, with everything the cloud takes away with it. What is gone already is no error."""
        with self._logged("delete", token, name):
            self._faults("delete", token, name)
            with self.store.transaction():
                record = self._find(token, id_, {})
                refusal = refusals.refuse_delete(self.store, record) if record else None
                if refusal:
                    raise Refused(refusal)
                if record:
                    self._remove(record)
                    controllers.clear(self.store, record)

    def _remove(self, record: Record) -> None:
        for follower in list(followers(self.store, record)):
            self._remove(follower)
        self.store.remove(record, tuple(handles(record)), reserve=record.type in refusals.RESERVED)

    def _place(self, token: str, inputs: Mapping[str, Any]) -> str:
        if self.name == "kubernetes":
            where, reason = api_server.cluster_of(self.store, self.config)
            if where is None:
                raise Refused(f"configured Kubernetes cluster is unreachable: {reason}")
            return where
        asked = ResourceRequest(token, "", "", inputs, self.context)
        if TRAITS[self.name]["home"] == "project":
            return str(inputs.get("project") or self.context.project)
        return f"{self.context.account}/{place(asked, 'region')}"

    def _known(self, token: str, id_: str) -> Mapping[str, Any] | None:
        record = self.store.find(token, id_)
        return opened(record.state) if record else None

    def _faults(self, op: str, token: str, name: str) -> str:
        """Wait as long as the knobs say, fail as the faults say. Returns the reason of a partial failure, empty without one."""
        faults = self.store.next_faults(op, token, name)
        delay_s = self.store.knob("latency_s", 0.0) + sum(f.delay_s for f in faults)
        if delay_s and self.cancelled.wait(delay_s):
            raise Refused("cancelled")
        for fault in faults:
            if fault.error and not (fault.partial and op in ("create", "update")):
                raise Refused(fault.error)
        return next((fault.error for fault in faults if fault.error), "")


def _state(inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs and outputs together; an object the cloud extended stays secret when the program's part was."""
    known = {k: v for k, v in inputs.items() if k != "__defaults"}
    merged = {k: secret(v) if holds_secret(inputs.get(k)) else v for k, v in outputs.items()}
    return {**known, **merged} | ({"__defaults": inputs["__defaults"]} if "__defaults" in inputs else {})
