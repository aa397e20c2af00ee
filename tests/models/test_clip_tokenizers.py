from __future__ import annotations

from pathlib import Path

import numpy as np

from barrow.models.clip_tokenizers import named_tokenizer
from barrow.stream.pairs import ClipTexts
from barrow.tokens.clip_tokenizer import ClipTokenizer


def test_bytes_need_no_file() -> None:
    """The end is the highest id, where the text tower reads, and stands once in each row."""
    tokenizer = named_tokenizer("bytes")
    assert (tokenizer.vocab_size, tokenizer.start, tokenizer.end) == (514, 512, 513)
    rows = ClipTexts(tokenizer, 8)(["ab", "a much longer text", ""])
    assert rows.shape == (3, 8)
    assert rows.dtype == np.int32
    assert rows[0].tolist()[:1] + rows[0].tolist()[3:] == [512, 513, 0, 0, 0, 0]
    assert rows.argmax(axis=1).tolist() == [3, 7, 1]
    assert ((rows == 513).sum(axis=1) == 1).all()


def test_rows_are_the_tokenizers_own(tmp_path: Path) -> None:
    made = ClipTokenizer([("a", "b"), ("ab", "c</w>")])
    made.save(tmp_path)
    opened = named_tokenizer(str(tmp_path))
    texts = ["abc ab", "c"]
    np.testing.assert_array_equal(ClipTexts(opened, 9)(texts), made.rows(texts, context=9))


def test_the_hash_tells_encoders_apart() -> None:
    merged = ClipTokenizer([("a", "b")])
    hashes = {ClipTexts(t, c).hash for t in (merged, ClipTokenizer(())) for c in (8, 9)}
    assert len(hashes) == 4


def test_bytes_saved_are_opened_again(tmp_path: Path) -> None:
    named_tokenizer("bytes").save(tmp_path)
    assert named_tokenizer(str(tmp_path)).hash == named_tokenizer("bytes").hash
