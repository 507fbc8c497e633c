"""A fake API server over HTTP: answers by path, lists in pages, and a record of what was requested."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import yaml

NODES = "/api/v1/nodes"
VERSION_KEYS = ("gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
VERSION = {"major": "1", "minor": "35+", "gitVersion": "v1.35.2", **dict.fromkeys(VERSION_KEYS, "")}


class Request(NamedTuple):
    """A request as the server received it. body: None without one."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass
class FakeApi:
    """What the server answers; other paths do not exist.

    answers: path, or method and path -> answers in order, of which the last repeats; each is a body, or (status, body). lists: path ->
    items, returned in pages of `page` items.
    """

    answers: dict[str, list[Any]] = field(default_factory=dict)
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    page: int = 2
    requests: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> tuple[int, Any]:
        method, path, query, _ = request
        given = self.answers.get(f"{method} {path}", self.answers.get(path, []))
        if given:
            found = given.pop(0) if len(given) > 1 else given[0]
            return found if isinstance(found, tuple) else (200, found)
        if path == "/version/":
            return 200, VERSION
        return (200, self._page(path, int(query.get("continue", 0)))) if path in self.lists else error(404, f"{path} not found")

    def _page(self, path: str, first: int) -> dict[str, Any]:
        last = first + self.page
        more = {"continue": str(last)} if last < len(self.lists[path]) else {}
        return {"kind": "List", "apiVersion": "v1", "metadata": more, "items": self.lists[path][first:last]}

    def created(self, path: str) -> list[tuple[dict[str, str], Any]]:
        """(query, body) of every creation in a collection."""
        return [(request.query, request.body) for request in self.requests if (request.method, request.path) == ("POST", path)]


def error(status: int, message: str) -> tuple[int, dict[str, Any]]:
    """An answer with an HTTP status and the server's text."""
    return status, {"kind": "Status", "message": message, "code": status}


@contextmanager
def serving(fake: FakeApi, folder: Path) -> Iterator[Path]:
    """The kubeconfig of the server, which runs in this process on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            url = urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, url.path, dict(parse_qsl(url.query)), json.loads(text) if text else None)
            fake.requests.append(request)
            status, body = fake.answer(request)
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield kubeconfig(folder, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def kubeconfig(folder: Path, server: str) -> Path:
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab-admin",
        "clusters": [{"name": "lab", "cluster": {"server": server}}],
        "users": [{"name": "admin", "user": {"token": "secret-token"}}],
        "contexts": [{"name": "lab-admin", "context": {"cluster": "lab", "user": "admin"}}],
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
