from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.report.lengths import lengths, median_bin
from barrow.corpus.report.totals import Amount, survey


@given(st.lists(st.integers(0, 1_000_000), min_size=1))
def test_the_middle_document(sizes: list[int]) -> None:
    counts = Counter(size.bit_length() for size in sizes)
    found = {bits: Amount(number) for bits, number in counts.items()}
    assert median_bin(found) == statistics.median_low(sizes).bit_length()


def test_no_document_in_the_middle() -> None:
    with pytest.raises(ValueError, match="no documents"):
        median_bin({})


def test_one_scale_for_all(told_manifest: dict[str, Any], read_page: Callable) -> None:
    made = lengths(survey(told_manifest))
    page = read_page(made)
    rows = page.tables["Documents by length and domain, in numbers"]
    assert rows[0] == ["Domain", "< 64 B", "< 128 B", "< 256 B", "< 512 B", "< 1 KiB"]
    assert rows[1:] == [
        ["Letters", "0", "0", "0", "0", "65"],
        ["Notes", "20", "0", "0", "0", "0"],
        ["All", "20", "0", "0", "0", "65"],
    ]
    labels = [value for tag, key, value in page.attributes if (tag, key) == ("svg", "aria-label")]
    assert labels == [
        "Lengths of All domains: 85 documents, median 512 B – 1 KiB",
        "Lengths of Letters: 65 documents, median 512 B – 1 KiB",
        "Lengths of Notes: 20 documents, median 32–64 B",
    ]
    assert made.count('viewBox="0 0 50 60"') == 3
    assert "32–64 B: 20 documents (23.5%)" in page.text


def test_many_domains_are_folded(told_manifest: dict[str, Any]) -> None:
    domains = told_manifest["splits"]["train"]["domains"]
    domains |= {f"D{n}": domains["Notes"] for n in range(40)}
    assert "<summary>18 more domains</summary>" in lengths(survey(told_manifest))
