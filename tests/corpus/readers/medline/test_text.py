"""Records of the MEDLINE text format."""

from __future__ import annotations

import io

from barrow.corpus.readers.medline.text import is_medline_text, medline_records
from barrow.corpus.readers.reader import Reject


def test_records() -> None:
    data = b"\xef\xbb\xbf\nPMID- 1\nTI  - a\n      b\n\nAU  - x\nAU  - y\nnonsense\n"
    data += b"\nPMID- 2\nTI  -c\n"
    assert list(medline_records(io.BytesIO(data), max_bytes=1000)) == [
        {"PMID": ["1"], "TI": ["a b"], "AU": ["x", "y"]},
        {"PMID": ["2"], "TI": ["c"]},
    ]
    assert list(medline_records(io.BytesIO(b"\n\n"), max_bytes=1000)) == []


def test_what_does_not_fit() -> None:
    data = b"PMID- 1\nTI  - " + b"PMID" * 100_000 + b"\nPMID- 2\n"
    first, second = medline_records(io.BytesIO(data), max_bytes=1000)
    assert isinstance(first, Reject)
    assert first.reason == "too-large"
    assert second == {"PMID": ["2"]}


def test_how_it_begins() -> None:
    assert is_medline_text(b"\n\nPMID- 1")
    assert is_medline_text(b"\xef\xbb\xbfTI  - x")
    assert not is_medline_text(b"Dear all - ")
    assert not is_medline_text(b"<xml")
