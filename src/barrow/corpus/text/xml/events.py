"""XML as a stream of events, in constant memory, from untrusted files.

Python's expat, fed piece by piece. Entity declarations are refused, so nothing expands and nothing
is fetched: no billion laughs, no external entities, no network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

_PIECE = 1 << 16


class Start(NamedTuple):
    """An element begins."""

    name: str
    attributes: dict[str, str]


class End(NamedTuple):
    """An element ends."""

    name: str


class Text(NamedTuple):
    """Characters between tags; a run may come in several pieces."""

    data: str


Event = Start | End | Text


class BadXml(ValueError):
    """The file is not XML that we read; the message says where."""


def xml_events(
    file: BinaryIO, *, max_depth: int = 200, max_token: int = 1 << 27
) -> Iterator[Event]:
    """Events of an XML file. Raises `BadXml` at the first error, after all events before it.

    `max_token` bounds a tag with its attributes, which expat holds as a whole.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = _PIECE
    events: list[Event] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > max_depth:
            raise BadXml(f"nested more than {max_depth} deep at line {parser.CurrentLineNumber}")
        events.append(Start(name, attributes))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        events.append(End(name))

    def refuse(*_: object) -> None:
        raise BadXml(f"declares entities at line {parser.CurrentLineNumber}, which are not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda data: events.append(Text(data))
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    parser.UnparsedEntityDeclHandler = refuse
    waiting = 0
    while True:
        data = file.read(_PIECE)
        problem = _feed(parser.Parse, data, final=not data)
        waiting = 0 if events else waiting + len(data)
        yield from events
        events.clear()
        if problem is not None:
            raise BadXml(problem)
        if waiting > max_token:
            raise BadXml(f"a tag longer than {max_token:,} bytes")
        if not data:
            return


def _feed(parse: Callable[[bytes, bool], object], data: bytes, *, final: bool) -> str | None:
    try:
        parse(data, final)
    except expat.ExpatError as error:
        return str(error)
    except (BadXml, LookupError, ValueError) as error:  # the latter two for declared encodings
        return str(error)
    return None
