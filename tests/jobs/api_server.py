"""A fake API server over HTTP: objects by path, requests as received, and answers that change with each read."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

QUEUE = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-nlp/localqueues/default"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-nlp/workloads"
JOBS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-nlp/jobsets"
PODS = "/api/v1/namespaces/team-nlp/pods"


@dataclass
class FakeApi:
    """answers: path -> answers in order, of which the last repeats; (status, body) or a body. requests: (method, path, query, body)."""

    answers: dict[str, list[Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        given = self.answers.get(f"{method} {path}", self.answers.get(path, []))
        if not given:
            return 404, {"kind": "Status", "message": f"{path} not found", "code": 404}
        found = given.pop(0) if len(given) > 1 else given[0]
        return found if isinstance(found, tuple) else (200, found)

    @property
    def posts(self) -> list[tuple[dict[str, str], Any]]:
        """(query, body) of every creation."""
        return [(query, body) for method, path, query, body in self.requests if (method, path) == ("POST", JOBS)]


@contextmanager
def serving(fake: FakeApi, folder: Path) -> Iterator[Path]:
    """The kubeconfig of the server, which runs in this process on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            url = urlsplit(self.path)
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fake.requests.append((self.command, url.path, dict(parse_qsl(url.query)), json.loads(text) if text else None))
            status, body = fake.answer(self.command, url.path)
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = _handle

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
    context = {"name": "test", "context": {"cluster": "test", "user": "test"}}
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [{"name": "test", "cluster": {"server": server}}],
                "users": [{"name": "test", "user": {"token": "secret"}}],
                "contexts": [context],
            }
        )
    )
    return path


def job_set(*conditions: tuple[str, str], suspend: bool = False, restarts: int = 0) -> dict[str, Any]:
    """A JobSet as the server returns it. conditions: (type, message) that are true."""
    status = {"conditions": [{"type": kind, "status": "True", "message": text} for kind, text in conditions], "restarts": restarts}
    return {"metadata": {"name": "sft", "uid": "1"}, "spec": {"suspend": suspend}, "status": status}


def pods(*phases: str, first: int = 0) -> dict[str, Any]:
    """A list of pods, numbered from `first`."""
    items = [{"metadata": {"name": f"sft-workers-0-0-{first + n}"}, "status": {"phase": phase}} for n, phase in enumerate(phases)]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
