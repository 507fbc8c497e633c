"""Check the arguments of a component when it is constructed.

Python ignores an unknown key of a dictionary, and an f-string or json.dumps turns an Output into the text
"Calling __str__ on an Output[T] is not supported", which the cloud then stores. The package checks the same over the wire.
"""

from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import isawaitable
from types import NoneType, UnionType
from typing import Any, NotRequired, Union, get_args, get_origin

from pulumi import Output
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem


class InvalidArgs(UserError):
    """Arguments of a component with unknown or missing keys, or with an Output where a value is needed. The problems have no values."""


def check_args(kind: type, args: object) -> None:
    """Raise InvalidArgs for arguments that do not fit the component. kind: the TypedDict of its arguments."""
    component = kind.__name__.removesuffix("Args")
    if not isinstance(args, Mapping):
        fix = f"pass a dictionary with the keys of {kind.__name__}"
        raise InvalidArgs([_problem(component, (), f"the arguments of {component} are {type(args).__name__}", fix)])
    if problems := list(_problems(kind, component, args)):
        raise InvalidArgs(problems)


def _problems(kind: type, component: str, args: Mapping[str, Any]) -> Iterator[Problem]:
    types, required = _types(kind), getattr(kind, "__required_keys__")  # noqa: B009, a type checker knows no keys of `type`
    for key in sorted(args.keys() - types.keys()):
        yield _problem(component, (key,), f"{component} has no argument {key!r}", f"use one of: {', '.join(sorted(types))}")
    for key in sorted(required):
        if args.get(key) is None and NoneType not in _options(types[key]):
            yield _problem(component, (key,), f"{component} requires the argument {key!r}", "add it")
    for key, value in args.items():
        type_ = types.get(key, Any)
        for at in _outputs(value, type_, (key,)):
            reason = f"{At(at)} is an Output, but {component} needs its value before the deployment starts"
            yield _problem(component, at, reason, "pass a plain value; in a plan, reference the output of another stack")
        if type_ is bool and not isinstance(value, (bool, Output)):
            yield _problem(component, (key,), f"{key} is {type(value).__name__}, not true or false", "pass True or False")


@cache
def _types(kind: type) -> Mapping[str, Any]:
    """Type by argument, without NotRequired. typing.get_type_hints fails on pulumi.Input, which contains the text 'Output[T]'."""
    return {key: get_args(type_)[0] if get_origin(type_) is NotRequired else type_ for key, type_ in kind.__annotations__.items()}


def _outputs(value: Any, type_: Any, at: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Places in `value` with an Output (or awaitable) that its type does not permit."""
    if _permits_output(type_):
        return
    if isinstance(value, Output) or isawaitable(value):
        yield at
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _outputs(item, _item_type(type_), (*at, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _outputs(item, _item_type(type_), (*at, index))
    elif is_dataclass(value):
        for field in fields(value):
            yield from _outputs(getattr(value, field.name), object, (*at, field.name))


def _permits_output(type_: Any) -> bool:
    """True for pulumi.Input, a union with an awaitable, and for unions with it."""
    return any(get_origin(option) is Awaitable for option in _options(type_))


def _options(type_: Any) -> tuple[Any, ...]:
    return get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)


def _item_type(type_: Any) -> Any:
    """Type of the items of a mapping or sequence, also if it is optional."""
    for option in _options(type_):
        if get_origin(option) is not None:
            return get_args(option)[-1]
    return object


def _problem(component: str, at: tuple[str | int, ...], reason: str, fix: str) -> Problem:
    return Problem("C-args", reason, At(at or (component,)), fix=fix)
