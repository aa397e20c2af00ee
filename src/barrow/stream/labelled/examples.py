"""Labelled examples: a text or a pair with a class or a number, or words with their tags."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from barrow.stream.labelled.records import Record, read_records

Kind = Literal["classify", "tag", "regress"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Label = str | float | tuple[str, ...]


@dataclass(frozen=True)
class Keys:
    """Keys of a record.

    - `text`: of the text, or of words; `pair`: of a second text, where rows have one.
    - `label`: of the label, or of tags; empty reads none.
    """

    text: str = "text"
    label: str = "label"
    pair: str = "text_pair"


TAG_KEYS = Keys("tokens", "tags")


@dataclass(frozen=True)
class Example:
    """Texts or words, the label if there is one, and its place in the file."""

    place: str
    text: str = ""
    pair: str | None = None
    words: tuple[str, ...] = ()
    label: Label | None = None

    @property
    def content(self) -> str:
        """All its text, which identifies the example."""
        return "\0".join(self.words) if self.words else "\0".join([self.text, self.pair or ""])


def read_examples(
    source: str, kind: Kind, *, keys: Keys | None = None, need_labels: bool = True
) -> Iterator[Example]:
    """The examples of a file or archive (`read_records`); errors name the line.

    Without `need_labels` they may have none.
    """
    if kind not in KINDS:
        raise ValueError(f"the task must be one of {', '.join(KINDS)}, got {kind!r}")
    keys = keys or (TAG_KEYS if kind == "tag" else Keys())
    for record in read_records(source, text_key=keys.text):
        label: Label | None = None
        if keys.label and (need_labels or record.values.get(keys.label) is not None):
            given = _value(record, keys.label, "label")
            label = _LABELS[kind](given, f"{record.place}: ")
        if kind == "tag":
            words = _strings(_value(record, keys.text, "text"), f"{record.place}: ", "word")
            if isinstance(label, tuple) and len(label) != len(words):
                raise ValueError(f"{record.place}: {len(words)} words and {len(label)} tags")
            yield Example(record.place, words=words, label=label)
        else:
            pair = record.values.get(keys.pair) if keys.pair else None
            yield Example(
                record.place,
                _text(_value(record, keys.text, "text"), record.place, keys.text),
                None if pair is None else _text(pair, record.place, keys.pair),
                label=label,
            )


def class_names(labels: Iterable[str]) -> tuple[str, ...]:
    """All labels once: sorted by number if all are integers, else alphabetically.

    O is the first of tags.
    """
    found = set(labels)
    if all(_is_whole(name) for name in found):
        return tuple(sorted(found, key=lambda name: (int(name), name)))
    return tuple(sorted(found, key=lambda name: (name != "O", name)))


def split(
    examples: Sequence[Example], share: float, *, seed: int
) -> tuple[list[Example], list[Example]]:
    """(the rest, about a `share`), by a hash of seed and text: equal texts stay together, and a
    text stays where it is when others come or go.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    rest: list[Example] = []
    taken: list[Example] = []
    for one in examples:
        digest = hashlib.blake2b(
            f"{seed}\0{one.content}".encode("utf-8", "surrogatepass"), digest_size=8
        ).digest()
        (taken if int.from_bytes(digest, "little") < share * 2**64 else rest).append(one)
    return rest, taken


def _value(record: Record, key: str, what: str) -> Any:
    value = record.values.get(key)
    name_it = f"name the key of the {what} (data.keys.{what}=KEY, --{what}-key KEY)"
    if value is None and key in record.values:
        raise ValueError(f"{record.place}: {key!r} is null; leave the row out, or {name_it}")
    if value is None:
        there = ", ".join(map(repr, record.values)) or "nothing"
        raise ValueError(f"{record.place}: no {key!r}, but {there}; {name_it}")
    return value


def _text(value: Any, place: str, key: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{place}: {key!r} must be a string, got {type(value).__name__}")
    if not value.strip():
        raise ValueError(f"{place}: {key!r} is empty")
    _refuse_surrogates(value, place)
    return value


def _refuse_surrogates(value: str, place: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{place}: half of a surrogate pair, which UTF-8 cannot encode") from None


def _class(value: Any, who: str) -> str:
    if isinstance(value, bool | int):
        return str(value)
    if not isinstance(value, str) or not value:
        raise ValueError(
            f"{who}a class must be a string or an integer, got {value!r}"
            + ("; for numbers use --task regress" if isinstance(value, float) else "")
        )
    _refuse_surrogates(value, who.removesuffix(": "))
    return value


def _number(value: Any, who: str) -> float:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not math.isfinite(number):
        raise ValueError(f"{who}the target must be a finite number, got {value!r}")
    return number


def _strings(value: Any, who: str, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{who}expected a list of {what}s, found {type(value).__name__} {value!r}")
    for number, one in enumerate(value):
        if not isinstance(one, str) or not one.strip():
            raise ValueError(f"{who}{what} {number} must be a non-empty string, got {one!r}")
        _refuse_surrogates(one, who.removesuffix(": "))
    return tuple(value)


def _tags(value: Any, who: str) -> tuple[str, ...]:
    return _strings(value, who, "tag")


def _is_whole(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit()


_LABELS: Mapping[Kind, Any] = {"classify": _class, "tag": _tags, "regress": _number}
