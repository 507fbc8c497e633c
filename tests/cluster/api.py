"""Client of the API server: server-side apply with strict field validation, and reading."""

import http.client
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Body = dict[str, Any]
MANAGER = "rackwright"
POLL_S = 0.25


@dataclass(frozen=True)
class Answer:
    """status: HTTP. warnings: texts of the Warning headers, such as deprecations and Pod Security."""

    status: int
    body: Body
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.status < 300

    @property
    def message(self) -> str:
        return "" if self.accepted else self.body.get("message", "")


class Refused(AssertionError):
    """The API server does not accept a request."""


class Api:
    """One connection with a token."""

    def __init__(self, host: str, port: int, token: str, certificate: Path):
        self.host, self.port, self.token, self.certificate = host, port, token, certificate
        self.kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    @cached_property
    def connection(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection(self.host, self.port, timeout=30, context=context)

    def request(self, method: str, path: str, body: Body | None = None, kind: str = "application/json") -> Answer:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, "Accept": "application/json"}
        try:
            self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self.__dict__.pop("connection", None)  # the next request opens another one
            raise
        warnings = tuple(line.partition('"')[2].rstrip('"') for line in response.headers.get_all("Warning") or ())
        return Answer(response.status, json.loads(text) if text[:1] == b"{" else {}, warnings)

    def is_ready(self) -> bool:
        try:
            return self.request("GET", "/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def apply(self, body: Body, dry_run: bool = False) -> Answer:
        """Server-side apply; unknown and duplicate fields are refused."""
        options = f"fieldManager={MANAGER}&fieldValidation=Strict&force=true{'&dryRun=All' if dry_run else ''}"
        return self.request("PATCH", f"{self.path(body)}?{options}", body, "application/apply-patch+yaml")

    def must_apply(self, *bodies: Body) -> None:
        for body in bodies:
            if not (answer := self.apply(body)).accepted:
                raise Refused(f"{body['kind']} {body['metadata']['name']}: {answer.message}")

    def set_status(self, body: Body) -> None:
        answer = self.request("PATCH", f"{self.path(body)}/status", {"status": body["status"]}, "application/merge-patch+json")
        if not answer.accepted:
            raise Refused(f"status of {body['metadata']['name']}: {answer.message}")

    def delete(self, body: Body) -> None:
        self.request("DELETE", self.path(body), {"propagationPolicy": "Background", "gracePeriodSeconds": 0})

    def delete_all(self, api_version: str, kind: str, namespace: str = "") -> None:
        self.request("DELETE", self._folder(api_version, kind, namespace), {"propagationPolicy": "Background", "gracePeriodSeconds": 0})

    def items(self, api_version: str, kind: str, namespace: str = "", selector: str = "") -> list[Body]:
        query = f"?labelSelector={selector}" if selector else ""
        return self.request("GET", self._folder(api_version, kind, namespace) + query).body.get("items", [])

    def path(self, body: Body) -> str:
        meta = body["metadata"]
        return f"{self._folder(body['apiVersion'], body['kind'], meta.get('namespace', ''))}/{meta['name']}"

    def serves(self, api_version: str, kind: str) -> bool:
        return kind in self._kinds(api_version, kind)

    def _folder(self, api_version: str, kind: str, namespace: str = "") -> str:
        root, kinds = _root(api_version), self._kinds(api_version, kind)
        if kind not in kinds:
            raise Refused(f"the API server does not serve {api_version} {kind}")
        plural, namespaced = kinds[kind]
        return f"{root}/namespaces/{namespace}/{plural}" if namespaced and namespace else f"{root}/{plural}"

    def _kinds(self, api_version: str, kind: str) -> dict[str, tuple[str, bool]]:
        """Kind to (plural, is namespaced) of an API version, read again where `kind` is new."""
        if kind not in self.kinds.get(api_version, {}):
            rows = self.request("GET", _root(api_version)).body.get("resources", [])
            self.kinds[api_version] = {row["kind"]: (row["name"], row["namespaced"]) for row in rows if "/" not in row["name"]}
        return self.kinds[api_version]


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def wait_until(condition: Callable[[], Any], seconds: float = 40) -> Any:
    """The first true value of `condition`, which is called four times a second; the last value after `seconds`."""
    ends = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < ends:
        time.sleep(POLL_S)
    return value
