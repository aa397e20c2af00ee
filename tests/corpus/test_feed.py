"""The compiled reader of XML beside expat: the same calls, or none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus import _feed as feed_module
from barrow.corpus import event_switch
from barrow.corpus.event_switch import EventSwitch
from barrow.corpus.xml_events import BadXml

BASE = (
    "<a x='1' y=\"&lt;&#65;é\"><b>t&amp;ü&#x1F600;&#13; <!-- c - é --> u</b>\n<s>no<b q='2'/></s>"
    "<d r='>'>&quot;&apos;&gt;]<!----></d><n/><q-1.:x  z='' >𝄞</q-1.:x></a>"
).encode()


class Recorder(EventSwitch):
    def __init__(self) -> None:
        self.calls: list[object] = []
        starts = {"a": Recorder._on_start, "b": Recorder._on_start, "s": Recorder._skip}
        starts |= {"d": Recorder._elsewhere, "q-1.:x": Recorder._on_start}
        ends = dict.fromkeys(("a", "b", "n"), Recorder._on_end)
        super().__init__(starts, ends, self.calls.append)

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        self.calls.append((name, attributes))

    def _on_end(self, name: str) -> None:
        self.calls.append((name,))

    def _elsewhere(self, name: str, attributes: dict[str, str]) -> None:
        add = self.calls.append
        self._divert(lambda *what: add(what), lambda what: add([what]), lambda what: add({what}))
        add((name, attributes))


def was_fed(xml: bytes) -> list[object] | None:
    """What was called, None if it gave up; it must have called nothing then."""
    writer = Recorder()
    if feed_module.feed(xml, writer, writer._starts, writer._ends, writer._handlers):
        return writer.calls
    assert not writer.calls
    return None


def by_expat(xml: bytes) -> list[object] | None:
    writer = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_switch, "_feed", None)
        try:
            writer.write(xml)
        except BadXml:
            return None
    return writer.calls


def test_the_same_calls_as_expat() -> None:
    assert was_fed(BASE) == by_expat(BASE)
    assert was_fed(BASE) is not None


@pytest.mark.parametrize(
    "xml",
    [
        *(b"", b"a", b"<", b"<a", b"<a>", b"</a>", b"<a></b>", b"<a/><a/>", b"<a/>x", b" <a/>"),
        *(b"<a x=1/>", b"<a x='1' x='2'/>", b"<a x='<'/>", b"<a x='1'y='2'/>", b"<a x='&y;'/>"),
        *(b"<a>&x;</a>", b"<a>&#0;</a>", b"<a>&#xD800;</a>", b"<a>&#x110000;</a>", b"<a>& </a>"),
        *(b"<a>]]></a>", b"<a>\0</a>", b"<a>\x01</a>", b"<a\0/>", b"<a x='\0'/>", b"<a>&#;</a>"),
        *(b"<a>\xff</a>", b"<a>\xc0\x80</a>", b"<a>\xed\xa0\x80</a>", b"<a>\xef\xbf\xbf</a>"),
        *(b"<a>\xc3", b"<a>\xe2\x82", b"<a>\xf0\x9f\x98", b"<a x='\xf4\x90\x80\x80'/>", b"<a>&#x"),
        *(b"<a><!-- -- --></a>", b"<a><!--->", b"<a><!-- \x02 --></a>", b"<a><!--\xff--></a>"),
        *(b"<1/>", b"<a><!b/></a>", b"<a>&#4294967361;</a>", b"<a>&lt</a>", b"<a x='1' / >"),
    ],
)
def test_gives_up_on_what_is_not_well_formed(xml: bytes) -> None:
    assert was_fed(xml) is None
    assert by_expat(xml) is None or xml == b" <a/>"


def test_gives_up_on_what_it_does_not_know() -> None:
    """These are for expat."""
    for xml in (
        *(
            b"<a><![CDATA[x]]></a>",
            b"<a><?p?></a>",
            b"<a>\r\n</a>",
            b"<a x='1\n'/>",
            b"<a x = '1'/>",
        ),
        *("<é/>".encode(), b"<!DOCTYPE a><a/>", b"<a>" * 300 + b"</a>" * 300),
        b"<a %s/>" % b" ".join(b"x%d='1'" % number for number in range(40)),
    ):
        assert was_fed(xml) is None
        assert by_expat(xml) is not None


def test_errors_of_the_writer_come_out() -> None:
    class Failing(EventSwitch):
        def fail(self, *_: object) -> None:
            raise BadXml("no")

    for xml, starts, ends in (
        (b"<a/>", {"a": Failing.fail}, {}),
        (b"<a/>", {}, {"a": Failing.fail}),
    ):
        with pytest.raises(BadXml, match="no"):
            Failing(starts, ends, print).write(xml)


def test_many_names() -> None:
    """More than the table of names holds."""
    xml = b"<a>" + b"".join(b"<n%d/><b/>" % number for number in range(2000)) * 2 + b"</a>"
    assert was_fed(xml) == by_expat(xml)


PIECES = [b"<", b">", b"</", b"/>", b"&", b";", b"'", b'"', b"=", b"]]>", b"<!--", b"-->", b"--"]
PIECES += [
    b"<b>",
    b"</b>",
    b"<d>",
    b"</d>",
    b"<s>",
    b"</s>",
    b"&#",
    b"x",
    b" ",
    b"\n",
    b"\r",
    b"\0",
]
PIECES += [b"\xc3", b"\xa9", b"\xf0\x9f", b"\xef\xbf\xbe", b"&lt;", b"&#x41;", b" k='v'", b"<n/>"]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_xml(data: st.DataObject) -> None:
    """What it reads, expat reads, and to the same calls."""
    xml = BASE
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(xml)))
        upto = at + data.draw(st.integers(0, 6))
        piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=3))
        xml = xml[:at] + piece + xml[upto:]
    if (calls := was_fed(xml)) is not None:
        assert calls == by_expat(xml)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_scraps(content: bytes) -> None:
    xml = b"<a>%s</a>" % content
    if (calls := was_fed(xml)) is not None:
        assert calls == by_expat(xml)
