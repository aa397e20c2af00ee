"""PILE-6, PILE-9: damaged files give documents and rejects, the same each time, and no error."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.readers import test_jats, test_medline, test_nih_exporter
from tests.corpus.readers.courtlistener import test_reader as test_courtlistener
from tests.corpus.readers.uspto import test_reader as test_uspto
from tests.items import sorted_out, write

from barrow.corpus.readers.courtlistener.reader import CourtListener
from barrow.corpus.readers.jats import Jats
from barrow.corpus.readers.medline import Medline
from barrow.corpus.readers.nih_exporter import NihExporter
from barrow.corpus.readers.reader import Reader
from barrow.corpus.readers.uspto.reader import Uspto

_CITATIONS = test_medline.whole(test_medline.citation(1), test_medline.citation(2))
_BODY = test_nih_exporter.BODY
_TABLE = test_nih_exporter.table(["1", _BODY], ["2", f'"{_BODY}"\n{_BODY}'], ["1", _BODY])
_PATENTS = (test_uspto.GREENBOOK * 2, test_uspto.grant(1) + test_uspto.grant(2))
_OLD_PATENTS = (test_uspto.SGML * 2, gzip.compress(test_uspto.grant()))
_NOTHING = (b"", b"")


@pytest.mark.parametrize(
    ("readers", "names", "seeds", "around"),
    [
        pytest.param(
            (Medline(),),
            ("fuzz.xml",),
            (_CITATIONS, test_medline.TEXT.encode()),
            ((b"PMID- ", b"\n"), (b"<PubmedArticle>", b"</PubmedArticle>"), _NOTHING),
            id="medline",
        ),
        pytest.param(
            (Jats(references=True, abstract_only=True), Jats()),
            ("fuzz.xml",),
            (test_jats.SEED,),
            ((b"<article>", b"</article>"), _NOTHING),
            id="jats",
        ),
        pytest.param(
            (NihExporter(min_characters=1),), ("fuzz.csv",), (_TABLE,), (_NOTHING,), id="nih"
        ),
        pytest.param(
            (Uspto(section="background"), Uspto(section="all")),
            ("fuzz",),
            _PATENTS + _OLD_PATENTS,
            (_NOTHING,),
            id="uspto",
        ),
        pytest.param(
            (CourtListener(),),
            tuple(test_courtlistener.VALID),
            tuple(test_courtlistener.VALID.values()),
            (_NOTHING,),
            id="courtlistener",
        ),
    ],
)
@settings(max_examples=150)
@given(data=st.data())
def test_whatever_the_bytes(
    tmp_path: Path,
    readers: Sequence[Reader],
    names: Sequence[str],
    seeds: Sequence[bytes],
    around: Sequence[tuple[bytes, bytes]],
    data: st.DataObject,
) -> None:
    """A file with bytes changed, cut out and added; or random bytes alone, or between tags."""
    which = data.draw(st.integers(0, len(seeds) - 1))
    before, after = data.draw(st.sampled_from(around))
    changed = bytearray(seeds[which])
    for at, value in data.draw(st.lists(st.tuples(st.integers(0), st.integers(0, 255)))):
        changed[at % len(changed)] = value
    if data.draw(st.booleans()):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(changed))] * 2)))
        del changed[start:end]
    added = data.draw(st.binary(max_size=300))
    if data.draw(st.booleans()):
        changed = bytearray(before + added + after)
    else:
        changed += added
    path = write(tmp_path / names[which % len(names)], bytes(changed))
    for reader in readers:
        first = list(reader.read(path))
        sorted_out(first)
        assert first == list(reader.read(path))
