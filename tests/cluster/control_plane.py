"""A Kubernetes control plane on loopback: etcd, API server, scheduler and controllers; kwok is the kubelet of its nodes."""

import json
import secrets
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.api import Api
from tests.cluster.binaries import STAGES

START_S, STOP_S = 60, 4
POLL_S = 0.25
CONTROLLERS = (
    "serviceaccount-controller",
    "namespace-controller",
    "daemonset-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "disruption-controller",
    "persistentvolume-binder-controller",
    "resourceclaim-controller",
)
"""Those whose objects the tests read. Node lifecycle is kwok's."""


class ControlPlane:
    """Its processes, by their pid, and its API."""

    def __init__(self, binaries: Path, etcd: str, folder: Path):
        self.binaries, self.etcd, self.folder = binaries, etcd, folder
        self.token, self.processes = secrets.token_hex(16), {}
        self.etcd_port, self.peer_port, self.port, self.kwok_port = _free_ports(4)
        self.api = Api("127.0.0.1", self.port, self.token, folder / "apiserver.crt")

    def start(self) -> None:
        """Raises TimeoutError with the end of the log where the API server does not answer."""
        self._etcd()
        self._api_server()
        self._wait_ready()
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.folder / "apiserver.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": "test", "user": {"token": self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps(config))
        known = f"--kubeconfig={path}"
        own = ("--leader-elect=false", "--secure-port=0")
        self._run("kube-scheduler", known, *own)
        self._run("kube-controller-manager", known, *own, f"--controllers={','.join(CONTROLLERS)}")
        serving, stages = f"--server-address=127.0.0.1:{self.kwok_port}", f"--config={self.binaries / STAGES}"
        self._run("kwok", known, "--manage-all-nodes=true", serving, stages)

    def stop(self) -> None:
        """Ends the processes in reverse order, each by its pid."""
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in reversed(self.processes.values()):
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        self._run(
            self.etcd,
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )

    def _api_server(self) -> None:
        key, tokens = self.folder / "accounts.key", self.folder / "tokens.csv"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        tokens.write_text(f'{self.token},test,test,"system:masters"\n')
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.folder}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",  # as in EKS, GKE and kubeadm; Pod Security decides per namespace
            "--disable-admission-plugins=TaintNodesByCondition",  # its taint is removed by the controller of real nodes
            "--allow-privileged=true",  # as managed control planes; pod security levels of namespaces still apply
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://127.0.0.1",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
        )

    def _run(self, name: str, *arguments: str) -> None:
        program = self.binaries / name if "/" not in name else Path(name)
        with (self.folder / f"{program.name}.log").open("wb") as log:
            self.processes[program.name] = subprocess.Popen([program, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def _wait_ready(self) -> None:
        ends = time.monotonic() + START_S
        while not self.api.is_ready():
            stopped = [name for name, process in self.processes.items() if process.poll() is not None]
            if stopped or time.monotonic() > ends:
                name = stopped[0] if stopped else "kube-apiserver"
                raise TimeoutError(f"{name} does not run: " + (self.folder / f"{name}.log").read_text()[-2000:])
            time.sleep(POLL_S)


@contextmanager
def running(binaries: Path, etcd: str, folder: Path):
    """A started control plane; its processes end with the block, also where it fails."""
    plane = ControlPlane(binaries, etcd, folder)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def _free_ports(count: int) -> list[int]:
    """Ports of loopback that are free now, each another."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
