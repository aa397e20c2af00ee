"""Stages that find repeated passages, one by one (PILE-12)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from barrow.archive import Document, Writer
from barrow.corpus.build.facts import Facts, save_facts
from barrow.corpus.build.parts import PartFiles
from barrow.corpus.dedup.numbering import Arrays, Order, Removals, load_arrays, save_arrays
from barrow.corpus.dedup.passages import owners_stage as owning
from barrow.corpus.dedup.passages import repeated_stage as comparing
from barrow.corpus.dedup.passages import seeds_stage as seeding
from barrow.corpus.dedup.passages import windows_stage as windowing
from barrow.corpus.dedup.passages.buckets import NUM_BUCKETS, bucket_bounds, load_part
from barrow.corpus.dedup.passages.windows import select_seeds
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes
from barrow.engine import File

SIZE = 4
ALL = (0, NUM_BUCKETS)


def write_part(folder: Path, texts: Sequence[str], *, skipped: int = 0) -> PartFiles:
    """Documents and facts of a part, after some documents that are none of its own."""
    folder.mkdir()
    with Writer(folder / "documents.jsonl.zst", frame_size=300) as writer:
        for text in ["a b c d a b c d"] * skipped + list(texts):
            writer.add(Document(text, {}))
    facts = replace(Facts.blank(len(texts)), domains=["A"])
    facts.size[:] = [len(text) for text in texts]
    facts.identity[:, 0] = np.arange(len(texts)) + 100
    save_facts(facts, folder / "facts")
    return PartFiles(File(folder / "documents.jsonl.zst", ""), File(folder / "facts", ""), None)


def order_of(*sizes: int, num_own: int = 1, keep: str = "longest") -> Order:
    return Order(sizes, (("A",),) * len(sizes), num_own=num_own, keep=keep)


def seeds_of(text: str, min_words: int = SIZE) -> list[int]:
    """Of one text by itself."""
    buffer = np.frombuffer(text.encode(), np.uint8)
    words = word_hashes(buffer, np.array([0, len(buffer)], np.int64), Scratch())
    seeds: list[int] = select_seeds(words, min_words, Scratch()).value.tolist()
    return seeds


def made_up(rng: random.Random, letters: str, number: int) -> list[str]:
    return [" ".join(rng.choices(letters, k=rng.randint(0, 30))) or "." for _ in range(number)]


# Seeds --------------------------------------------------------------------------------------------


def find_seeds(
    tmp_path: Path,
    part: PartFiles,
    *removals: File,
    start: int = 0,
    offset: int = 0,
    min_words: int = SIZE,
) -> Arrays:
    out = seeding.Seeds(tmp_path, "key")
    settings = seeding.Settings(start, offset, min_words)
    seeding.find_seeds(settings, seeding.Inputs(part, Removals(removals)), out)
    return load_arrays(out.seeds)


def find_repeated(
    tmp_path: Path, seeds: Sequence[File], buckets: tuple[int, int]
) -> comparing.Repeated:
    out = comparing.Repeated(tmp_path, "key")
    comparing.find_repeated(comparing.Settings(buckets), tuple(seeds), out)
    return out


def find_owners(
    tmp_path: Path, inputs: owning.Inputs, buckets: tuple[int, int], order: Order
) -> owning.Owners:
    out = owning.Owners(tmp_path, "key")
    owning.find_owners(owning.Settings(buckets, order), inputs, out)
    return out


def told(found: Arrays) -> Counter[tuple[int, int]]:
    return Counter(zip(found["values"].tolist(), found["rows"].tolist(), strict=True))


def expected_seeds(texts: dict[int, str]) -> Counter[tuple[int, int]]:
    every = Counter((value, row) for row, text in texts.items() for value in seeds_of(text))
    return Counter({key: min(number, 2) for key, number in every.items()})


def test_seeds_are_sorted_and_at_most_two_of_a_kind(tmp_path: Path) -> None:
    texts = [*made_up(random.Random(0), "abcdefgh", 30), "x y z " * 50, "x y z " * 3]
    found = find_seeds(tmp_path, write_part(tmp_path / "p", texts, skipped=2), start=2)
    assert told(found) == expected_seeds(dict(enumerate(texts)))
    assert max(told(found).values()) == 2
    pairs = list(zip(found["values"].tolist(), found["rows"].tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert found["bounds"].tolist() == bucket_bounds(found["values"]).tolist()


def test_what_is_gone_has_no_seeds(tmp_path: Path) -> None:
    texts = made_up(random.Random(1), "abcdefgh", 10)
    part = write_part(tmp_path / "p", texts)
    facts = Facts.blank(len(texts))
    facts.kept[3] = False
    save_facts(facts, part.facts)
    # Numbers of all parts together; those of this one begin at 20.
    save_arrays(tmp_path / "one", removed=np.array([3, 19, 20, 25]))
    save_arrays(tmp_path / "two", removed=np.array([28, 30, 31]))
    removals = [File(tmp_path / "one", ""), File(tmp_path / "two", "")]
    found = find_seeds(tmp_path, part, *removals, offset=20)
    gone = {0, 3, 5, 8}
    assert told(found) == expected_seeds({i: t for i, t in enumerate(texts) if i not in gone})


def test_seeds_are_of_texts_made_anew(tmp_path: Path) -> None:
    part = write_part(tmp_path / "p", ["a b c d e", "old words are not here"])
    facts = Facts.blank(2)
    facts.changed[1] = True
    save_facts(facts, part.facts)
    changed = File(tmp_path / "changed.jsonl.zst", "")
    with Writer(changed) as writer:
        writer.add(Document("f g h i j k", {}))
    found = find_seeds(tmp_path, replace(part, changed=changed))
    assert told(found) == expected_seeds({0: "a b c d e", 1: "f g h i j k"})


def test_a_part_without_words(tmp_path: Path) -> None:
    found = find_seeds(tmp_path, write_part(tmp_path / "p", ["", "...", "a b c"]))
    assert [len(found[name]) for name in ("values", "rows")] == [0, 0]
    assert found["bounds"].tolist() == [0] * (NUM_BUCKETS + 1)


# Which are repeated -------------------------------------------------------------------------------


def save_hashes(path: Path, values: Sequence[int]) -> File:
    ordered = np.sort(np.array(values, np.uint64))
    save_arrays(path, values=ordered, bounds=bucket_bounds(ordered))
    return File(path, "")


@pytest.mark.parametrize("cuts", [[], [1], [7, 2000, 4095]])
def test_repeated_seeds_of_all_parts(tmp_path: Path, cuts: list[int]) -> None:
    """However the buckets are shared out."""
    rng = random.Random(2)
    hashes = [rng.getrandbits(64) for _ in range(40)] + [0, (1 << 64) - 1]
    parts = [sorted(rng.choices(hashes, k=size)) for size in (20, 0, 25, 1)]
    files = [save_hashes(tmp_path / f"{k}", values) for k, values in enumerate(parts)]
    number = Counter(value for values in parts for value in values)
    found: list[list[int]] = [[] for _ in parts]
    for buckets in pairwise([0, *cuts, NUM_BUCKETS]):
        out = find_repeated(tmp_path, files, buckets)
        for k in range(len(parts)):
            found[k] += load_part(out.found, "found", k).tolist()
    for values, places in zip(parts, found, strict=True):
        assert places == [i for i, value in enumerate(values) if number[value] > 1]


def test_a_slice_of_what_concerns_all_parts(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", things=np.array([5, 6, 7, 8]), bounds=np.array([0, 3, 3, 4]))
    sliced = [load_part(tmp_path / "a", "things", k).tolist() for k in range(3)]
    assert sliced == [[5, 6, 7], [], [8]]


# Windows ------------------------------------------------------------------------------------------


def find_windows(
    tmp_path: Path, texts: Sequence[str], keep: str = "longest", min_words: int = SIZE
) -> Arrays:
    """Of a corpus that is one part."""
    part = write_part(tmp_path / "p", texts, skipped=3)
    seeds, out = seeding.Seeds(tmp_path, "seeds").seeds, windowing.Found(tmp_path, "windows")
    find_seeds(tmp_path, part, start=3, min_words=min_words)
    repeated = find_repeated(tmp_path, [seeds], ALL).found
    windowing.find_windows(
        windowing.Settings(0, 3, min_words, order_of(len(texts), keep=keep)),
        windowing.Inputs(part, seeds, (repeated,)),
        out,
    )
    return load_arrays(out.windows)


@pytest.mark.parametrize("min_words", [2, 4, 7])
@pytest.mark.parametrize("letters", ["ab", "abc"])
def test_windows_that_are_repeated(tmp_path: Path, letters: str, min_words: int) -> None:
    """All of them are found, equal ones together, the best document's first one for all."""
    texts = made_up(random.Random(min_words), letters, 25)
    texts += ["a b " * 6 + " ".join(f"only{k}x{i}" for i in range(20)) for k in range(9)]
    found = find_windows(tmp_path, texts, min_words=min_words)
    words = [tuple(text.split()) for text in texts]

    def window(row: int, start: int) -> tuple[str, ...]:
        assert start + min_words <= len(words[row])
        return words[row][start : start + min_words]

    best = list(zip(found["rows"].tolist(), found["starts"].tolist(), strict=True))
    others = list(zip(*found["others"].tolist(), strict=True))
    kinds = [window(*place) for place in best]
    assert len(set(kinds)) == len(kinds)
    hashes = list(zip(found["first"].tolist(), found["second"].tolist(), strict=True))
    assert len(set(hashes)) == len(hashes)
    assert found["first"].tolist() == sorted(found["first"].tolist())
    assert found["bounds"].tolist() == bucket_bounds(found["first"]).tolist()
    places = dict(zip(best, kinds, strict=True))
    for row, start, group in others:
        assert window(row, start) == kinds[group]
        assert (-len(texts[row]), row, start) > (-len(texts[best[group][0]]), *best[group])
        places[row, start] = kinds[group]
    assert len(places) == len(best) + len(others)
    every = [
        (row, start) for row, its in enumerate(words) for start in range(len(its) - min_words + 1)
    ]
    number = Counter(window(*place) for place in every)
    repeated = {place for place in every if number[window(*place)] > 1}
    assert repeated
    assert repeated <= set(places)
    seeds = Counter(value for text in texts for value in seeds_of(text, min_words))
    worth = {p for p in every if seeds[seeds_of(" ".join(window(*p)), min_words)[0]] > 1}
    assert set(places) == worth, "what has a seed that is nowhere else is not looked at"
    assert len(worth) < len(every)


def test_nothing_is_repeated(tmp_path: Path) -> None:
    found = find_windows(tmp_path, ["a b c d e f", "g h i j k", ""])
    assert len(found["first"]) == len(found["rows"]) == 0
    assert found["others"].shape == (3, 0)
    assert found["bounds"].tolist() == [0] * (NUM_BUCKETS + 1)


# Owners -------------------------------------------------------------------------------------------

HIGH = 1 << 63


def save_windows(path: Path, windows: Sequence[tuple[int, int, int]]) -> File:
    """Windows as (first half, second half, row)."""
    first, second, rows = np.array(sorted(windows), np.uint64).reshape(-1, 3).T
    save_arrays(
        path, first=first, second=second, rows=rows.astype(np.int64), bounds=bucket_bounds(first)
    )
    return File(path, "")


@pytest.mark.parametrize("ranges", [[ALL], [(0, 1), (1, 2048), (2048, NUM_BUCKETS)]])
def test_owners_are_the_best_of_all_parts(tmp_path: Path, ranges: list[tuple[int, int]]) -> None:
    sizes = [[50, 10], [70, 5], [1]]
    files = []
    for k, each in enumerate(sizes):
        facts = replace(Facts.blank(len(each)), domains=["A"])
        facts.size[:] = each
        facts.identity[:] = [[10 * k + row, 7] for row in range(len(each))]
        save_facts(facts, tmp_path / f"facts{k}")
        files.append(File(tmp_path / f"facts{k}", ""))
    windows = [
        [(1, 1, 0), (2, 1, 0), (HIGH, 5, 1)],
        [(1, 1, 0), (1, 2, 0), (HIGH, 5, 1), (HIGH + 1, 5, 1)],
        [(2, 1, 0), (HIGH + 1, 5, 0)],
    ]
    saved = [save_windows(tmp_path / f"windows{k}", each) for k, each in enumerate(windows)]
    inputs = owning.Inputs(tuple(files), tuple(saved))
    # The last part is of a finished corpus: its document owns what it has, short as it is.
    lost: list[list[tuple[int, int]]] = [[], [], []]
    for buckets in ranges:
        out = find_owners(tmp_path, inputs, buckets, order_of(2, 2, 1, num_own=2))
        for k in range(3):
            places = load_part(out.lost, "lost", k)
            identities = load_part(out.lost, "of_identity", k)
            assert identities.shape == (len(places), 2)
            lost[k] += zip(places.tolist(), identities[:, 0].tolist(), strict=True)
            assert set(identities[:, 1].tolist()) <= {7}
    assert lost == [[(0, 10), (1, 20)], [(2, 1), (3, 20)], []]


def test_no_windows_no_owners(tmp_path: Path) -> None:
    part = write_part(tmp_path / "p", ["a"])
    inputs = owning.Inputs((part.facts,), (save_windows(tmp_path / "w", []),))
    found = load_arrays(find_owners(tmp_path, inputs, ALL, order_of(1)).lost)
    assert (len(found["lost"]), found["bounds"].tolist()) == (0, [0, 0])
