"""Settings: frozen dataclasses to JSON and back, and `key=value` overrides.

Settings are plain frozen dataclasses whose fields are numbers, strings, booleans, None, paths,
enums, other dataclasses, and tuples, lists or dicts of these. A saved setting reads back equal; a
key that does not exist is an error that names the nearest one.

A field whose type is a protocol (or a callable) is *open*: its value is any frozen dataclass, or
any function at the top level of a module, that satisfies the protocol. It is saved as ``{"object":
"module:Name", …}`` with its own settings; `barrow.objects` says which names resolve. An object of
barrow may be given by its name alone: ``reader=Warc``.

Where a field may be one of several dataclasses, a field ``kind: Literal["roberta"] = "roberta"``
distinguishes them in JSON; without a kind, the first is meant.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from barrow.errors import ConfigError, nearest
from barrow.objects import (
    Named,
    class_name,
    covers,
    import_file,
    is_ours,
    name_of,
    resolve,
    source_hash,
    trust_of,
)

__all__ = [
    "Named",
    "class_name",
    "describe",
    "from_dict",
    "from_json",
    "identity",
    "import_file",
    "meanings",
    "outside",
    "override",
    "parse_json",
    "to_dict",
    "to_json",
]

Settings = TypeVar("Settings")


def to_json(settings: Any) -> str:
    """Settings as indented JSON, keys in the order of the fields."""
    return json.dumps(to_dict(settings), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(
    kind: type[Settings],
    text: str,
    *,
    trust: Collection[str] | None = (),
    where: str | PathLike[str] | None = None,
) -> Settings:
    """Settings of a given kind from JSON; unknown keys and wrong types are errors.

    `where` names the file in the error for text that is not JSON.
    """
    return from_dict(kind, parse_json(text, where or kind.__name__), trust=trust)


def parse_json(
    text: str | bytes,
    where: str | PathLike[str],
    *,
    error: Callable[[str], Exception] = ConfigError,
) -> Any:
    """The value of untrusted JSON; raises an `error` that names the file if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError as cause:
        raise error(f"{where} is not JSON: {cause}") from None
    except RecursionError:
        raise error(f"{where} is not JSON: nested too deeply") from None


def to_dict(settings: Any) -> Any:
    """Settings as JSON values."""
    return _dump(type(settings), settings, False)


def identity(settings: Any) -> Any:
    """`to_dict`, with the hash of its source in every object from outside barrow, and the `version`
    of barrow's own where that was raised.

    Equal where the settings and the code they name are equal; machine paths do not count.
    """
    return _dump(type(settings), settings, True)


def outside(settings: Any) -> tuple[str, ...]:
    """What must be trusted to read these settings back: modules and files outside barrow."""
    return tuple(sorted({t for thing in _objects(settings) if (t := trust_of(thing)) is not None}))


def from_dict(kind: type[Settings], data: Any, *, trust: Collection[str] | None = ()) -> Settings:
    """Settings of a given kind from JSON values.

    With ``trust=None`` an object from outside barrow is not imported, and stays `Named`: to inspect
    saved settings without running code.
    """
    return typing.cast("Settings", _build(kind, data, kind.__name__, trust))


def override(
    settings: Settings, assignments: Iterable[str], *, trust: Collection[str] = ()
) -> Settings:
    """Apply ``key=value`` assignments, with dots for nested keys: ``domains.arxiv.epochs=1.5``.

    The value is read as JSON where the field is not a plain string, so ``sizes=[1,2]``,
    ``name=null`` and ``on=true`` work; a tuple of strings is also read from ``names=a,b``. An
    element of a tuple is named by its index or by its class: ``filters.0.min_words=30``,
    ``filters.GopherQuality.min_words=30``. Of a tuple of objects, ``filters.C4=off`` removes one,
    and ``filters.C4=on`` or ``filters.C4={"min_sentences": 3}`` adds it at the end, or replaces it.
    One that is refused is tried again after the others, since two may be right only together.
    """
    left = [_key_and_value(one) for one in assignments]
    while left:
        refused: list[tuple[tuple[str, str], ValueError]] = []
        for number, (key, value) in enumerate(left, start=1):
            try:
                settings = _replace(type(settings), settings, key.split("."), value, key, trust)
            except ValueError as error:
                # Of one setting, or of elements by their place, the order matters.
                if any(_overlap(key, later) for later, _ in left[number:]):
                    raise
                refused.append(((key, value), error))
        if len(refused) == len(left):
            raise refused[0][1]
        left = [one for one, _ in refused]
    return settings


def _key_and_value(assignment: str) -> tuple[str, str]:
    key, equals, value = assignment.partition("=")
    if not equals or not key:
        raise ConfigError(f"expected key=value, got {assignment!r}")
    return key, value


def _overlap(one: str, other: str) -> bool:
    """Whether one key is the other or within it; a number is any element."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return all(a == b or a.isdigit() or b.isdigit() for a, b in pairs)


def describe(settings: Any, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Every key that `override` takes, with its value and its meaning.

    The meaning is in the docstring of the class, as a line "- `key`: meaning; `other`: meaning".
    """
    meaning = meanings(type(settings))
    for field in dataclasses.fields(settings):
        value, key = getattr(settings, field.name), prefix + field.name
        said = meaning.get(field.name, "")
        if _is_settings(value):
            yield key, type(value).__name__, said
            yield from describe(value, f"{key}.")
        elif isinstance(value, Mapping) and any(map(_is_settings, value.values())):
            for name, item in value.items():
                yield f"{key}.{name}", type(item).__name__, said
                yield from describe(item, f"{key}.{name}.")
        elif isinstance(value, tuple | list) and any(map(_is_settings, value)):
            yield from _describe_elements(value, key)
        elif isinstance(value, Mapping) and any(isinstance(v, tuple) for v in value.values()):
            for name, items in value.items():
                names = " ".join(type(item).__name__ for item in items)
                yield f"{key}.{name}", names or "none", said
        else:
            yield key, str(json.dumps(to_dict(settings)[field.name], ensure_ascii=False)), said


def _describe_elements(value: Sequence[Any], key: str) -> Iterator[tuple[str, str, str]]:
    names = [type(item).__name__ for item in value]
    for place, (item, name) in enumerate(zip(value, names, strict=True)):
        named = f"{key}.{name if names.count(name) == 1 else place}"
        yield named, "on", (type(item).__doc__ or "").partition("\n")[0].rstrip(".")
        if _is_settings(item):
            yield from describe(item, f"{named}.")


def meanings(kind: type) -> dict[str, str]:
    """The meaning of settings, from the docstring of their class."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        doc = inspect.cleandoc(base.__doc__ or "")
        for line in re.findall(r"^- (`.*?)(?=^- `|^$|\Z)", doc, re.S | re.M):
            for part in re.split(r"; (?=[`\w, ]+`: )", " ".join(line.split())):
                names, _, said = part.partition("`: ")
                found |= dict.fromkeys(re.findall(r"\w+", names), said.rstrip("."))
    return found


def _dump(kind: Any, value: Any, with_source: bool) -> Any:
    if isinstance(value, Named):
        return {"object": value.name, **value.settings}
    if _is_open(kind) and (_is_settings(value) or isinstance(value, types.FunctionType)):
        thing = type(value) if _is_settings(value) else value
        named: dict[str, Any] = {"object": name_of(thing)}
        if with_source and trust_of(thing) is not None:
            named["source"] = source_hash(thing)
        elif with_source and (version := getattr(thing, "version", 1)) != 1:
            named["source"] = version  # 1 is left out: keys of earlier builds stay
        return named | (_dump(thing, value, with_source) if thing is not value else {})
    if _is_settings(value):
        hints = _hints(type(value))
        return {
            field.name: _dump(hints[field.name], getattr(value, field.name), with_source)
            for field in dataclasses.fields(value)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    inner = _inner(kind)
    if isinstance(value, Mapping):
        return {str(key): _dump(inner, item, with_source) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_dump(inner, item, with_source) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{value} cannot be saved as JSON")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ConfigError(f"a setting cannot be a {type(value).__name__}")


def _objects(value: Any) -> Iterator[Any]:
    """Classes of the settings inside a value, and functions."""
    if isinstance(value, types.FunctionType):
        yield value
    elif _is_settings(value):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from _objects(getattr(value, field.name))
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _objects(item)


def _is_settings(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


@functools.cache
def _cached_hints(kind: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _hints(kind: Any) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    hints = _cached_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _inner(kind: Any) -> Any:
    """The type of all elements of a container, if it has one."""
    for option in _options(kind):
        arguments = [a for a in typing.get_args(option) if a is not Ellipsis]
        if typing.get_origin(option) in (tuple, list, dict, Mapping, Sequence) and arguments:
            return arguments[-1]
    return Any


def _is_open(kind: Any) -> bool:
    return any(_is_protocol(o) or _is_callable(o) for o in _options(kind))


def _is_protocol(option: Any) -> bool:
    return bool(getattr(typing.get_origin(option) or option, "_is_protocol", False))


def _is_callable(option: Any) -> bool:
    return (typing.get_origin(option) or option) is collections.abc.Callable


def _replace(
    kind: Any, settings: Any, path: Sequence[str], value: str, whole: str, trust: Collection[str]
) -> Any:
    name, rest = path[0], path[1:]

    def new(current: Any, kind: Any) -> Any:
        if rest:
            return _replace(kind, current, rest, value, whole, trust)
        return _read(kind, value, whole, trust)

    if _is_settings(settings):
        hints = _hints(type(settings))
        if name not in hints:
            raise _unknown(name, list(hints), whole)
        changed = new(getattr(settings, name), hints[name])
        return dataclasses.replace(settings, **{name: changed})
    if isinstance(settings, Mapping):
        if name not in settings:
            raise _unknown(name, list(settings), whole)
        inner = _inner(kind)
        return {
            **settings,
            name: new(settings[name], type(settings[name]) if inner is Any else inner),
        }
    if isinstance(settings, tuple | list) and not rest and _is_open(_inner(kind)):
        return _switched(_inner(kind), settings, name, value, whole, trust)
    if isinstance(settings, tuple | list) and rest:
        place = _place(settings, name, whole, is_open=_is_open(_inner(kind)))
        changed = new(settings[place], type(settings[place]))
        return type(settings)((*settings[:place], changed, *settings[place + 1 :]))
    inside = whole[: -len(".".join(path)) - 1]
    if settings is None:
        kinds: list[Any] = [option for option in _options(kind) if dataclasses.is_dataclass(option)]
        if len(kinds) == 1 and not any(_is_required(kinds[0], name) for name in _hints(kinds[0])):
            return _replace(kind, kinds[0](), path, value, whole, trust)
        given = f'{inside}={{"{name}": {value}}}'
        raise ConfigError(f"{whole}: {inside} is not set; set all of it, as {given}")
    raise ConfigError(f"{whole}: {inside} is a {type(settings).__name__} and has no {name!r}")


def _place(settings: Sequence[Any], name: str, whole: str, *, is_open: bool = False) -> int:
    """The index of an element named by its index or by its class."""
    names = [type(item).__name__ for item in settings]
    if name.isdecimal() and int(name) < len(settings):
        return int(name)
    if names.count(name) == 1:
        return names.index(name)
    known = ", ".join(f"{place} ({name})" for place, name in enumerate(names)) or "no elements"
    inside = whole.partition(f".{name}")[0]
    adding = f"; {inside}.{name}=on adds one" if is_open and name.isidentifier() else ""
    raise ConfigError(f"{whole}: unknown element {name!r}; there are {known}{adding}")


def _switched(
    kind: Any, settings: Any, name: str, value: str, whole: str, trust: Collection[str]
) -> Any:
    """A tuple of objects without the named one ("off"), or with it ("on", or its settings)."""
    names = [type(item).__name__ for item in settings]
    if value == "off":
        place = _place(settings, name, whole)
        return type(settings)((*settings[:place], *settings[place + 1 :]))
    if value == "on" and name in names:
        return settings
    try:
        given = {} if value == "on" else json.loads(value)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, Mapping) or name.isdecimal():
        raise ConfigError(f"{whole}: expected on, off or {{settings}} of a class, got {value!r}")
    made = _build(kind, {"object": name, **given}, whole, trust)
    place = _place(settings, name, whole) if name in names else len(settings)
    return type(settings)((*settings[:place], made, *settings[place + 1 :]))


def _read(kind: Any, text: str, where: str, trust: Collection[str]) -> Any:
    try:
        return _build(kind, json.loads(text), where, trust)
    except (ValueError, ConfigError, RecursionError) as error:
        if _is_open(kind) and not isinstance(error, ConfigError):
            return _build(kind, text, where, trust)
        if _is_open(kind):
            raise
        if _accepts_text(kind):
            return _build(kind, text, where, trust)
        if tuple[str, ...] in _options(kind) and not text.startswith(("[", "{")):
            return tuple(part.strip() for part in text.split(",") if part.strip())
        raise ConfigError(f"{where}: expected {_name(kind)}, got {text!r}") from None


def _accepts_text(kind: Any) -> bool:
    return any(
        option in (str, Path, Any)
        or (isinstance(option, type) and issubclass(option, enum.Enum))
        or typing.get_origin(option) is typing.Literal
        for option in _options(kind)
    )


def _options(kind: Any) -> tuple[Any, ...]:
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return typing.get_args(kind) if union else (kind,)


def _build(kind: Any, data: Any, where: str, trust: Collection[str] | None) -> Any:
    options = _options(kind)
    if _is_open(kind) and not (data is None and type(None) in options):
        return _build_object(kind, data, where, trust)
    described = [option for option in options if dataclasses.is_dataclass(option)]
    kinds = {kind: option for option in described for kind in _kinds(option)}
    if len(described) > 1 and kinds and isinstance(data, Mapping):
        return _build_dataclass(_class_of(described[0], kinds, data, where), data, where, trust)
    if len(options) > 1:
        for option in options:
            try:
                return _build(option, data, where, trust)
            except ConfigError:
                continue
        raise ConfigError(f"{where}: expected {_name(kind)}, got {data!r}")
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return data
    if kind in (None, type(None)) and data is None:
        return None
    if origin is typing.Literal:
        if data in arguments:
            return data
        raise ConfigError(f"{where}: expected one of {list(arguments)}, got {data!r}")
    if dataclasses.is_dataclass(kind) and isinstance(data, Mapping):
        return _build_dataclass(kind, data, where, trust)
    if (origin or kind) in (tuple, list) and isinstance(data, list | tuple):
        return _build_sequence(origin or kind, arguments, data, where, trust)
    if (origin or kind) in (dict, Mapping) and isinstance(data, Mapping):
        value_kind = arguments[1] if arguments else Any
        return {k: _build(value_kind, value, f"{where}.{k}", trust) for k, value in data.items()}
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if kind is int and isinstance(data, int) and not isinstance(data, bool):
        return data
    if kind in (bool, str) and isinstance(data, kind):
        return data
    if kind is Path and isinstance(data, str):
        return Path(data)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        values = [member.value for member in kind]
        if data in values:
            return kind(data)
        raise ConfigError(f"{where}: expected one of {values}, got {data!r}")
    raise ConfigError(f"{where}: expected {_name(kind)}, got {data!r}")


def _build_object(kind: Any, data: Any, where: str, trust: Collection[str] | None) -> Any:
    if isinstance(data, str):
        data = {"object": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("object"), str):
        raise ConfigError(
            f'{where}: expected {_name(kind)}, as "module:Name" or {{"object": "module:Name", …}}, '
            f"got {data!r}"
        )
    settings = {key: value for key, value in data.items() if key not in ("object", "source")}
    name = _full_name(kind, data["object"])
    module = name.rpartition(":")[0]
    if trust is None and not is_ours(module):
        return Named(name, settings)
    try:
        thing = resolve(name, trust=trust or ())
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if settings and not isinstance(thing, type):
        raise ConfigError(f"{where}: {name} is a function and has no settings")
    anybodys = is_ours(module) and not covers(trust or (), module)
    missing = [_missing(o, thing, anybodys) for o in _options(kind) if o is not type(None)]
    if all(missing):
        raise ConfigError(f"{where}: {name} is not a {_name(kind)}: {missing[0]}")
    return _build_dataclass(thing, settings, where, trust) if isinstance(thing, type) else thing


def _full_name(kind: Any, name: str) -> str:
    """``module:Name``; a name alone is of barrow, from the package of the field's protocol."""
    homes = [option.__module__ for option in _options(kind) if _is_protocol(option)]
    if not name.isidentifier() or not homes or not is_ours(homes[0]):
        return name
    return f"{'.'.join(homes[0].split('.')[:2])}:{name}"


def _missing(option: Any, thing: Any, anybodys: bool) -> str:
    """Say what a class or function lacks to satisfy an open field; "" if nothing.

    Anybody's settings may name an object of barrow. So `anybodys` must have the protocol's methods
    as methods, be called as the protocol's ``__call__`` is annotated, and fits no plain callable.
    """
    if _is_callable(option):
        if anybodys:
            return "it is part of barrow, and a function of your own is expected"
        return "" if _has(thing, "__call__") else "it cannot be called"
    if not _is_protocol(option):
        fits = isinstance(thing, type) and issubclass(thing, option)
        return "" if fits else f"it is a {getattr(thing, '__name__', thing)}"
    wanted = [
        name
        for base in (typing.get_origin(option) or option).__mro__
        if getattr(base, "_is_protocol", False) and base is not typing.Protocol
        for name in {**vars(base), **getattr(base, "__annotations__", {})}
        if not name.startswith("_") or name == "__call__"
    ]
    for name in wanted:
        if not _has(thing, name):
            return f"it has no {name!r}"
        is_method = inspect.isfunction(getattr(option, name, None))
        if anybodys and is_method and not callable(getattr(thing, name, None)):
            return f"its {name!r} is not a method"
    if anybodys and "__call__" in wanted and not _is_called_as(option, thing):
        return "it is called with other arguments, or has another result"
    return ""


def _has(thing: Any, name: str) -> bool:
    """Tell whether this function, or objects of this class, have an attribute."""
    if not isinstance(thing, type):
        return hasattr(thing, name)
    fields = getattr(thing, "__dataclass_fields__", {})
    return name in fields or any(name in vars(base) for base in thing.__mro__)


def _is_called_as(option: Any, thing: Any) -> bool:
    """Compare annotations of parameters and result with those of the protocol's ``__call__``."""
    want = inspect.signature((typing.get_origin(option) or option).__call__)
    have = inspect.signature(thing.__call__ if isinstance(thing, type) else thing)
    wanted = list(want.parameters.values())[1:]
    given = list(have.parameters.values())[isinstance(thing, type) :]
    results = {want.return_annotation, *want.return_annotation.split(" | ")}
    return (
        len(wanted) == len(given)
        and all(map(_is_same_parameter, wanted, given))
        and have.return_annotation in results
    )


def _is_same_parameter(wanted: inspect.Parameter, given: inspect.Parameter) -> bool:
    by_position = wanted.kind == wanted.POSITIONAL_ONLY
    kinds = (wanted.kind, given.POSITIONAL_OR_KEYWORD) if by_position else (wanted.kind,)
    return (
        given.kind in kinds
        and (by_position or given.name == wanted.name)
        and wanted.annotation in ("Any", given.annotation)
    )


def _kinds(option: Any) -> tuple[Any, ...]:
    """The values that the field `kind` of a dataclass may have; none without such a field."""
    return typing.get_args(_hints(option).get("kind"))


def _class_of(first: Any, kinds: Mapping[Any, Any], data: Mapping[str, Any], where: str) -> Any:
    if "kind" not in data:
        return first
    said = data["kind"]
    if isinstance(said, str) and said in kinds:
        return kinds[said]
    raise ConfigError(
        f"{where}.kind: expected one of {list(kinds)}, or no kind for {_name(first)}, got {said!r}"
    )


def _build_dataclass(
    kind: Any, data: Mapping[str, Any], where: str, trust: Collection[str] | None
) -> Any:
    hints = _hints(kind)
    for key in data:
        if key not in hints:
            raise _unknown(key, list(hints), f"{where}.{key}")
    data = {**getattr(kind, "earlier", {}), **data}  # files that are older than a field
    values = {k: _build(hints[k], value, f"{where}.{k}", trust) for k, value in data.items()}
    needed = [f.name for f in dataclasses.fields(kind) if f.init and f.name not in values]
    if lacking := [name for name in needed if _is_required(kind, name)]:
        raise ConfigError(f'{where}: {kind.__name__} needs {{"{lacking[0]}": …}}, got {dict(data)}')
    try:
        return kind(**values)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from None


def _is_required(kind: Any, name: str) -> bool:
    field = kind.__dataclass_fields__[name]
    return field.default is field.default_factory is dataclasses.MISSING


def _build_sequence(
    kind: Any, arguments: tuple[Any, ...], data: Any, where: str, trust: Collection[str] | None
) -> Any:
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(arguments) != len(data):
            raise ConfigError(f"{where}: expected {len(arguments)} values, got {len(data)}")
        return tuple(
            _build(k, v, f"{where}[{i}]", trust)
            for i, (k, v) in enumerate(zip(arguments, data, strict=True))
        )
    inner = arguments[0] if arguments else Any
    return kind(_build(inner, value, f"{where}[{i}]", trust) for i, value in enumerate(data))


def _unknown(name: str, known: list[str], where: str) -> ConfigError:
    return ConfigError(f"{where}: no setting {name!r}; {nearest(name, sorted(known))}")


def _name(kind: Any) -> str:
    return " or ".join(
        "null" if k is type(None) else getattr(k, "__name__", str(k)) for k in _options(kind)
    )
