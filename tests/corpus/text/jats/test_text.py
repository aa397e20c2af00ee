"""Articles as markdown; whole articles are in the tests of the reader."""

from __future__ import annotations

import pytest

from barrow.corpus.text.jats.text import JatsWriter, inline_text
from barrow.corpus.text.xml.events import BadXml


def test_inline_text() -> None:
    assert inline_text("a &amp;\n b") == "a & b"
    assert inline_text("a <i>b</i><sup>2</sup> &amp; c") == "a b^2 & c"
    with pytest.raises(BadXml):
        inline_text("<i>")


def test_scripts_in_scripts_are_marked_to_a_depth() -> None:
    assert inline_text(f"x{'<sup>a' * 20}{'</sup>' * 20}") == f"x{'^a' * 8}{'a' * 12}"


def test_dropped_elements_and_headings() -> None:
    writer = JatsWriter(dropped=("ack",))
    writer.head("Abstract")
    writer.write(b"<abstract><p>a</p><sec><title>B</title><p>c</p></sec></abstract>")
    writer.write(b"<back><ack><p>d</p></ack><sec><title>E</title><p>f</p></sec></back>")
    assert writer.finish() == "## Abstract\n\na\n\n### B\n\nc\n\n## E\n\nf"
    assert writer.num_missing == 0
