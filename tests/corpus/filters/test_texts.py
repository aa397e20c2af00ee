from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch


def test_the_same_from_strings_and_from_blocks(tmp_path: Path) -> None:
    strings = ["one two", "", "drei vier fünf"]
    with Writer(tmp_path / "a.jsonl.zst") as writer:
        writer.extend(Document(text, {"k": k}) for k, text in enumerate(strings))
    (block,) = barrow.archive.open(tmp_path / "a.jsonl.zst").blocks()
    ways = [
        Texts.of_block(block, Scratch()),
        Texts.of_strings(strings, [{"k": k} for k in range(3)], Scratch()),
    ]
    for texts in ways:
        assert len(texts) == 3
        assert [texts.text_of(i) for i in range(3)] == strings
        assert [meta["k"] for meta in texts.metas] == [0, 1, 2]
        assert texts.sizes.tolist() == [7, 0, 15]
        assert np.diff(texts.words.offsets).tolist() == [2, 0, 3]
        assert texts.words is texts.words, "computed once"
    assert ways[0].words.hashes.tolist() == ways[1].words.hashes.tolist()


@given(st.lists(st.text(max_size=20), min_size=1, max_size=8), st.data())
@settings(max_examples=100, deadline=None)
def test_some_texts_replaced(strings: list[str], data: st.DataObject) -> None:
    numbers = st.integers(0, len(strings) - 1)
    new = data.draw(st.dictionaries(numbers, st.text(max_size=30), min_size=1))
    texts = Texts.of_strings(strings, [{"k": k} for k in range(len(strings))], Scratch())
    other = texts.replaced(new)
    expected = [new.get(i, text) for i, text in enumerate(strings)]
    assert [other.text_of(i) for i in range(len(other))] == expected
    assert [texts.text_of(i) for i in range(len(texts))] == strings
    assert other.metas is texts.metas
