"""Repeated passages beside a suffix array with its common prefixes, in one run.

    python benchmarks/bench_passages.py --data ARCHIVE [--min-words 100]

Speeds are MB (10^6 bytes) of UTF-8 text per second of one core's processor time. The peer is
libdivsufsort, by way of pydivsufsort: sorting all suffixes of the texts and finding how long
neighbours agree is the greater part of what tools for exact substrings do; it is given all texts in
memory, and no reading, cutting and writing is asked of it. What is cut is compared, word by word,
with what the definition says, computed without hashes by doubling (Karp, Miller and Rosenberg).

Repeated lines and sentences, three in a row, are then cut by barrow and by datatrove's
SentenceDedup, which gets the texts in memory; both write what they need in between to disk.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

import barrow.archive
from barrow.archive import Document, Writer
from barrow.archive.block import Block
from barrow.corpus.build.examine import Findings, Inputs, Settings, examine
from barrow.corpus.build.facts import load_facts
from barrow.corpus.build.parts import Examined, cut
from barrow.corpus.dedup.numbering import Removals
from barrow.corpus.dedup.passages.stages import Cut, cut_repeated
from barrow.corpus.dedup.passages.windows import select_seeds
from barrow.corpus.dedup.settings import Deduplication, Lines, Passages
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes
from barrow.engine import Engine, File, Stages, Store, Task

PASSES = 5


def best(work: Callable[[], object], passes: int = PASSES) -> float:
    """The least processor time of several passes, in seconds."""
    times = []
    for _ in range(passes):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def examined(folder: Path, texts: Sequence[str]) -> list[Examined]:
    """The texts as a build has them before passages are looked for."""
    with Writer(folder / "documents.jsonl.zst", level=-7) as writer:
        for k, text in enumerate(texts):
            meta = {"pile_set_name": "all", "id": f"{k:016x}-{0:08x}"}
            writer.add(Document(text, {**meta, "decisions": {"read": "keep"}}))
    found = []
    for k, part in enumerate(cut(File(folder / "documents.jsonl.zst", "texts"))):
        out = Findings(folder / f"part{k}", f"part{k}")
        out.folder.mkdir()
        examine(Settings(part.start, part.stop, {"": ()}), Inputs(part.file), out)
        found.append(Examined.of(part, out.facts, out.changed))
    return found


def cut_all(
    parts: list[Examined], folder: Path, passages: Passages | Lines
) -> tuple[Cut, dict[str, float]]:
    """Everything that the option adds to a build, and the seconds that its functions took."""
    times: Counter[str] = Counter()

    class TimedStore(Store):
        def perform(self, task: Task[Any]) -> None:
            start = time.process_time()
            super().perform(task)
            times[task.stage.name] += time.process_time() - start

    settings = Deduplication(near=False)
    with Stages(TimedStore(folder), Engine(num_workers=0)) as stages:
        return cut_repeated(parts, [], Removals(), settings, passages, stages), times


def goes(texts: Sequence[str], min_words: int) -> list[npt.NDArray[np.bool_]]:
    """Which words go, of each text, by the definition; equal runs are numbered by doubling."""
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    words = word_hashes(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch())
    _, single = np.unique(words.hashes, return_inverse=True)
    by_length = {1: single.astype(np.int64)}
    length = 1
    while 2 * length <= min_words:
        by_length[2 * length] = pairs(by_length[length], by_length[length], length)
        length *= 2
    name, done = by_length[length], length
    for part in sorted(by_length, reverse=True)[1:]:
        if done + part <= min_words:
            name, done = pairs(name, by_length[part], done), done + part
    rank = np.empty(len(data), np.int64)
    rank[sorted(range(len(data)), key=lambda k: (-len(data[k]), k))] = np.arange(len(data))
    counts = np.diff(words.offsets)
    document = np.repeat(np.arange(len(data)), counts)
    place = np.arange(len(single)) - words.offsets[document]
    whole = np.flatnonzero(place + min_words <= counts[document])
    order = whole[np.lexsort((place[whole], rank[document[whole]], name[whole]))]
    first = np.r_[True, name[order][1:] != name[order][:-1]]
    owner = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    apart = (document[owner] != document[order]) | (order >= owner + min_words)
    edges = np.zeros(len(single) + 1, np.int64)
    np.add.at(edges, order[apart], 1)
    np.add.at(edges, order[apart] + min_words, -1)
    gone = np.cumsum(edges)[:-1] > 0
    return [gone[a:b] for a, b in zip(words.offsets[:-1], words.offsets[1:], strict=True)]


def pairs(
    first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], shift: int
) -> npt.NDArray[np.int64]:
    """Names of what is named twice: here, and `shift` places on."""
    moved = np.r_[second[shift:], np.zeros(min(shift, len(second)), np.int64)]
    _, names = np.unique(first * (int(second.max(initial=0)) + 1) + moved, return_inverse=True)
    return names.astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--min-words", type=int, default=100)
    options = parser.parse_args()
    size = options.min_words
    texts = [document.text for document in barrow.archive.open(options.data)]
    mb = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{mb:.1f} MB, {len(texts):,} documents, passages of {size} words\n")
    print("| | MB/s |\n|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = examined(folder, texts)
        scratch = Scratch()
        blocks: list[Block] = []

        def seeds() -> None:
            for block in blocks:
                select_seeds(word_hashes(block.text, block.offsets, scratch), size, scratch)

        for block in barrow.archive.open(parts[0].part.file).blocks():
            blocks = [block]
            seeds()
            break
        seconds = 0.0
        for block in barrow.archive.open(parts[0].part.file).blocks():
            blocks = [block]
            seconds += best(seeds)
        print(f"| words and seeds, in memory | {mb / seconds:,.0f} |")
        cut_all(parts, folder / "first", Passages(size))  # compiles
        result, times = cut_all(parts, folder / "second", Passages(size))
        for function, taken in times.items():
            print(f"| {function} | {mb / taken:,.0f} |")
        ours = sum(times.values())
        print(f"| all of it | {mb / ours:,.0f} |")
        agree(texts, result, size)
        lines(texts, parts, folder, mb)
    peer(texts, mb, ours)


def agree(texts: Sequence[str], result: Cut, min_words: int) -> None:
    """Compare the words that went with those that should."""
    expected = goes(texts, min_words)
    found = [np.zeros(len(flags), np.bool_) for flags in expected]
    for cut_part in result.results:
        for document in barrow.archive.open(cut_part.rejects):
            start, stop = document.meta["words"]
            found[int(document.meta["id"][:16], 16)][start:stop] = True
    differ = sum(int((a != b).sum()) for a, b in zip(expected, found, strict=True))
    total = sum(map(len, expected))
    gone = sum(int(flags.sum()) for flags in expected)
    touched = sum(bool(flags.any()) for flags in expected)
    counts = [json.loads(r.counts.path.read_text())["all"] for r in result.results]
    print(f"\n{gone:,} of {total:,} words ({gone / total:.2%}) go, from {touched:,} documents, in ")
    print(f"{sum(c['passages'] for c in counts):,} passages; {differ:,} words differ from that.")
    left = sum(int(load_facts(part.files.facts).kept.sum()) for part in result.own)
    print(f"{len(texts) - left:,} documents go as a whole.")


def lines(texts: Sequence[str], parts: list[Examined], folder: Path, mb: float) -> None:
    """Three lines or sentences in a row, beside datatrove."""
    print("\n| three in a row | barrow, MB/s | units cut | datatrove, MB/s |\n|---|---|---|---|")
    for unit in ("line", "sentence"):
        cut_all(parts, folder / f"{unit}1", Lines(unit, min_rest=1))
        result, times = cut_all(parts, folder / f"{unit}2", Lines(unit, min_rest=1))
        counts = [json.loads(r.counts.path.read_text())["all"]["words"] for r in result.results]
        taken = best(lambda: datatrove_lines(texts, folder, unit == "sentence"), 2)  # noqa: B023
        print(f"| {unit}s | {mb / sum(times.values()):,.0f} | {sum(counts):,} | {mb / taken:.2f} |")


def datatrove_lines(texts: Sequence[str], folder: Path, split_sentences: bool) -> None:
    from datatrove.data import Document as TheirDocument
    from datatrove.pipeline.dedup import sentence_dedup as theirs

    config = theirs.SentDedupConfig(split_sentences=split_sentences, only_dedup_in_index=False)
    documents = [TheirDocument(text=text, id=str(k)) for k, text in enumerate(texts)]
    with tempfile.TemporaryDirectory(dir=folder) as name:
        signatures = theirs.SentenceDedupSignature(f"{name}/hashes", config=config)
        signatures.hash_fc = lambda text: xxhash.xxh64_intdigest(text.encode())  # its own fails
        signatures.run(documents)
        theirs.SentenceFindDedups(f"{name}/hashes", f"{name}/found", config=config).run()
        for _ in theirs.SentenceDedupFilter(f"{name}/found", config=config).run(documents):
            pass


def peer(texts: Sequence[str], mb: float, ours: float) -> None:
    """The suffix array of all texts, and the common prefixes of neighbours in it."""
    try:
        from pydivsufsort import divsufsort, kasai
    except ImportError:
        print("\npydivsufsort is not installed")
        return
    data = "\x00".join(texts).encode()

    def work() -> None:
        kasai(data, divsufsort(data))

    taken = best(work, 1)
    print(
        f"\npydivsufsort {version('pydivsufsort')}, suffix array and common prefixes: "
        f"{mb / taken:.1f} MB/s; all of ours is {taken / ours:.1f} times as fast."
    )


if __name__ == "__main__":
    main()
