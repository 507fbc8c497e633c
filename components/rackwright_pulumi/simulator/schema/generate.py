"""Write the argument types of the SDKs to ``data/types.<cloud>.json``: ``python -m rackwright_pulumi.simulator.schema.generate``.

A kind is written ``str``, ``int``, ``num``, ``bool``, ``any``, ``[kind]``, ``{kind}`` or ``#name`` (an entry of ``objects``).
Importing an SDK module takes up to a second, so the simulator reads these files; a test compares them with the installed SDKs.
"""

import collections.abc
import enum
import importlib
import inspect
import json
import sys
import types
import typing
from pathlib import Path

from pulumi import Asset, _types

from rackwright_pulumi.simulator.schema.facts import CLOUDS, DATA

PLAIN = {str: "str", int: "int", float: "num", bool: "bool"}


def covered(cloud: str) -> list[str]:
    """Class paths in the SDK's package from ``data/covered.txt``, such as ``ec2.Vpc``."""
    lines = (DATA / "covered.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[1] for line in lines if line.startswith(f"{cloud} ")]


def sdk_facts(cloud: str) -> dict[str, typing.Any]:
    """Inputs, required inputs and outputs of every covered type of one cloud, from the installed SDK."""
    package = importlib.import_module(f"pulumi_{cloud}")
    objects: dict[str, typing.Any] = {}
    found = {}
    for path in covered(cloud):
        module, _, name = path.rpartition(".")
        resource = getattr(importlib.import_module(f"{package.__name__}.{module}"), name)
        home = sys.modules[resource.__module__]
        args = getattr(home, f"{name}InitArgs", None) or getattr(home, f"{name}Args")
        outputs = {k: _kind(t, None) for k, t in sorted(_types.resource_types(resource).items())}
        found[resource.pulumi_type] = {"class": path, **_object(args, objects), "outputs": outputs}
    version = importlib.import_module("importlib.metadata").version(f"pulumi-{cloud}")
    return {"sdk": f"pulumi-{cloud}", "version": version, "types": dict(sorted(found.items())), "objects": dict(sorted(objects.items()))}


def _object(args: type, objects: dict[str, typing.Any]) -> dict[str, typing.Any]:
    to_wire = _types.input_type_py_to_pulumi_names(args)
    parameters = list(inspect.signature(args.__init__).parameters.values())[1:]
    required = sorted(to_wire[p.name] for p in parameters if p.default is inspect.Parameter.empty)
    return {"inputs": {k: _kind(t, objects) for k, t in sorted(_types.input_type_types(args).items())}, "required": required}


def _kind(found: typing.Any, objects: dict[str, typing.Any] | None) -> str:
    """The kind of one annotation; ``objects`` collects nested types, None (outputs) leaves them as ``{any}``."""
    if found in PLAIN:
        return PLAIN[found]
    origin = typing.get_origin(found)
    if origin is typing.Literal:
        return "str"
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(found), objects)
    if origin in (list, collections.abc.Sequence):
        return f"[{_kind(typing.get_args(found)[0], objects)}]"
    if origin in (dict, collections.abc.Mapping):
        return "{" + _kind(typing.get_args(found)[1], objects) + "}"
    if isinstance(found, type) and issubclass(found, enum.Enum):
        return "str"
    if isinstance(found, type) and _types.is_input_type(found):
        return _nested(found, objects)
    if isinstance(found, type) and objects is None and not issubclass(found, Asset):
        return "{any}"
    return "any"


def _union(members: tuple[typing.Any, ...], objects: dict[str, typing.Any] | None) -> str:
    """``Input[T]`` is T, an awaitable or an Output; T may be a union."""
    plain = [m for m in members if m is not type(None) and typing.get_origin(m) is not collections.abc.Awaitable and "Output" not in str(m)]
    kinds = {_kind(m, objects) for m in plain}
    return kinds.pop() if len(kinds) == 1 else "any"


def _nested(found: type, objects: dict[str, typing.Any] | None) -> str:
    if objects is None:
        return "{any}"
    name = ".".join(found.__module__.split(".")[1:-1]) + "." + found.__name__.removesuffix("Args")
    if name not in objects:
        objects[name] = {}
        objects[name] = _object(found, objects)
    return f"#{name}"


def write(cloud: str) -> Path:
    """Write ``data/types.<cloud>.json`` and return its path."""
    path = DATA / f"types.{cloud}.json"
    path.write_text(json.dumps(sdk_facts(cloud), separators=(",", ":"), sort_keys=False).replace('},"', '},\n"') + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    for each in sys.argv[1:] or CLOUDS:
        print(write(each))
