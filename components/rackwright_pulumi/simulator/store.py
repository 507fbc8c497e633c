"""The state of one simulated cloud: one SQLite file, safe across threads and across the three provider processes."""

import fnmatch
import json
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS resource (
  type TEXT, id TEXT, place TEXT, urn TEXT, name TEXT, taken TEXT UNIQUE, inputs TEXT, state TEXT, revision INTEGER, foreseen INTEGER,
  seq INTEGER PRIMARY KEY AUTOINCREMENT, UNIQUE (type, id, place));
CREATE TABLE IF NOT EXISTS born (urn TEXT PRIMARY KEY, times INTEGER);
CREATE TABLE IF NOT EXISTS gone (type TEXT, handle TEXT, PRIMARY KEY (type, handle));
CREATE TABLE IF NOT EXISTS reserved (taken TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS fault (seq INTEGER PRIMARY KEY AUTOINCREMENT, fault TEXT, hits INTEGER);
CREATE TABLE IF NOT EXISTS knob (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS call (seq INTEGER PRIMARY KEY AUTOINCREMENT, op TEXT, type TEXT, name TEXT, error TEXT);
"""
WAIT_S = 30.0
"""How long a process waits for another one's write before it gives up."""


class Taken(Exception):
    """Another living resource has this name."""


@dataclass(frozen=True)
class Record:
    """One resource as the cloud keeps it. ``place`` is the account and region, the project or the cluster it lives in."""

    type: str
    id: str
    place: str
    urn: str
    name: str
    inputs: dict[str, Any]
    state: dict[str, Any]
    taken: str | None = None
    """What no other living resource may have; None where names may repeat."""
    revision: int = 1
    foreseen: bool = False
    """Put there by a test or an operator before any program ran: not a resource of a stack."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, for which calls: shell patterns on the type token and the logical name."""

    type: str = "*"
    name: str = "*"
    op: str = "*"
    """``create``, ``read``, ``update``, ``delete`` or ``*``."""
    error: str = ""
    """The message of the failure; empty for a delay alone."""
    times: int | None = None
    """How often; None for always."""
    partial: bool = False
    """The resource is made all the same, and stays broken until it is updated or replaced."""
    delay_s: float = 0.0

    def applies(self, op: str, type_: str, name: str) -> bool:
        pairs = ((op, self.op), (type_, self.type), (name, self.name))
        return all(fnmatch.fnmatchcase(value, pattern) for value, pattern in pairs)


@dataclass
class Store:
    """One cloud's file. Every method is one transaction unless it runs inside ``transaction()``."""

    path: Path
    _local: threading.local = field(default_factory=threading.local, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db.executescript(SCHEMA)

    @property
    def _db(self) -> sqlite3.Connection:
        """One connection per thread."""
        if not hasattr(self._local, "db"):
            db = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
            db.row_factory = sqlite3.Row
            db.execute(f"PRAGMA busy_timeout = {int(WAIT_S * 1000)}")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            self._local.db = db
        return self._local.db

    def close(self) -> None:
        """Close this thread's connection."""
        if hasattr(self._local, "db"):
            self._local.db.close()
            del self._local.db

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing, and no other process writes in between."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def add(self, record: Record) -> None:
        """Insert. Raises Taken when another living resource has the name or the id; where names may repeat, the newer stays."""
        if record.taken and self._db.execute("SELECT 1 FROM reserved WHERE taken = ?", [record.taken]).fetchone():
            raise Taken(record.taken)
        if record.taken is None:
            self._db.execute("DELETE FROM resource WHERE type = ? AND id = ? AND place = ?", [record.type, record.id, record.place])
        row = asdict(record) | {"inputs": json.dumps(record.inputs), "state": json.dumps(record.state)}
        try:
            self._db.execute(f"INSERT INTO resource ({', '.join(row)}) VALUES ({', '.join(f':{c}' for c in row)})", row)
        except sqlite3.IntegrityError as error:
            raise Taken(record.taken or record.id) from error

    def change(self, record: Record) -> None:
        """Overwrite what has the same type, id and place."""
        row = asdict(record) | {"inputs": json.dumps(record.inputs), "state": json.dumps(record.state)}
        update = "urn = :urn, name = :name, inputs = :inputs, state = :state, revision = :revision"
        self._db.execute(f"UPDATE resource SET {update} WHERE type = :type AND id = :id AND place = :place", row)

    def find(self, type_: str, id_: str, place: str | None = None) -> Record | None:
        """One resource; without a place, the first with that id anywhere."""
        where = "type = ? AND id = ?" + ("" if place is None else " AND place = ?")
        rows = self._records(where, [type_, id_] + ([] if place is None else [place]))
        return rows[0] if rows else None

    def all(self, type_: str = "*") -> list[Record]:
        """Living resources in the order they were made, by shell pattern on the type."""
        return self._records("type GLOB ?", [type_])

    def inside(self, place: str) -> list[Record]:
        """Everything in one place, such as a cluster."""
        return self._records("place = ?", [place])

    def _records(self, where: str, values: list[Any]) -> list[Record]:
        rows = self._db.execute(f"SELECT * FROM resource WHERE {where} ORDER BY seq", values).fetchall()
        return [_record(row) for row in rows]

    def remove(self, record: Record, handles: tuple[str, ...] = (), reserve: bool = False) -> None:
        """Delete; remember the handles as those of something that was there; keep the name taken when asked."""
        self._db.execute("DELETE FROM resource WHERE type = ? AND id = ? AND place = ?", [record.type, record.id, record.place])
        self._db.executemany("INSERT OR IGNORE INTO gone VALUES (?, ?)", [(record.type, handle) for handle in handles])
        if reserve and record.taken:
            self._db.execute("INSERT OR IGNORE INTO reserved VALUES (?)", [record.taken])

    def is_gone(self, type_: str, handle: str) -> bool:
        """Whether something of this type once answered to this id, ARN or name and was deleted."""
        return self._db.execute("SELECT 1 FROM gone WHERE type = ? AND handle = ?", [type_, handle]).fetchone() is not None

    def births(self, urn: str) -> int:
        """How many times this URN was created."""
        row = self._db.execute("SELECT times FROM born WHERE urn = ?", [urn]).fetchone()
        return row["times"] if row else 0

    def bear(self, urn: str) -> None:
        """Count one more creation of this URN."""
        self._db.execute("INSERT INTO born VALUES (?, 1) ON CONFLICT (urn) DO UPDATE SET times = times + 1", [urn])

    def add_fault(self, fault: Fault) -> None:
        self._db.execute("INSERT INTO fault (fault, hits) VALUES (?, 0)", [json.dumps(asdict(fault))])

    def next_faults(self, op: str, type_: str, name: str) -> list[Fault]:
        """The faults that apply to this call, counted as hit: only as often as each says, however many processes ask."""
        if not self._db.execute("SELECT 1 FROM fault LIMIT 1").fetchone():
            return []
        hit = []
        with self.transaction():
            for row in self._db.execute("SELECT seq, fault, hits FROM fault ORDER BY seq").fetchall():
                fault = Fault(**json.loads(row["fault"]))
                if fault.applies(op, type_, name) and (fault.times is None or row["hits"] < fault.times):
                    self._db.execute("UPDATE fault SET hits = hits + 1 WHERE seq = ?", [row["seq"]])
                    hit.append(fault)
        return hit

    def knob(self, name: str, default: Any = None) -> Any:
        row = self._db.execute("SELECT value FROM knob WHERE name = ?", [name]).fetchone()
        return json.loads(row["value"]) if row else default

    def set_knob(self, name: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO knob VALUES (?, ?)", [name, json.dumps(value)])

    def log(self, op: str, type_: str, name: str, error: str = "") -> None:
        self._db.execute("INSERT INTO call (op, type, name, error) VALUES (?, ?, ?, ?)", [op, type_, name, error])

    def calls(self) -> list[tuple[str, str, str, str]]:
        """Every create, read, update and delete in order: operation, type, logical name, error."""
        return [tuple(row) for row in self._db.execute("SELECT op, type, name, error FROM call ORDER BY seq")]

    def clear(self, *tables: str) -> None:
        """Empty these tables, or all."""
        for table in tables or ("resource", "born", "gone", "reserved", "fault", "knob", "call"):
            self._db.execute(f"DELETE FROM {table}")


def _record(row: sqlite3.Row) -> Record:
    inputs, state = json.loads(row["inputs"]), json.loads(row["state"])
    names = (row["type"], row["id"], row["place"], row["urn"], row["name"])
    return Record(*names, inputs, state, row["taken"], row["revision"], bool(row["foreseen"]))
