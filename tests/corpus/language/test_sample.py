"""What of a text is looked at, against the definition in plain Python."""

from __future__ import annotations

import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.language.sample import sample_words


def windows_of(data: bytes, number: int, size: int) -> list[bytes]:
    if len(data) <= number * size:
        return [data]
    windows = []
    for k in range(number):
        begin = (len(data) - size) * k // max(1, number - 1)
        while begin < len(data) and data[begin] & 0xC0 == 0x80:
            begin += 1
        end = min(len(data), begin + size)
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        windows.append(data[begin:end])
    return windows


def words_of(window: bytes) -> tuple[list[str], int, int]:
    words, letters, seen = [], 0, 0
    for part in re.split(rb"[\t-\r ]+", window):
        seen += len(part)
        text = part.decode()
        if text.isascii():
            inner = text.strip(string.punctuation)
            if not re.fullmatch(r"[A-Za-z][A-Za-z'-]*", inner):
                continue
            if not re.fullmatch(rf"[{re.escape(string.punctuation)}A-Za-z]+", text):
                continue
            words.append(inner.lower())
        else:
            cleaned = re.sub(r"[^A-Za-z'\-\u0080-\U0010ffff]", " ", text)
            words.append(re.sub(r"[A-Z]", lambda match: match[0].lower(), cleaned))
        letters += sum(1 for byte in words[-1].encode() if byte >= 0x80 or chr(byte).isalpha())
    return words, letters, seen


def sampled(texts: list[str], number: int, size: int) -> list[tuple[str, int, int]]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    buffer = np.frombuffer(b"".join(data), np.uint8)
    samples = sample_words(buffer, offsets, Scratch(), num_windows=number, window_size=size)
    return [
        (
            samples.text[samples.offsets[i] : samples.offsets[i + 1]].tobytes().decode(),
            int(samples.num_letters[i]),
            int(samples.num_seen[i]),
        )
        for i in range(len(texts))
    ]


TEXTS = st.text("abZ  \n\té日🙂'-.,(/@:_9\x00\x7f", max_size=200)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(1, 4), st.integers(4, 40))
def test_samples_are_those_of_the_definition(texts: list[str], number: int, size: int) -> None:
    for text, (sample, letters, seen) in zip(texts, sampled(texts, number, size), strict=True):
        expected = [words_of(window) for window in windows_of(text.encode(), number, size)]
        assert sample == "".join(word + " " for words, _, _ in expected for word in words)
        assert letters == sum(part[1] for part in expected)
        assert seen == sum(part[2] for part in expected)


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        ("See https://a.example/b or me@x.org, OK?", "see or ok "),
        ("It's well-known (really).", "it's well-known really "),
        ("x = foo(bar) + 12 a_b end", "x end "),
        ("第3章 東京2020", "第 章 東京     "),
        ("'tis - -- ...", "tis "),
        ("", ""),
    ],
)
def test_examples(text: str, sample: str) -> None:
    ((found, _, _),) = sampled([text], 4, 300)
    assert found == sample


def test_windows_are_at_the_beginning_the_end_and_between() -> None:
    text = "a" * 50 + " " + "b" * 1000 + " " + "c" * 50
    ((sample, letters, seen),) = sampled([text], 3, 20)
    assert sample == f"{'a' * 20} {'b' * 20} {'c' * 20} "
    assert (letters, seen) == (60, 60)
