"""Events that are skipped, sent elsewhere and put off."""

from __future__ import annotations

import pytest

from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.switch import EventSwitch


class Writer(EventSwitch):
    def __init__(self) -> None:
        self.out: list[str] = []
        starts = {
            "s": Writer._skip,
            "l": Writer._later,
            "t": Writer._start_t,
            "d": Writer._elsewhere,
        }
        super().__init__(starts, {"t": Writer._end_t, "l": Writer._end_t}, self.out.append)

    def _later(self, name: str, attributes: dict[str, str]) -> None:
        if self._is_replaying:
            self._start_t(name, attributes)
        else:
            self._put_off(name, attributes)

    def _start_t(self, name: str, attributes: dict[str, str]) -> None:
        self.out.append(f"<{name}{attributes.get('a', '')}>")

    def _end_t(self, name: str) -> None:
        self.out.append(f"</{name}>")

    def _elsewhere(self, _name: str, _attributes: dict[str, str]) -> None:
        parts: list[str] = []
        self._divert(
            lambda name, _: parts.append(name),
            parts.append,
            parts.append,
            lambda: self.out.append("".join(parts[::-1])),
        )

    def finish(self) -> str:
        self._finish_put_off()
        return "".join(self.out)


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        ("<x>a<t a='1'>b</t>&lt;</x>", "a<t1>b</t><"),
        ("<x>a<s>b<s>c</s><t/></s>d<s/></x>", "ad"),
        ("<x>a<d>b<t>c</t></d>d</x>", "atctbd"),
        ("<x>a<l a='2'>b<t/><s>e</s><l>c</l></l>d</x>", "ad<l2>b<t></t><l>c</l></l>"),
    ],
)
def test_events(xml: str, expected: str) -> None:
    writer = Writer()
    writer.write(xml.encode())
    assert writer.finish() == expected


def test_bad_xml() -> None:
    for xml in (
        b"",
        b"<a>",
        b"<a>&x;</a>",
        b"<a>\xff</a>",
        b'<!DOCTYPE a [<!ENTITY x "1">]><a>&x;</a>',
    ):
        with pytest.raises(BadXml):
            Writer().write(xml)
