"""Where words are: the same words that are hashed (PILE-12)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes
from barrow.corpus.kernels.word_spans import word_spans

MIXED = st.text(
    st.sampled_from("aB9 z.,-'\n\t  éßﬁΩд“—\u00ad\u0301ﬀ𝔘中文字。กำいไทยعربية ½\u200b"),
    max_size=200,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(MIXED, min_size=1, max_size=4))
def test_spans_are_those_of_the_words_that_are_hashed(texts: list[str]) -> None:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    buffer = np.frombuffer(b"".join(data), np.uint8)
    words = word_hashes(buffer, offsets, Scratch())
    spans = word_spans(buffer, offsets, Scratch())
    assert spans.offsets.tolist() == words.offsets.tolist()
    assert len(spans.starts) == len(spans.ends) == len(words.hashes)
    for start, end, value in zip(spans.starts, spans.ends, words.hashes, strict=True):
        piece = buffer[start:end]
        piece.tobytes().decode()
        alone = word_hashes(piece.copy(), np.array([0, len(piece)]), Scratch())
        assert alone.hashes.tolist() == [value]
    assert (spans.starts[1:] >= spans.ends[:-1]).all()


def test_a_span_goes_from_letter_to_letter() -> None:
    text = "«Don't», e\u0301tude\u0301: 中文。x"
    data = np.frombuffer(text.encode(), np.uint8)
    spans = word_spans(data, np.array([0, len(data)]), Scratch())
    found = [data[a:b].tobytes().decode() for a, b in zip(spans.starts, spans.ends, strict=True)]
    assert found == ["Don", "t", "e\u0301tude", "中", "文", "x"]
