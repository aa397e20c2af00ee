"""How a text looks after a passage was cut (PILE-12)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.passages.cuts import cut_runs, join_windows
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_spans import word_spans


def cut(text: str, *runs: tuple[int, int]) -> tuple[str, list[str]]:
    data = text.encode()
    spans = word_spans(np.frombuffer(data, np.uint8), np.array([0, len(data)]), Scratch())
    rest, passages = cut_runs(data, spans.starts, spans.ends, runs)
    return rest.decode(), [passage.decode() for passage in passages]


@pytest.mark.parametrize(
    ("text", "run", "rest", "passage"),
    [
        ("a b c d e", (1, 3), "a\n\nd e", "b c"),
        ("a b c d e", (0, 3), "d e", "a b c"),
        ("a b c d e", (3, 5), "a b c", "d e"),
        ("a b c", (0, 3), "", "a b c"),
        ('He said. "Once upon." (Then he', (2, 4), "He said.\n\n(Then he", '"Once upon."'),
        ("pre-fix here", (1, 2), "pre-\n\nhere", "fix"),
        ("one,two,three", (1, 2), "one,\n\nthree", "two,"),
        ("if x:\n    a = b\n\n    return c\n", (2, 4), "if x:\n\n    return c\n", "a = b"),
        ("«a b» c", (0, 2), "c", "«a b»"),
        ("x  a b .", (1, 3), "x\n\n.", "a b"),
        ("x a b.", (1, 3), "x", "a b."),
        ("前文。重复。后文", (2, 4), "前文。\n\n后文", "重复。"),
        ("e\u0301 e\u0301 e\u0301", (1, 2), "e\u0301\n\ne\u0301", "e\u0301"),
        ("\r\na\r\nb\r\n c\r\n", (1, 2), "\r\na\n\n c\r\n", "b"),
    ],
)
def test_marks_go_with_their_words(
    text: str, run: tuple[int, int], rest: str, passage: str
) -> None:
    assert cut(text, run) == (rest, [passage])


@settings(max_examples=200, deadline=None)
@given(
    st.text("ab .,\n\t「」é中\u0301", max_size=80),
    st.lists(st.integers(0, 40), unique=True).map(sorted),
)
def test_words_that_are_not_cut_stay_in_order(text: str, edges: list[int]) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    spans = word_spans(data, np.array([0, len(data)]), Scratch())
    words = [data[a:b].tobytes().decode() for a, b in zip(spans.starts, spans.ends, strict=True)]
    edges = [edge for edge in edges if edge <= len(words)]
    runs = list(zip(edges[::2], edges[1::2], strict=False))
    rest, passages = cut(text, *runs)
    cut_words = [word for start, stop in runs for word in words[start:stop]]
    gone = {k for start, stop in runs for k in range(start, stop)}
    kept = [word for k, word in enumerate(words) if k not in gone]
    one = re.sub(r"\s", "", rest) + "".join(re.sub(r"\s", "", p) for p in passages)
    assert sorted(one) == sorted(re.sub(r"\s", "", text)), "nothing but white space is lost"
    left = np.frombuffer(rest.encode(), np.uint8)
    after = word_spans(left, np.array([0, len(left)]), Scratch())
    assert [
        left[a:b].tobytes().decode() for a, b in zip(after.starts, after.ends, strict=True)
    ] == kept
    assert len(passages) == len(runs)
    if not runs:
        assert rest == text
    assert len(cut_words) + len(kept) == len(words)


def test_windows_that_overlap_or_touch_are_one_run() -> None:
    document = np.array([0, 0, 0, 0, 2, 3, 3])
    start = np.array([0, 3, 8, 14, 14, 0, 6])
    runs = join_windows(document, start, 5)
    assert runs.document.tolist() == [0, 0, 2, 3, 3]
    assert runs.start.tolist() == [0, 14, 14, 0, 6]
    assert runs.stop.tolist() == [13, 19, 19, 5, 11]
    assert runs.first.tolist() == [0, 3, 4, 5, 6]
    assert runs.last.tolist() == [3, 4, 5, 6, 7]
