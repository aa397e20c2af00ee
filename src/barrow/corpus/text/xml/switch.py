"""XML events sent to the methods of a writer: now, later, or not at all.

Text is written without a call of Python code. On the parts of 44 journal articles that are read,
expat with empty handlers took 34 ms; building trees, not yet visited, took 41 ms (ElementTree) and
48 ms (lxml).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.parsers import expat

from barrow.corpus.text.xml.events import BadXml

Attributes = dict[str, str]
OnStart = Callable[[str, Attributes], object]
OnEnd = Callable[[str], object]
OnText = Callable[[str], object]
Handlers = tuple[OnStart, OnEnd, OnText]


class EventSwitch:
    """Calls ``starts[name](self, name, attributes)`` and ``ends[name](self, name)`` for tags.

    A method may have the element whose start it was called for skipped, sent elsewhere, or put off.
    """

    def __init__(
        self,
        starts: dict[str, Callable[[Any, str, Attributes], None]],
        ends: dict[str, Callable[[Any, str], None]],
        on_text: OnText,
    ) -> None:
        self._starts, self._ends = starts, ends
        self._usual: Handlers = (self._start, self._end, on_text)
        self._skipping: Handlers = (self._deeper, self._shallower, _ignore)
        self._handlers: Handlers = self._usual
        self._parser: expat.XMLParserType | None = None
        self._num_open = 0  # elements of what is skipped, sent elsewhere or put off
        self._put_off_events: list[tuple[str, Attributes | None, str]] = []
        self._is_replaying = False

    def write(self, xml: bytes) -> None:
        """Add an element. Raises `BadXml` where it is not well-formed.

        Without a DOCTYPE, which precedes all elements, no entity is declared.
        """
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.buffer_size = max(1, min(len(xml), 1 << 16))
        self._parser.EntityDeclHandler = _refuse
        self._handle(self._usual)
        try:
            self._parser.Parse(xml, True)
        except (expat.ExpatError, BadXml) as error:
            raise BadXml(str(error)) from None
        finally:
            self._parser = None

    def _handle(self, handlers: Handlers) -> None:
        self._handlers = handlers
        if self._parser is not None and not self._is_replaying:
            self._parser.StartElementHandler = handlers[0]
            self._parser.EndElementHandler = handlers[1]
            self._parser.CharacterDataHandler = handlers[2]

    def _start(self, name: str, attributes: Attributes) -> None:
        # Most tags change nothing.
        if (action := self._starts.get(name)) is not None:
            action(self, name, attributes)

    def _end(self, name: str) -> None:
        if (action := self._ends.get(name)) is not None:
            action(self, name)

    def _divert(
        self,
        on_start: OnStart | None,
        on_end: OnEnd | None,
        on_text: OnText,
        on_finish: Callable[[], None] | None = None,
    ) -> None:
        """Send the contents of the element that has just begun elsewhere."""
        self._num_open = 1

        def start(name: str, attributes: Attributes) -> None:
            self._num_open += 1
            if on_start is not None:
                on_start(name, attributes)

        def end(name: str) -> None:
            self._num_open -= 1
            if self._num_open:
                if on_end is not None:
                    on_end(name)
                return
            self._handle(self._usual)
            if on_finish is not None:
                on_finish()

        self._handle((start, end, on_text))

    def _hand_over(self, on_start: OnStart, on_end: OnEnd, on_text: OnText) -> None:
        """Send all that follows elsewhere, until the receiver calls `_take_back`."""
        self._handle((on_start, on_end, on_text))

    def _take_back(self) -> None:
        self._handle(self._usual)

    def _skip(self, _name: str, _attributes: Attributes) -> None:
        self._num_open = 1
        self._handle(self._skipping)

    def _deeper(self, _name: str, _attributes: Attributes) -> None:
        self._num_open += 1

    def _shallower(self, _name: str) -> None:
        self._num_open -= 1
        if not self._num_open:
            self._handle(self._usual)

    def _put_off(self, name: str, attributes: Attributes) -> None:
        """Keep the element that has just begun until `_finish_put_off`."""
        events = self._put_off_events
        events.append((name, attributes, ""))
        self._divert(
            lambda name, attributes: events.append((name, attributes, "")),
            lambda name: events.append((name, None, "")),
            lambda text: events.append(("", None, text)),
            lambda: events.append((name, None, "")),
        )

    def _finish_put_off(self) -> None:
        """Process the events that were put off. They cannot be put off again."""
        if not self._put_off_events or self._is_replaying:
            return
        self._is_replaying = True
        for name, attributes, text in self._put_off_events:
            if not name:
                self._handlers[2](text)
            elif attributes is None:
                self._handlers[1](name)
            else:
                self._handlers[0](name, attributes)
        self._put_off_events.clear()
        self._is_replaying = False


def _ignore(_text: str) -> None:
    return None


def _refuse(*_: object) -> None:
    raise BadXml("declares entities, which are not read")
