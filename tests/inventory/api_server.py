"""A fake API server over HTTP: lists in pages, or an error, and a record of what was requested."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

NODES, CLASSES, DEPLOYMENTS = "/api/v1/nodes", "/apis/storage.k8s.io/v1/storageclasses", "/apis/apps/v1/deployments"
SERVICE_CIDRS, CALICO_POOLS = "/apis/networking.k8s.io/v1/servicecidrs", "/apis/crd.projectcalico.org/v1/ippools"
NIC_STATES = "/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
VERSION_KEYS = ("gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")


@dataclass
class FakeCluster:
    """lists: path -> items; others do not exist. refused: path -> status. page: items of a page."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    page: int = 2
    requests: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, path: str, token: str) -> tuple[int, Any]:
        if status := self.refused.get(path):
            return status, {"kind": "Status", "message": f"nodes is forbidden: User lab cannot list {path}", "code": status}
        if path == "/version/":
            return 200, {"major": "1", "minor": "35+", "gitVersion": "v1.35.2", **dict.fromkeys(VERSION_KEYS, "")}
        if path not in self.lists:
            return 404, {"kind": "Status", "message": "not found", "code": 404}
        first = int(token or 0)
        items, last = self.lists[path][first : first + self.page], first + self.page
        more = {"continue": str(last)} if last < len(self.lists[path]) else {}
        return 200, {"kind": "List", "apiVersion": "v1", "metadata": more, "items": items}


@contextmanager
def serving(fake: FakeCluster, folder: Path) -> Iterator[Path]:
    """The kubeconfig of the server, which runs in this process on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            url = urlsplit(self.path)
            fake.requests.append((self.command, url.path))
            status, body = fake.answer(url.path, parse_qs(url.query).get("continue", [""])[0])
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
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
