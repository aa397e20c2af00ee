"""Settings: frozen dataclasses to JSON and back, and `key=value` overrides.

Settings are plain frozen dataclasses whose fields are numbers, strings, booleans, None, paths,
enums, other dataclasses, and tuples, lists or dicts of these. A saved setting reads back equal; a
key that does not exist is answered with the nearest one that does.

Where a field may be one of several dataclasses, a field ``kind: Literal["roberta"] = "roberta"``
tells them apart in JSON; the first may do without, and is meant where there is no kind.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import json
import math
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from barrow.errors import ConfigError

Settings = TypeVar("Settings")


def to_json(settings: Any) -> str:
    """Settings as indented JSON, keys in the order of the fields."""
    return json.dumps(to_dict(settings), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(kind: type[Settings], text: str) -> Settings:
    """Settings of a given kind from JSON; unknown keys and wrong types are errors."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{kind.__name__} is not JSON: {error}") from None
    return from_dict(kind, data)


def to_dict(settings: Any) -> Any:
    """Settings as what JSON can hold."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return {
            field.name: to_dict(getattr(settings, field.name))
            for field in dataclasses.fields(settings)
        }
    if isinstance(settings, enum.Enum):
        return settings.value
    if isinstance(settings, Path):
        return str(settings)
    if isinstance(settings, Mapping):
        return {str(key): to_dict(value) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [to_dict(value) for value in settings]
    if isinstance(settings, float) and not math.isfinite(settings):
        raise ConfigError(f"{settings} cannot be saved as JSON")
    if settings is None or isinstance(settings, bool | int | float | str):
        return settings
    raise ConfigError(f"a setting cannot be a {type(settings).__name__}")


def from_dict(kind: type[Settings], data: Any) -> Settings:
    """Settings of a given kind from what JSON holds."""
    return typing.cast("Settings", _build(kind, data, kind.__name__))


def override(settings: Settings, assignments: Iterable[str]) -> Settings:
    """Apply ``key=value`` assignments; dots lead inwards, as in ``domains.arxiv.epochs=1.5``.

    The value is read as JSON where the field is not a plain string, so ``sizes=[1,2]``,
    ``name=null`` and ``on=true`` do what they look like.
    """
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            raise ConfigError(f"expected key=value, got {assignment!r}")
        settings = _replace(settings, key.split("."), value, key)
    return settings


def _replace(settings: Any, path: Sequence[str], value: str, whole: str) -> Any:
    name, rest = path[0], path[1:]
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        hints = typing.get_type_hints(type(settings))
        if name not in hints:
            raise _unknown(name, list(hints), whole)
        current = getattr(settings, name)
        new = _replace(current, rest, value, whole) if rest else _read(hints[name], value, whole)
        return dataclasses.replace(settings, **{name: new})
    if isinstance(settings, Mapping):
        if name not in settings:
            raise _unknown(name, list(settings), whole)
        kind = type(settings[name])
        new = _replace(settings[name], rest, value, whole) if rest else _read(kind, value, whole)
        return {**settings, name: new}
    inside = whole[: -len(".".join(path)) - 1]
    if settings is None:
        given = f'{inside}={{"{name}": {value}}}'
        raise ConfigError(f"{whole}: {inside} is not set; give it as a whole, as {given}")
    raise ConfigError(f"{whole}: {inside} is a {type(settings).__name__} and has no {name!r}")


def _read(kind: Any, text: str, where: str) -> Any:
    try:
        return _build(kind, json.loads(text), where)
    except (ValueError, ConfigError):
        if _accepts_text(kind):
            return _build(kind, text, where)
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


def _build(kind: Any, data: Any, where: str) -> Any:
    options = _options(kind)
    described = [option for option in options if dataclasses.is_dataclass(option)]
    kinds = {kind: option for option in described for kind in _kinds(option)}
    if len(described) > 1 and kinds and isinstance(data, Mapping):
        return _build_dataclass(_told_apart(described[0], kinds, data, where), data, where)
    if len(options) > 1:
        for option in options:
            try:
                return _build(option, data, where)
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
        return _build_dataclass(kind, data, where)
    if (origin or kind) in (tuple, list) and isinstance(data, list | tuple):
        return _build_sequence(origin or kind, arguments, data, where)
    if (origin or kind) in (dict, Mapping) and isinstance(data, Mapping):
        value_kind = arguments[1] if arguments else Any
        return {key: _build(value_kind, value, f"{where}.{key}") for key, value in data.items()}
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


def _kinds(option: Any) -> tuple[Any, ...]:
    """The values that the field `kind` of a dataclass may have; none without such a field."""
    return typing.get_args(typing.get_type_hints(option).get("kind"))


def _told_apart(first: Any, kinds: Mapping[Any, Any], data: Mapping[str, Any], where: str) -> Any:
    if "kind" not in data:
        return first
    said = data["kind"]
    if isinstance(said, str) and said in kinds:
        return kinds[said]
    raise ConfigError(
        f"{where}.kind: expected one of {list(kinds)}, or no kind for {_name(first)}, got {said!r}"
    )


def _build_dataclass(kind: Any, data: Mapping[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(kind)
    for key in data:
        if key not in hints:
            raise _unknown(key, list(hints), f"{where}.{key}")
    values = {key: _build(hints[key], value, f"{where}.{key}") for key, value in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from None


def _build_sequence(kind: Any, arguments: tuple[Any, ...], data: Any, where: str) -> Any:
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(arguments) != len(data):
            raise ConfigError(f"{where}: expected {len(arguments)} values, got {len(data)}")
        return tuple(
            _build(k, v, f"{where}[{i}]")
            for i, (k, v) in enumerate(zip(arguments, data, strict=True))
        )
    inner = arguments[0] if arguments else Any
    return kind(_build(inner, value, f"{where}[{i}]") for i, value in enumerate(data))


def _unknown(name: str, known: list[str], where: str) -> ConfigError:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
    return ConfigError(f"{where}: no setting {name!r}; {hint}")


def _name(kind: Any) -> str:
    return " or ".join(
        "null" if k is type(None) else getattr(k, "__name__", str(k)) for k in _options(kind)
    )
