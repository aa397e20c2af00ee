"""Repeated passages, found and cut by tasks over parts (PILE-12)."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import barrow.archive
from barrow.archive import Document, Writer
from barrow.archive.document import name_of
from barrow.archive.shard import shard_lines
from barrow.corpus.build.examine import Findings, Inputs, Settings, examine
from barrow.corpus.build.facts import load_facts, save_facts
from barrow.corpus.build.parts import Examined, Part
from barrow.corpus.dedup.numbering import Removals
from barrow.corpus.dedup.passages import stages as passages_module
from barrow.corpus.dedup.passages.stages import Cut, cut_repeated
from barrow.corpus.dedup.settings import Deduplication, Lines, Passages
from barrow.engine import Engine, File, Stages, Store

SIZE = 6
BREAK = "\n\n"


def name(text: str) -> str:
    """An id that depends on the text alone."""
    return f"{random.Random(text).getrandbits(64):016x}-{0:08x}"


def examined(folder: Path, texts: Sequence[str]) -> Examined:
    """A part that went through the second stage."""
    folder.mkdir(parents=True)
    with Writer(folder / "documents.jsonl.zst") as writer:
        for text in texts:
            writer.add(Document(text, {"pile_set_name": "A", "id": name(text)}))
    documents, found = File(folder / "documents.jsonl.zst", str(folder)), Findings(folder, "key")
    examine(Settings(0, len(texts), {"": ()}), Inputs(documents), found)
    return Examined.of(Part(documents, 0, len(texts), 1), found.facts, found.changed)


def cut(
    folder: Path,
    parts: Sequence[Sequence[str]],
    known: Sequence[Sequence[str]] = (),
    **options: Any,
) -> Cut:
    return cut_parts(
        folder,
        [examined(folder / f"part{k}", texts) for k, texts in enumerate(parts) if texts],
        [examined(folder / f"known{k}", texts) for k, texts in enumerate(known)],
        **options,
    )


def cut_parts(
    folder: Path, own: list[Examined], known: Sequence[Examined] = (), **options: Any
) -> Cut:
    passages: Passages | Lines
    if "unit" in options:
        passages = Lines(**{"min_rest": 1} | options)
    else:
        passages = Passages(**{"min_words": SIZE, "min_rest": 1} | options)
    with Stages(Store(folder / "tasks"), Engine(num_workers=0)) as stages:
        return cut_repeated(own, known, Removals(), Deduplication(), passages, stages)


def texts_after(result: Cut) -> list[list[str | None]]:
    """The texts of every part as the next stage will see them; none where the document goes."""
    found: list[list[str | None]] = []
    for part in result.own:
        facts = load_facts(part.files.facts)
        assert part.files.changed is not None
        new = iter(barrow.archive.open(part.files.changed))
        texts: list[str | None] = []
        for old, kept, changed in zip(
            barrow.archive.open(part.part.file), facts.kept, facts.changed, strict=True
        ):
            texts.append((next(new) if changed else old).text if kept else None)
        assert next(new, None) is None
        sizes = [len(text.encode()) for text in texts if text is not None]
        assert facts.size[facts.kept].tolist() == sizes
        found.append(texts)
    return found


def records(result: Cut) -> list[Document]:
    return [document for one in result.results for document in barrow.archive.open(one.rejects)]


def kept_words(documents: Sequence[str], size: int) -> dict[str, list[list[str]]]:
    """The definition, the slow way: what is left of every document, in pieces."""
    order = sorted(documents, key=lambda text: (-len(text.encode()), name(text)))
    owner: dict[tuple[str, ...], tuple[int, int]] = {}
    for rank, text in enumerate(order):
        words = text.split()
        for start in range(len(words) - size + 1):
            owner.setdefault(tuple(words[start : start + size]), (rank, start))
    left = {}
    for rank, text in enumerate(order):
        words = text.split()
        goes = [False] * len(words)
        for start in range(len(words) - size + 1):
            at_rank, at = owner[tuple(words[start : start + size])]
            if at_rank != rank or start >= at + size:
                goes[start : start + size] = [True] * size
        pieces: list[list[str]] = [[]]
        for word, gone in zip(words, goes, strict=True):
            if gone and pieces[-1]:
                pieces.append([])
            elif not gone:
                pieces[-1].append(word)
        left[text] = [piece for piece in pieces if piece]
    return left


DOCUMENT = st.one_of(
    st.lists(st.sampled_from("ab"), max_size=40),
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=40),
    st.builds(
        lambda unit, times, end: unit * times + end,
        st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9),
        st.integers(0, 8),
        st.lists(st.sampled_from("abc"), max_size=3),
    ),
    st.integers(0, 30).flatmap(
        lambda start: st.builds(
            lambda before, after: [*before, *map(str, range(start, start + 20)), *after],
            st.lists(st.sampled_from("abc"), max_size=12),
            st.lists(st.sampled_from("abc"), max_size=12),
        )
    ),
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(DOCUMENT.filter(bool).map(" ".join), max_size=8, unique=True),
    st.lists(st.integers(0, 2), min_size=8, max_size=8),
    st.integers(2, 9),
)
def test_what_is_left_is_what_the_definition_says(
    tmp_path_factory: pytest.TempPathFactory, documents: list[str], where: list[int], size: int
) -> None:
    """Whatever the order, and however the documents are spread over parts."""
    tmp_path = tmp_path_factory.mktemp("passages")
    parts = [
        [text for text, k in zip(documents, where, strict=False) if k == part] for part in range(3)
    ]
    result = cut(tmp_path, parts, min_words=size)
    expected = kept_words(documents, size)
    for texts, after in zip([part for part in parts if part], texts_after(result), strict=True):
        for text, found in zip(texts, after, strict=True):
            pieces = expected[text]
            if not pieces:
                assert found is None, "nothing is left"
            elif sum(map(len, pieces)) == len(text.split()):
                assert found == text
            else:
                assert found == BREAK.join(map(" ".join, pieces))
    for record in records(result):
        start, stop = record.meta["words"]
        assert stop - start >= size
        assert len(record.text.split()) == stop - start
        assert record.meta["reason"] == "repeated-passage"


def fresh(rng: random.Random, size: int) -> list[str]:
    return [f"{rng.choice(['Ab', 'c', 'éf'])}{rng.randrange(10**9)}" for _ in range(size)]


@pytest.mark.parametrize("size", [10, 100])
def test_planted_passages_stay_once_and_are_cut_everywhere_else(tmp_path: Path, size: int) -> None:
    rng = random.Random(size)
    passages = [fresh(rng, rng.randint(size, 3 * size)) for _ in range(8)]
    passages[0], passages[1] = passages[0][:size], passages[1][:size]
    short = fresh(rng, size - 1)
    documents = []
    for _ in range(30):
        words = fresh(rng, rng.randint(1, 50))
        for passage in rng.choices([*passages, short], k=2):
            words += [*passage, *fresh(rng, rng.randint(1, 50))]
        documents.append(" ".join(words))
    documents += [" ".join(passage) for passage in passages] + [" ".join(short)]
    result = cut(tmp_path, [documents[:10], documents[10:20], documents[20:]], min_words=size)
    after = [text for part in texts_after(result) for text in part if text is not None]
    before = [" ".join(passage) for passage in passages]
    for passage in before:
        assert sum(text.count(passage) for text in documents) > 1
        assert sum(text.count(passage) for text in after) == 1
    assert sum(t.count(" ".join(short)) for t in after) == sum(
        t.count(" ".join(short)) for t in documents
    )
    owners = {name(text): text for text in documents}
    total = 0
    for record in records(result):
        total += 1
        (passage,) = [p for p in before if record.text.startswith(p[:1000])]
        (kept_in,) = record.meta["kept_in"]
        assert passage in owners[kept_in]
        start, stop = record.meta["words"]
        assert owners[record.meta["id"]].split()[start:stop] == passage.split()
        assert record.meta["cause"].startswith(f"{stop - start} words from word {start} on stay in")
    assert counts_of(result)["passages"] == total > 20
    unique = {word for text in documents for word in text.split()}
    assert {word for text in after for word in text.split()} == unique, "no word is lost"


def counts_of(result: Cut) -> dict[str, int]:
    total = Counter[str]()
    for one in result.results:
        for counts in json.loads(one.counts.path.read_text()).values():
            total.update(counts)
    return dict(total)


def test_a_finished_corpus_keeps_its_passages(tmp_path: Path) -> None:
    rng = random.Random(2)
    passage, rest = fresh(rng, 20), fresh(rng, 100)
    known = " ".join([*passage, "end"])
    result = cut(tmp_path, [[" ".join([*rest, *passage])]], [[known, f"{known} again"]])
    assert texts_after(result) == [[" ".join(rest)]]
    (record,) = records(result)
    assert record.meta["kept_in"] == [name(f"{known} again")], "the longer of the two"


def test_texts_that_rewriters_made_anew_are_compared_and_passed_on(tmp_path: Path) -> None:
    rng = random.Random(3)
    passage, one, two = (" ".join(fresh(rng, 10)) for _ in range(3))
    texts = [f"{one} x {passage}", "to be mended", two, "mended but without passages"]
    part = examined(tmp_path / "part", texts)
    facts = load_facts(part.files.facts)
    assert part.files.changed is not None
    part.files.changed.path.unlink()
    with Writer(part.files.changed) as writer:
        for row, text in ((1, f"{passage} {two} y and more"), (3, "other words")):
            facts.changed[row] = True
            facts.size[row] = len(text.encode())
            meta = {"pile_set_name": "A", "id": name(texts[row]), "decisions": {"read": "keep"}}
            writer.add(Document(text, meta))
    save_facts(facts, part.files.facts)
    result = cut_parts(tmp_path, [part])
    (after,) = texts_after(result)
    assert after == [f"{one} x", f"{passage} {two} y and more", None, "other words"]
    assert result.own[0].files.changed is not None
    lines = list(shard_lines(result.own[0].files.changed))
    assert len(lines) == 3


def test_a_scrap_goes_with_the_passage_unless_it_is_one(tmp_path: Path) -> None:
    rng = random.Random(4)
    passage, other = " ".join(fresh(rng, 10)), " ".join(fresh(rng, 6))
    documents = [
        f"{passage} " + " ".join(fresh(rng, 200)),
        f"{passage} scrap",
        f"{other} {passage}",
        f"the end {other}",
    ]
    result = cut(tmp_path, [documents], min_rest=300)
    (after,) = texts_after(result)
    assert after == [documents[0], None, other, None]
    counts = counts_of(result)
    assert (counts["whole"], counts["documents"], counts["passages"]) == (2, 1, 3)
    assert counts["bytes"] == sum(map(len, (d.encode() for d in documents))) - sum(
        len(text.encode()) for text in after if text
    )
    assert [d.meta["whole"] for d in records(result)] == [True, False, True]


def test_facts_are_those_of_the_text_that_is_left(tmp_path: Path) -> None:
    rng = random.Random(5)
    passage, one, two = (" ".join(fresh(rng, 30)) for _ in range(3))
    result = cut(tmp_path / "a", [[f"{one} {passage} more", f"{passage} {two}"]])
    after = load_facts(result.own[0].files.facts)
    alone = load_facts(examined(tmp_path / "b", [two]).files.facts)
    assert after.content[1].tolist() == alone.content[0].tolist()
    assert after.bands[1].tolist() == alone.bands[0].tolist()
    assert name_of(after.identity[1]) == name(f"{passage} {two}")


def test_many_tasks_share_the_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(6)
    passages = [fresh(rng, 20) for _ in range(20)]
    documents = [" ".join(fresh(rng, 9) + rng.choice(passages) + fresh(rng, 9)) for _ in range(60)]
    parts = [documents[k::5] for k in range(5)]
    one = texts_after(cut(tmp_path / "one", parts))
    monkeypatch.setattr(passages_module, "_TASK_HASHES", 10)
    assert texts_after(cut(tmp_path / "many", parts)) == one


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("word " * 300_000, "word " * 5 + "word"),
        ("one two three four five six seven " * 40_000, "one two three four five six seven"),
        ("a b c d " * 60_000, "a b c d a b c d"),
        ("中" * 300_000, "中" * 6),
        ("中文字" * 100_000, "中文字" * 2),
        ("ab" * 300_000, ""),
        ("... " * 300_000, ""),
        ("", ""),
    ],
)
def test_a_long_text_that_repeats_itself(tmp_path: Path, text: str, kept: str) -> None:
    """What has a period stays for as many of them as a passage takes, once, in linear time."""
    texts = [text or " ", f"{text} another end"]
    (after,) = texts_after(cut(tmp_path, [texts]))
    if kept:
        assert after == [None, f"{kept}{BREAK}another end"]
    else:
        assert after == texts


# Remove all, and other units ----------------------------------------------------------------------


def left_without(
    rank: Sequence[Sequence[str]], size: int, keep: str
) -> dict[tuple[str, ...], list[list[str]]]:
    """The definition for any units, the slow way: the pieces that are left of every document, of
    documents in the order of preference.
    """
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, units in enumerate(rank):
        for start in range(len(units) - size + 1):
            places.setdefault(tuple(units[start : start + size]), []).append((number, start))
    goes = [[False] * len(units) for units in rank]
    for found in places.values():
        for number, start in found:
            at_number, at = found[0]
            repeated = len(found) > 1
            if keep == "one":
                repeated = number != at_number or start >= at + size
            if repeated:
                goes[number][start : start + size] = [True] * size
    left: dict[tuple[str, ...], list[list[str]]] = {}
    for units, gone in zip(rank, goes, strict=True):
        pieces: list[list[str]] = [[]]
        for unit, is_gone in zip(units, gone, strict=True):
            if is_gone and pieces[-1]:
                pieces.append([])
            elif not is_gone:
                pieces[-1].append(unit)
        left[tuple(units)] = [piece for piece in pieces if piece]
    return left


UNITS = ["One is here.", "Two is there!", "x", "Three  was, by far.", "四 is a number.", "é é."]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(UNITS), min_size=1, max_size=12), max_size=6, unique_by=tuple
    ),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
    st.integers(1, 4),
    st.sampled_from(["line", "sentence", "paragraph"]),
    st.sampled_from(["one", "none"]),
)
def test_lines_that_are_left_are_what_the_definition_says(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[list[str]],
    where: list[int],
    size: int,
    unit: str,
    keep: str,
) -> None:
    """Whatever the order, and however the documents are spread over parts."""
    tmp_path = tmp_path_factory.mktemp("lines")
    between = {"line": "\n", "sentence": "\n", "paragraph": "\n\n"}[unit]
    texts = {between.join(units): units for units in documents}
    parts = [
        [text for text, k in zip(texts, where, strict=False) if k == part] for part in range(3)
    ]
    # Ids and the order of preference are those of the texts as they are written.
    rank = [
        text.split(between) for text in sorted(texts, key=lambda t: (-len(t.encode()), name(t)))
    ]
    expected = left_without(rank, size, keep)
    result = cut(tmp_path, parts, unit=unit, span=size, keep=keep)
    for some, after in zip([part for part in parts if part], texts_after(result), strict=True):
        for text, found in zip(some, after, strict=True):
            rest = [unit for piece in expected[tuple(texts[text])] for unit in piece]
            assert found == (between.join(rest) if rest else None)
    for record in records(result):
        start, stop = record.meta[f"{unit}s"]
        assert stop - start >= size
        assert record.meta["reason"] == "repeated-lines"
        assert bool(record.meta["kept_in"]) == (keep == "one")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(DOCUMENT.filter(bool).map(" ".join), max_size=6, unique=True),
    st.lists(st.integers(0, 1), min_size=6, max_size=6),
    st.integers(2, 6),
)
def test_with_none_kept_every_window_that_occurs_twice_is_cut(
    tmp_path_factory: pytest.TempPathFactory, documents: list[str], where: list[int], size: int
) -> None:
    """Lee et al. (2022): all occurrences go, also those that overlap."""
    tmp_path = tmp_path_factory.mktemp("none")
    parts = [
        [text for text, k in zip(documents, where, strict=False) if k == part] for part in range(2)
    ]
    expected = left_without([text.split() for text in documents], size, "none")
    result = cut(tmp_path, parts, min_words=size, keep="none")
    for texts, after in zip([part for part in parts if part], texts_after(result), strict=True):
        for text, found in zip(texts, after, strict=True):
            pieces = expected[tuple(text.split())]
            assert found == (BREAK.join(map(" ".join, pieces)) if pieces else None)
    for record in records(result):
        assert record.meta["kept_in"] == []
        assert record.meta["cause"].split(";")[0].endswith(" on are repeated")


def test_none_is_kept_beside_a_finished_corpus_either(tmp_path: Path) -> None:
    known = "a b c d e f and the end of it"
    result = cut(tmp_path, [["x a b c d e f y"]], [[known]], keep="none")
    assert texts_after(result) == [[f"x{BREAK}y"]]


def test_breaks_around_lines_and_sentences(tmp_path: Path) -> None:
    long = "This is the longest of all documents, and it keeps what the others have to lose. "
    kept = long * 3 + "\nMenu one\nMenu two\nBuy now."
    texts = [
        "A1\n\nMenu one\nMenu two\nBuy now.\n\n  B1 indented\n",
        "A2\nMenu one\n  Menu  two\nBuy now.\nB2",
        "Menu one\nMenu two\nBuy now.\nB3\n\n",
        "A4\nMenu one\n\nMenu two\nBuy now.\n",
        "A5\nMenu one\nB5\nMenu two\nBuy now.",
    ]
    (after,) = texts_after(cut(tmp_path / "lines", [[kept, *texts]], unit="line"))
    assert after == [kept, "A1\n\n  B1 indented\n", "A2\nB2", "B3\n\n", "A4", texts[4]]
    texts = ["First one. Buy it now. Or never. Last one.", "前文。Buy it now. Or never. 后文。"]
    kept = long * 2 + "Buy it now. Or never."
    (after,) = texts_after(cut(tmp_path / "two", [[kept, *texts]], unit="sentence", span=2))
    assert after == [kept, "First one. Last one.", "前文。 后文。"]


def test_short_spans_stay_and_short_rests_go(tmp_path: Path) -> None:
    rng = random.Random(9)
    line = " ".join(fresh(rng, 5))
    owner = "\n".join([line, "}", " ".join(fresh(rng, 60))])
    texts = [owner, f"{line}\n}}\nscrap", f"{line}\n}}\n" + " ".join(fresh(rng, 9))]
    result = cut(tmp_path / "a", [texts], unit="line", span=1, min_bytes=5, min_rest=30)
    assert texts_after(result) == [[owner, None, texts[2].partition("\n")[2]]]
    counts = counts_of(result)
    assert (counts["passages"], counts["words"], counts["whole"]) == (2, 2, 1)
    # A document that others have lost a line to stays, however short it is.
    first, second = (" ".join(fresh(rng, 40)) for _ in range(2))
    texts = [f"{second}\nz\n{first}", f"{first}\nmine", "mine\nyours"]
    (after,) = texts_after(cut(tmp_path / "b", [texts], unit="line", span=1, min_rest=30))
    assert after == [texts[0], "mine", None]
