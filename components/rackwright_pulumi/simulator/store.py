"""State of one simulated cloud in one SQLite file, safe across threads and across the three provider processes."""

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
"""Seconds a process waits for a write of another process before it fails."""
COLUMNS = {"unique_key": "taken", "external": "foreseen"}
"""Fields of Record whose column has another name: cloud files of earlier releases stay readable."""


class NameTaken(Exception):
    """Another resource has this name."""


@dataclass(frozen=True)
class Record:
    """One resource in the simulated cloud. place: its account and region, project or cluster."""

    type: str
    id: str
    place: str
    urn: str
    name: str
    inputs: dict[str, Any]
    state: dict[str, Any]
    unique_key: str | None = None
    """A key that no other resource may have; None if names may repeat."""
    revision: int = 1
    external: bool = False
    """Created by a test, outside of any stack."""


@dataclass(frozen=True)
class Fault:
    """A failure or delay of matching calls: shell patterns for the type token and the logical name."""

    type: str = "*"
    name: str = "*"
    op: str = "*"
    """``create``, ``read``, ``update``, ``delete`` or ``*``."""
    error: str = ""
    """The message of the failure; empty for a delay alone."""
    times: int | None = None
    """Number of calls that fail; None for all."""
    partial: bool = False
    """The resource is created, and stays failed until it is updated or replaced."""
    delay_s: float = 0.0

    def applies(self, op: str, type_: str, name: str) -> bool:
        pairs = ((op, self.op), (type_, self.type), (name, self.name))
        return all(fnmatch.fnmatchcase(value, pattern) for value, pattern in pairs)


@dataclass
class Store:
    """One cloud file. Every method is one transaction unless it runs inside ``transaction()``."""

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
        """An exclusive write transaction; rolled back on any exception."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def add(self, record: Record) -> None:
        """Insert. Raises NameTaken if another resource has the key or the id; without a key, the record replaces one with the same id."""
        if record.unique_key and self._db.execute("SELECT 1 FROM reserved WHERE taken = ?", [record.unique_key]).fetchone():
            raise NameTaken(record.unique_key)
        if record.unique_key is None:
            self._db.execute("DELETE FROM resource WHERE type = ? AND id = ? AND place = ?", [record.type, record.id, record.place])
        row = _row(record)
        try:
            self._db.execute(f"INSERT INTO resource ({', '.join(row)}) VALUES ({', '.join(f':{c}' for c in row)})", row)
        except sqlite3.IntegrityError as error:
            raise NameTaken(record.unique_key or record.id) from error

    def change(self, record: Record) -> None:
        """Overwrite the record with the same type, id and place."""
        update = "urn = :urn, name = :name, inputs = :inputs, state = :state, revision = :revision"
        self._db.execute(f"UPDATE resource SET {update} WHERE type = :type AND id = :id AND place = :place", _row(record))

    def find(self, type_: str, id_: str, place: str | None = None) -> Record | None:
        """One resource; without a place, the first with that id in any place."""
        where = "type = ? AND id = ?" + ("" if place is None else " AND place = ?")
        rows = self._records(where, [type_, id_] + ([] if place is None else [place]))
        return rows[0] if rows else None

    def all(self, type_: str = "*") -> list[Record]:
        """Resources in order of creation, by shell pattern on the type."""
        return self._records("type GLOB ?", [type_])

    def in_place(self, place: str) -> list[Record]:
        """All resources in one place, such as a cluster."""
        return self._records("place = ?", [place])

    def _records(self, where: str, values: list[Any]) -> list[Record]:
        rows = self._db.execute(f"SELECT * FROM resource WHERE {where} ORDER BY seq", values).fetchall()
        return [_record(row) for row in rows]

    def remove(self, record: Record, identifiers: tuple[str, ...] = (), keep_name: bool = False) -> None:
        """Delete a resource and record its identifiers as deleted. keep_name: its unique key stays reserved."""
        self._db.execute("DELETE FROM resource WHERE type = ? AND id = ? AND place = ?", [record.type, record.id, record.place])
        self._db.executemany("INSERT OR IGNORE INTO gone VALUES (?, ?)", [(record.type, identifier) for identifier in identifiers])
        if keep_name and record.unique_key:
            self._db.execute("INSERT OR IGNORE INTO reserved VALUES (?)", [record.unique_key])

    def was_deleted(self, type_: str, identifier: str) -> bool:
        """Whether a resource of this type with this id, ARN or name was deleted."""
        return self._db.execute("SELECT 1 FROM gone WHERE type = ? AND handle = ?", [type_, identifier]).fetchone() is not None

    def creations(self, urn: str) -> int:
        """Number of times this URN was created."""
        row = self._db.execute("SELECT times FROM born WHERE urn = ?", [urn]).fetchone()
        return row["times"] if row else 0

    def count_creation(self, urn: str) -> None:
        """Add 1 to the creations of this URN."""
        self._db.execute("INSERT INTO born VALUES (?, 1) ON CONFLICT (urn) DO UPDATE SET times = times + 1", [urn])

    def add_fault(self, fault: Fault) -> None:
        self._db.execute("INSERT INTO fault (fault, hits) VALUES (?, 0)", [json.dumps(asdict(fault))])

    def next_faults(self, op: str, type_: str, name: str) -> list[Fault]:
        """The faults that apply to this call; each is counted, and applies at most ``times`` times across all processes."""
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

    def setting(self, name: str, default: Any = None) -> Any:
        row = self._db.execute("SELECT value FROM knob WHERE name = ?", [name]).fetchone()
        return json.loads(row["value"]) if row else default

    def set_setting(self, name: str, value: Any) -> None:
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


def _row(record: Record) -> dict[str, Any]:
    values = asdict(record) | {"inputs": json.dumps(record.inputs), "state": json.dumps(record.state)}
    return {COLUMNS.get(key, key): value for key, value in values.items()}


def _record(row: sqlite3.Row) -> Record:
    inputs, state = json.loads(row["inputs"]), json.loads(row["state"])
    names = (row["type"], row["id"], row["place"], row["urn"], row["name"])
    return Record(*names, inputs, state, row["taken"], row["revision"], bool(row["foreseen"]))
