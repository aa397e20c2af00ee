"""Every document is looked at once: what goes, what is mended, what later stages must know."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.corpus.build.decontaminate import Item, ngram_index, save_index
from barrow.corpus.build.examine import Findings, Inputs, Settings, examine
from barrow.corpus.build.facts import Facts, load_facts
from barrow.corpus.filters.filter import Decisions, Described, Filter, Step
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.pii.pii import RedactPii
from barrow.corpus.filters.repair import Repair
from barrow.corpus.filters.texts import Texts
from barrow.engine import File

MAIL = "Please write to someone@example-company.com about the matter of the garden fence."


def meta(k: int, domain: str) -> dict[str, Any]:
    return {"pile_set_name": domain, "id": f"{k:016x}-{k:08x}", "source": "a", "member": str(k)}


def run(
    tmp_path: Path,
    texts: list[tuple[str, str]],
    filters: dict[str, tuple[Step, ...]],
    *,
    index: Path | None = None,
    span: tuple[int, int] | None = None,
    frame_size: int = 1 << 20,
    min_ngrams: int = 1,
) -> tuple[Facts, list[Document], list[Document], dict[str, Any]]:
    source, out = tmp_path / "in.jsonl.zst", tmp_path / "out"
    out.mkdir()
    with Writer(source, frame_size=frame_size) as writer:
        writer.extend(Document(text, meta(k, name)) for k, (text, name) in enumerate(texts))
    start, stop = span or (0, len(texts))
    found = Findings(out, "key")
    inputs = Inputs(File(source, "source"), None if index is None else File(index, "index"))
    examine(Settings(start, stop, filters, min_ngrams), inputs, found)
    changed, rejects = (list(barrow.archive.open(f)) for f in (found.changed, found.rejects))
    return load_facts(found.facts), changed, rejects, json.loads(found.counts.path.read_text())


def test_filters_by_domain(tmp_path: Path) -> None:
    texts = [("short", "A"), ("long enough for anybody", "A"), ("short", "B"), ("short", "C")]
    filters: dict[str, tuple[Step, ...]] = {"": (), "A": (Length(10),), "C": (Length(10),)}
    facts, changed, rejects, counts = run(tmp_path, texts, filters)
    assert facts.kept.tolist() == [False, True, True, False]
    assert facts.domains == ["A", "B", "C"]
    assert facts.domain.tolist() == [0, 0, 1, 2]
    assert facts.size.tolist() == [5, 23, 5, 5]
    assert facts.identity[:, 0].tolist() == [0, 1, 2, 3]
    assert facts.content.any(axis=1).tolist() == facts.kept.tolist(), "the others need no hash"
    assert facts.bands.any(axis=1).tolist() == facts.kept.tolist()
    assert changed == []
    assert [r.meta["id"] for r in rejects] == [meta(0, "")["id"], meta(3, "")["id"]]
    assert counts["A"] == {
        "documents": 2,
        "bytes": 28,
        "kept": 1,
        "kept_bytes": 23,
        "rejects.too-few-bytes": 1,
    }


def test_mended_texts_are_judged_as_mended(tmp_path: Path) -> None:
    crlf = "first line\r\nsecond line of the text\r\n"
    texts = [(crlf, "A"), ("first line\nsecond line of the text\n", "A"), (MAIL, "A"), ("ok", "A")]
    filters: dict[str, tuple[Step, ...]] = {"": (Repair(), RedactPii(), Length(5))}
    facts, changed, rejects, counts = run(tmp_path, texts, filters)
    assert facts.changed.tolist() == [True, False, True, False]
    assert facts.kept.tolist() == [True, True, True, False]
    assert [d.text for d in changed] == [
        texts[1][0],
        MAIL.replace("someone@example-company.com", "<EMAIL>"),
    ]
    assert changed[1].meta == meta(2, "A")
    assert facts.size[0] == len(changed[0].text)
    assert (facts.content[0] == facts.content[1]).all()
    assert (facts.bands[0] == facts.bands[1]).all()
    assert counts["A"]["found.email"] == 1
    assert counts["A"]["changed"] == 2
    assert [r.meta["reason"] for r in rejects] == ["too-few-bytes"]


def test_the_tuple_is_the_order(tmp_path: Path) -> None:
    """A filter judges what the rewriters before it left; what it rejects is not rewritten."""
    texts = [(f"{MAIL}\r\n", "A"), ("ok\r\n", "A"), (MAIL, "B")]
    long = Length(max_bytes=len(MAIL) - 1)
    filters: dict[str, tuple[Step, ...]] = {
        "": (Length(5), RedactPii(), long, Repair(), Length(len(MAIL))),
        "B": (long, RedactPii()),
    }
    facts, changed, rejects, counts = run(tmp_path, texts, filters)
    assert [r.meta["reason"] for r in rejects] == ["too-few-bytes"] * 2 + ["too-many-bytes"]
    assert [r.text for r in rejects] == [
        MAIL.replace("someone@example-company.com", "<EMAIL>") + "\n",
        "ok\r\n",
        MAIL,
    ]
    assert changed == []
    assert facts.changed.tolist() == [True, False, False]
    assert counts["A"]["found.email"] == 1
    assert "found.email" not in counts["B"]
    assert counts["A"]["found.line-ends"] == 1


@dataclass(frozen=True)
class Describing(Filter):
    """Finds out the language and the score of a text that says them."""

    reasons = ("never",)

    def decide(self, texts: Texts) -> Decisions:
        return Decisions.keep_all(len(texts))

    def cause(self, reason: str, value: float) -> str:
        raise NotImplementedError

    def describe(self, texts: Texts) -> Described:
        said = [texts.text_of(i).split() for i in range(len(texts))]
        languages = np.array([words[0] for words in said])
        return Described(languages, np.array([float(w[1]) for w in said], np.float32))


def test_any_filter_may_describe(tmp_path: Path) -> None:
    texts = [("de 0.5", "A"), ("fr 0.25", "A"), ("xx 1", "B")]
    facts, *_ = run(tmp_path, texts, {"": (Describing(),), "B": ()})
    named = [facts.languages[k] for k in facts.language]
    assert named == ["de", "fr", ""]
    assert facts.quality.tolist() == [0.5, 0.25, 0.0]


SEEN: list[list[str]] = []


@dataclass(frozen=True)
class Noting(Filter):
    """Notes the texts that it is asked about, and rejects those with a word."""

    word: str

    reasons = ("has-the-word",)

    def decide(self, texts: Texts) -> Decisions:
        SEEN.append([texts.text_of(i) for i in range(len(texts))])
        decisions = Decisions.keep_all(len(texts))
        found = np.array([self.word in text for text in SEEN[-1]])
        decisions.reject(1, found, np.array([len(text) for text in SEEN[-1]]))
        return decisions

    def cause(self, reason: str, value: float) -> str:
        return f"{self.word} in {value:.0f} characters"


def test_filters_see_only_what_is_left(tmp_path: Path) -> None:
    """A text that was rejected costs nothing more, and the first reason counts."""
    SEEN.clear()
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    texts = [(f"{word} " * (9 if k < 6 else 1), "AB"[k // 6]) for k, word in enumerate(words)]
    steps: dict[str, tuple[Step, ...]] = {"": (Noting("o"), Noting("e"), Noting("i")), "B": ()}
    facts, _, rejects, _ = run(tmp_path, texts, steps)
    assert [[text.split()[0] for text in seen] for seen in SEEN] == [
        words,  # most of them are concerned, so nothing is copied
        ["three", "five", "six"],
        ["six"],
    ]
    assert facts.kept.tolist() == [False] * 6 + [True] * 2
    causes = [reject.meta["cause"] for reject in rejects]
    assert causes == [
        "o in 36 characters",
        "o in 36 characters",
        "e in 54 characters",
        "o in 45 characters",
        "e in 45 characters",
        "i in 36 characters",
    ]


def test_a_text_of_which_nothing_is_left(tmp_path: Path) -> None:
    facts, changed, rejects, _ = run(tmp_path, [("\ufeff\x01", "A")], {"": (Repair(),)})
    assert facts.kept.tolist() == [False]
    assert changed == []
    assert [r.meta["reason"] for r in rejects] == ["empty"]


def test_evaluation_data_goes(tmp_path: Path) -> None:
    leak = " ".join(f"w{k}" for k in range(20))
    save_index(ngram_index([Item("quiz", 4, leak)]), tmp_path / "index")
    texts = [("harmless", "A"), (f"so {leak} it was", "A"), (f"{leak}\r\n", "A")]
    filters: dict[str, tuple[Step, ...]] = {"": (Repair(),)}
    facts, _, rejects, counts = run(tmp_path, texts, filters, index=tmp_path / "index")
    assert facts.kept.tolist() == [True, False, False]
    assert rejects[0].meta["cause"] == "8 times 13 words in a row of quiz, item 4"
    assert counts["A"]["matches.quiz"] == 2, "a mended text is counted once"


@pytest.mark.parametrize(("min_ngrams", "kept"), [(7, False), (8, False), (9, True)])
def test_as_many_ngrams_as_a_document_may_not_have(
    tmp_path: Path, min_ngrams: int, kept: bool
) -> None:
    """The document has eight: 20 words of the item in a row."""
    leak = " ".join(f"w{k}" for k in range(20))
    save_index(ngram_index([Item("quiz", 4, leak)]), tmp_path / "index")
    texts = [(f"so {leak} it was", "A")]
    facts, _, rejects, counts = run(
        tmp_path, texts, {"": ()}, index=tmp_path / "index", min_ngrams=min_ngrams
    )
    assert facts.kept.tolist() == [kept]
    assert len(rejects) == counts["A"].get("matches.quiz", 0) == (not kept)


@pytest.mark.parametrize("frame_size", [50, 1 << 20])
def test_parts_and_frames_change_nothing(tmp_path: Path, frame_size: int) -> None:
    texts = [
        (f"{k} " * (k % 7 + 1) + ("\r\n" if k % 3 else "") + MAIL, "AB"[k % 2]) for k in range(40)
    ]
    filters: dict[str, tuple[Step, ...]] = {"": (Repair(), RedactPii())}
    for folder in ("whole", "part"):
        (tmp_path / folder).mkdir()
    whole, *_ = run(tmp_path / "whole", texts, filters)
    part, changed, _, _ = run(
        tmp_path / "part", texts, filters, span=(13, 31), frame_size=frame_size
    )
    assert part.content.tolist() == whole.content[13:31].tolist()
    assert part.bands.tolist() == whole.bands[13:31].tolist()
    assert len(changed) == 18
