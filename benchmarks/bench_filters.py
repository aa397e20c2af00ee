"""Quality statistics and heuristic filters beside datatrove's, in one run.

    python benchmarks/bench_filters.py --data ARCHIVE [--peer-mb 2]

Speeds are MB (10^6 bytes) of UTF-8 text per second of one core's processor time, best of several
passes over blocks that are in memory already. datatrove is slow enough to be given the first few
megabytes only; as shipped it splits words and sentences with spaCy, and beside that with
``str.split``, which is what barrow counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import barrow.archive
from barrow.archive.block import Block
from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.c4_lines import C4Lines
from barrow.corpus.filters.deciding import Filter
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.ratios import Ratios
from barrow.corpus.filters.texts import Texts
from barrow.corpus.scratch import Scratch

PASSES = 7
FILTERS: dict[str, Filter] = {
    "Gopher quality": GopherQuality(),
    "Gopher repetition": GopherRepetition(),
    "FineWeb": FineWeb(),
    "C4 (documents)": C4(),
    "Ratios": Ratios(0.4, 0.3, 0.5, 0.4),
}


def in_memory(block: Block) -> Block:
    """A block whose buffers are not used again."""
    return replace(block, text=block.text.copy(), offsets=block.offsets.copy())


def best(work: Callable[[], object], passes: int) -> float:
    """The least processor time of several passes, in seconds."""
    times = []
    for _ in range(passes):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def decide(blocks: Iterable[Block], filters: Iterable[Filter]) -> None:
    scratch = Scratch()
    for block in blocks:
        texts = Texts(block.text, block.offsets, [], scratch)
        for chosen in filters:
            chosen.decide(texts)


def touch(blocks: Iterable[Block]) -> None:
    scratch = Scratch()
    for block in blocks:
        C4Lines().touches(Texts(block.text, block.offsets, [], scratch))


def rewrite(texts: Iterable[str]) -> None:
    rules = C4Lines()
    for text in texts:
        rules.rewrite(text, {})


def datatrove_filters(*, spaced: bool) -> dict[str, Any]:
    """The filters of datatrove; `spaced` with words and sentences split by str methods."""
    from datatrove.pipeline import filters
    from datatrove.pipeline.filters import (
        c4_filters,
        fineweb_quality_filter,
        gopher_quality_filter,
        gopher_repetition_filter,
    )
    from datatrove.utils import text as words

    def split_words(text: str, language: str = "") -> list[str]:
        return text.split()

    def split_sentences(text: str, language: str = "") -> list[str]:
        return text.split(". ")

    for module in (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter):
        module.split_into_words = split_words if spaced else words.split_into_words
    c4_filters.split_into_sentences = split_sentences if spaced else words.split_into_sentences
    return {
        "Gopher quality": filters.GopherQualityFilter(),
        "Gopher repetition": filters.GopherRepetitionFilter(),
        "FineWeb": filters.FineWebQualityFilter(),
        "C4": filters.C4QualityFilter(),
    }


def datatrove_times(texts: list[str], *, spaced: bool) -> dict[str, float]:
    """Seconds of each filter; the words of a text are split once for all of them."""
    from datatrove.data import Document

    times: dict[str, float] = {}
    for name, chosen in datatrove_filters(spaced=spaced).items():
        chosen.filter(Document(text="Load what is loaded late. " * 20, id=""))
        times[name] = 0.0
    for text in texts:
        for name, chosen in datatrove_filters(spaced=spaced).items():
            document = Document(text=text, id="")
            start = time.process_time()
            chosen.filter(document)
            times[name] += time.process_time() - start
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="an archive")
    parser.add_argument("--peer-mb", type=float, default=2.0)
    arguments = parser.parse_args()
    blocks = [in_memory(block) for block in barrow.archive.open(arguments.data).blocks()]
    size = sum(block.num_text_bytes for block in blocks) / 1e6
    texts = [block.text_of(i) for block in blocks for i in range(len(block))]
    some, some_size = [], 0.0
    for text in texts:
        if some_size < arguments.peer_mb:
            some.append(text)
            some_size += len(text.encode()) / 1e6
    decide(blocks, FILTERS.values())  # compiled
    touch(blocks)
    rewrite(texts[:1])

    print(f"{size:.1f} MB in {len(texts):,} documents; datatrove {version('datatrove')}\n")
    print("| barrow | MB/s |\n|---|---|")
    for name, chosen in FILTERS.items():
        seconds = best(lambda chosen=chosen: decide(blocks, [chosen]), PASSES)  # type: ignore[misc]
        print(f"| {name}, alone | {size / seconds:,.0f} |")
    print(f"| C4 lines: which texts change | {size / best(lambda: touch(blocks), PASSES):,.0f} |")
    print(f"| C4 lines: all texts anew | {size / best(lambda: rewrite(texts), 3):,.0f} |")
    ours = size / best(lambda: decide(blocks, FILTERS.values()), PASSES)
    print(f"| **all filters together** | **{ours:,.0f}** |\n")
    print("| datatrove | MB/s, as shipped | MB/s, plain splitting |\n|---|---|---|")
    shipped = datatrove_times(some, spaced=False)
    spaced = datatrove_times(some, spaced=True)
    for name in shipped:
        print(f"| {name} | {some_size / shipped[name]:.2f} | {some_size / spaced[name]:.2f} |")
    both = some_size / sum(shipped.values()), some_size / sum(spaced.values())
    print(f"| **all four together** | **{both[0]:.2f}** | **{both[1]:.2f}** |")
    print(f"\nbarrow / datatrove: {ours / both[0]:,.0f} as shipped, {ours / both[1]:,.0f} plain.")


if __name__ == "__main__":
    main()
