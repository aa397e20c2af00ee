"""The stage that cuts repeated passages (PILE-12)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import barrow.archive
from barrow.archive import Document, Writer
from barrow.archive.shard import shard_lines
from barrow.corpus.build.facts import Facts, load_facts, save_facts
from barrow.corpus.build.parts import PartFiles
from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.numbering import save_arrays
from barrow.corpus.dedup.passages.cut_stage import (
    Cut,
    Inputs,
    Settings,
    cut_passages,
    cut_runs,
    join_windows,
)
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_spans import word_spans
from barrow.engine import File

SIZE = 3
Window = tuple[int, int]
BANDS = 77


@dataclass(frozen=True)
class Outcome:
    """What the stage wrote."""

    facts: Facts
    changed: list[Document]
    lines: list[bytes]
    rejects: list[Document]
    counts: dict[str, dict[str, int]]


def name(number: int) -> str:
    return f"{number:016x}-{1:08x}"


def cut(
    folder: Path,
    texts: Sequence[str],
    lost: Sequence[tuple[Window, int]] = (),
    *,
    owned: Sequence[Window] = (),
    others: Sequence[tuple[Window, Window]] = (),
    anew: dict[int, str] | None = None,
    dropped: Sequence[int] = (),
    num_tasks: int = 1,
    **settings: Any,
) -> Outcome:
    """Cut a part.

    A window is a row and the word it starts at. Those in `lost` have an owner elsewhere, by number;
    those in `owned` have none; those in `others` are copies of one of these in the same part.
    """
    anew = anew or {}
    facts = replace(Facts.blank(len(texts)), domains=["A", "B"])
    facts.domain[:] = [row % 2 for row in range(len(texts))]
    facts.identity[:] = [(number, 1) for number in range(len(texts))]
    facts.bands[:] = BANDS
    facts.kept[list(dropped)] = False
    folder.mkdir(parents=True, exist_ok=True)
    with Writer(folder / "documents.jsonl.zst", frame_size=300) as writer:
        for text in ["not of this part", *texts]:
            writer.add(Document(text, {"pile_set_name": "A", "secret": text[:5], "url": text[-5:]}))
    with Writer(folder / "before.jsonl.zst") as writer:
        for row, text in sorted(anew.items()):
            facts.changed[row] = True
            if row not in dropped:
                writer.add(Document(text, {"from": "rewriter", "row": row}))
    facts.size[:] = [len(anew.get(row, text).encode()) for row, text in enumerate(texts)]
    save_facts(facts, folder / "facts")
    best = [*(window for window, _ in lost), *owned]
    rows, starts = np.array(best, np.int64).reshape(-1, 2).T
    copies = [(row, start, best.index(of)) for (row, start), of in others]
    save_arrays(
        folder / "windows",
        rows=rows,
        starts=starts,
        others=np.array(copies, np.int64).reshape(-1, 3).T,
    )
    files = []
    for task in range(num_tasks):
        mine = range(len(lost))[task::num_tasks]
        # Of three parts this one is the second; the first and the last have lost a window each.
        save_arrays(
            folder / f"owners{task}",
            lost=np.array([99, *mine, 98], np.int64),
            of_identity=np.array([(9, 9), *((lost[k][1], 1) for k in mine), (8, 8)], np.uint64),
            bounds=np.array([0, 1, 1 + len(mine), 2 + len(mine)]),
        )
        files.append(File(folder / f"owners{task}", ""))
    names = ("documents.jsonl.zst", "facts", "before.jsonl.zst")
    part = PartFiles(*(File(folder / name, "") for name in names))
    inputs = Inputs(part, File(folder / "windows", ""), tuple(files))
    defaults = Settings(part=1, start=1, min_words=SIZE, min_rest=1)
    out = Cut(folder / "out", "key")
    out.folder.mkdir()
    cut_passages(replace(defaults, **settings), inputs, out)
    return Outcome(
        load_facts(out.facts),
        list(barrow.archive.open(out.changed)),
        list(shard_lines(out.changed)),
        list(barrow.archive.open(out.rejects)),
        json.loads(out.counts.path.read_text()),
    )


def test_a_passage_that_stays_elsewhere_goes(tmp_path: Path) -> None:
    texts = ["nothing here to cut", "One two. Three, four (five) six.", "nothing here either"]
    told = cut(tmp_path, texts, [((1, 2), 500)])
    assert [document.text for document in told.changed] == ["One two.\n\nsix."]
    assert told.changed[0].meta == {"pile_set_name": "A", "secret": "One t", "url": " six."}
    (record,) = told.rejects
    assert record.text == "Three, four (five)"
    assert record.meta == {
        "pile_set_name": "A",
        "url": " six.",
        "reason": "repeated-passage",
        "cause": f"3 words from word 2 on stay in {name(500)}",
        "stage": "deduplicate",
        "words": [2, 5],
        "kept_in": [name(500)],
        "whole": False,
    }
    gone = len(texts[1]) - len("One two.\n\nsix.")
    assert told.counts == {"B": {"bytes": gone, "documents": 1, "passages": 1, "words": 3}}


def test_facts_are_of_the_text_that_is_left(tmp_path: Path) -> None:
    texts = ["é a b c d", "e f g", "x y z ä"]
    told = cut(tmp_path, texts, [((0, 1), 5), ((2, 0), 6)])
    assert [document.text for document in told.changed] == ["é\n\nd", "ä"]
    assert told.facts.changed.tolist() == [True, False, True]
    assert told.facts.kept.tolist() == [True, True, True]
    assert told.facts.size.tolist() == [len("é\n\nd".encode()), 5, len("ä".encode())]
    for row, text in ((0, "é\n\nd"), (2, "ä")):
        buffer = np.frombuffer(text.encode(), np.uint8)
        alone = content_hashes(buffer, np.array([0, len(buffer)], np.int64))
        assert told.facts.content[row].tolist() == alone[0].tolist()
    assert told.facts.content[1].tolist() == [0, 0]
    assert (told.facts.bands != BANDS).any(axis=1).tolist() == [True, False, True]
    assert told.facts.identity[:, 0].tolist() == [0, 1, 2]


def test_copies_in_the_part_of_the_owner(tmp_path: Path) -> None:
    """A copy goes, but not one that overlaps with its owner in the same document."""
    texts = ["k k k k k k k k", "a b c d", "z a b c"]
    told = cut(
        tmp_path,
        texts,
        owned=[(0, 0), (1, 0)],
        others=[*(((0, start), (0, 0)) for start in range(1, 6)), ((2, 1), (1, 0))],
    )
    # Windows 3, 4 and 5 do not overlap with the first: words 3 to 8.
    assert [document.text for document in told.changed] == ["k k k", "z"]
    assert [record.meta["words"] for record in told.rejects] == [[3, 8], [1, 4]]
    assert [record.meta["kept_in"] for record in told.rejects] == [[name(0)], [name(1)]]


def test_copies_of_what_stays_elsewhere_go_all(tmp_path: Path) -> None:
    copies = [((0, start), (0, 0)) for start in (1, 2)]
    told = cut(tmp_path, ["k k k k k end"], [((0, 0), 700)], others=copies)
    assert [document.text for document in told.changed] == ["end"]
    (record,) = told.rejects
    assert (record.meta["words"], record.meta["kept_in"]) == ([0, 5], [name(700)])


@pytest.mark.parametrize(
    ("owners", "more"),
    [
        ([500], ""),
        ([500, 500], ""),
        ([500, 600], " and 1 other"),
        ([500, 600, 500], " and 1 other"),
        ([500, 600, 700], " and 2 others"),
        (list(range(1, 9)), " and 7 others"),
    ],
)
@pytest.mark.parametrize("num_tasks", [1, 3])
def test_all_owners_of_a_run_are_counted(
    tmp_path: Path, owners: list[int], more: str, num_tasks: int
) -> None:
    text = " ".join(f"w{k}" for k in range(len(owners) + 2)) + " the end"
    lost = [((0, start), owner) for start, owner in enumerate(owners)]
    (record,) = cut(tmp_path, [text], lost, num_tasks=num_tasks).rejects
    assert record.meta["words"] == [0, len(owners) + 2]
    different = list(dict.fromkeys(owners))
    assert record.meta["kept_in"] == [name(owner) for owner in different[:5]]
    assert record.meta["cause"].endswith(f" stay in {name(owners[0])}{more}")


def test_runs_that_touch_are_one_and_others_apart(tmp_path: Path) -> None:
    text = "a b c d e f g h i j k"
    told = cut(tmp_path, [text], [((0, 0), 5), ((0, 3), 5), ((0, 7), 6)])
    assert told.changed[0].text == "g\n\nk"
    assert [record.meta["words"] for record in told.rejects] == [[0, 6], [7, 10]]
    assert told.counts["A"] == {
        "bytes": len(text) - len("g\n\nk"),
        "documents": 1,
        "passages": 2,
        "words": 9,
    }


def test_too_little_is_left(tmp_path: Path) -> None:
    """Unless what is left is itself as long as a passage."""
    texts = ["a b c x", "a b c x y", "x a b c y z", "a b c x y z", "x y z a b c", "a b c"]
    lost = [((row, int(text.split()[1] == "a")), 5) for row, text in enumerate(texts)]
    lost[4] = ((4, 3), 5)
    told = cut(tmp_path, texts, lost, min_rest=100)
    assert told.facts.kept.tolist() == [False, False, False, True, True, False]
    assert [document.text for document in told.changed] == ["x y z", "x y z"]
    assert [record.meta["whole"] for record in told.rejects] == [
        *(True, True, True),
        *(False, False, True),
    ]
    assert told.rejects[0].meta["cause"].endswith("; too little is left")
    assert told.counts["A"] == {
        "bytes": len("a b c x") + len("x a b c y z") + len("a b c "),
        "documents": 1,
        "passages": 3,
        "whole": 2,
        "words": 9,
    }
    assert told.facts.changed.tolist() == [False, False, False, True, True, False]


@pytest.mark.parametrize(("min_rest", "kept"), [(3, True), (4, False)])
def test_the_rest_is_counted_in_bytes(tmp_path: Path, min_rest: int, kept: bool) -> None:
    told = cut(tmp_path, ["a b c éx"], [((0, 0), 5)], min_rest=min_rest)
    assert told.facts.kept.tolist() == [kept]


def test_texts_made_anew_are_cut_or_passed_on_as_they_are(tmp_path: Path) -> None:
    texts = [f"old text number {row} here" for row in range(8)]
    anew = {0: "first", 2: "a b c second", 3: "third 水", 5: "a b c", 6: "gone", 7: "last"}
    lost = [((row, 0), 5) for row in (2, 4, 5)]
    told = cut(tmp_path, texts, lost, anew=anew, dropped=[6])
    assert [document.text for document in told.changed] == [
        *("first", "second", "third 水"),
        *("4 here", "last"),
    ]
    before = list(shard_lines(tmp_path / "before.jsonl.zst"))
    assert [told.lines[k] for k in (0, 2, 4)] == [before[k] for k in (0, 2, 4)]
    assert told.facts.kept.tolist() == [True] * 5 + [False, False, True]
    rows = np.flatnonzero(told.facts.changed & told.facts.kept)
    assert rows.tolist() == [0, 2, 3, 4, 7], "as many as there are texts, in order"
    assert told.rejects[-1].meta["whole"] is True


def test_a_document_of_many_blocks_and_an_empty_part(tmp_path: Path) -> None:
    texts = [f"{'word ' * 40}a b c {row}" for row in range(20)]
    told = cut(tmp_path / "many", texts, [((row, 40), 5) for row in range(0, 20, 3)])
    assert [document.text.split()[-1] for document in told.changed] == [
        str(row) for row in range(0, 20, 3)
    ]
    nothing = cut(tmp_path / "none", ["a b c"])
    assert (nothing.changed, nothing.rejects, nothing.counts) == ([], [], {})


def test_the_record_shows_only_the_beginning(tmp_path: Path) -> None:
    text = "x" * 5_000 + " y z end"
    (record,) = cut(tmp_path, [text], [((0, 0), 5)]).rejects
    assert len(record.text) < 5_000
    assert text.startswith(record.text)


def cut_text(text: str, *runs: tuple[int, int]) -> tuple[str, list[str]]:
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
    assert cut_text(text, run) == (rest, [passage])


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
    rest, passages = cut_text(text, *runs)
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
