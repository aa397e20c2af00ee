"""Quality statistics and heuristic filters beside datatrove's, in one run.

    python benchmarks/bench_filters.py --data ARCHIVE [--mb 4] [--passes 3]

Speeds are MB (10^6 bytes) of UTF-8 text per second of one core's processor time. Both sides get the
same texts, in memory, one pass to warm up, and the best of as many passes counts. datatrove as
shipped splits words and sentences with spaCy, and beside that with ``str.split``, which is what
barrow counts; it keeps the words of a text for all of its filters, as in a pipeline.

Patterns, words of a list and unigrams are measured apart, with the same expression, list and table:
400 words that occur once in the texts, and all words with their counts.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import barrow.archive
from barrow.archive.block import Block
from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.c4_lines import C4Lines
from barrow.corpus.filters.filter import Filter
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.pattern import Pattern
from barrow.corpus.filters.ratios import Ratios
from barrow.corpus.filters.texts import Texts
from barrow.corpus.filters.words.bad_words import BadWords
from barrow.corpus.filters.words.unigrams import Unigrams
from barrow.corpus.kernels.scratch import Scratch

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


def datatrove_times(texts: list[str], passes: int, *, spaced: bool) -> dict[str, float]:
    """Least seconds of each filter, and of all; the words of a text are split once for all."""
    from datatrove.data import Document

    chain = datatrove_filters(spaced=spaced)
    found: dict[str, float] = {}
    for number in range(passes + 1):
        times = dict.fromkeys([*chain, "all"], 0.0)
        for text in texts:
            document = Document(text=text, id="")
            for name, chosen in chain.items():
                start = time.process_time()
                chosen.filter(document)
                seconds = time.process_time() - start
                times[name] += seconds
                times["all"] += seconds
        if number:  # the first pass loads what is loaded late
            found = {
                name: min(found.get(name, seconds), seconds) for name, seconds in times.items()
            }
    return found


EXPRESSION = r"(?i)(subscribe|sign up) (to|for) (our|the) \w+|cookie policy"


def word_filters(texts: list[str], folder: Path) -> dict[str, tuple[Filter, Any]]:
    """Filters of barrow and of datatrove with the same expression, list and table."""
    from datatrove.pipeline import filters
    from datatrove.pipeline.filters.c4_filters import C4BadWordsFilter

    counts = Counter(word for text in texts for word in re.findall(r"[a-z]+", text.lower()))
    rare = sorted(word for word, number in counts.items() if number == 1)[::7][:400]
    (folder / "words.txt").write_text("\n".join(rare))
    (folder / "table.tsv").write_text("".join(f"{w}\t{n}\n" for w, n in counts.items()))
    bad_words = C4BadWordsFilter()
    some = "|".join(map(re.escape, rare))
    bad_words._badwords_regex["en"] = re.compile(rf"(?:\W|^)({some})(?:\W|$)")

    class Table(filters.UnigramLogProbFilter):
        def get_frequencies(self) -> dict[str, float]:
            return {word: number / counts.total() for word, number in counts.items()}

    return {
        "Pattern": (Pattern(EXPRESSION), filters.RegexFilter(EXPRESSION)),
        "BadWords": (BadWords({"en": folder / "words.txt"}, "en"), bad_words),
        "Unigrams": (Unigrams(folder / "table.tsv"), Table()),
    }


def letters_and_digits(text: str, language: str = "") -> list[str]:
    return re.findall(r"[^\W_]+", text)


def measure_words(blocks: list[Block], texts: list[str], passes: int) -> None:
    """Print speeds of the filters by words, and the share of texts on which both agree."""
    from datatrove.data import Document
    from datatrove.pipeline.filters import unigram_log_probs
    from datatrove.utils import text as words

    size = sum(len(text.encode()) for text in texts) / 1e6
    print("| | barrow, MB/s | datatrove, MB/s | plain splitting | same decision |")
    print("|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for name, (ours, theirs) in word_filters(texts, Path(folder)).items():

            def run(theirs: Any = theirs) -> list[bool]:
                found = []
                for text in texts:
                    kept = theirs.filter(Document(text=text, id=""))
                    found.append(bool(kept[0] if isinstance(kept, tuple) else kept))
                return found

            decide(blocks, [ours])
            speed = size / best(lambda: decide(blocks, [ours]), passes)  # noqa: B023
            scratch = Scratch()
            codes = [
                code == 0
                for block in blocks
                for code in ours.decide(Texts(block.text, block.offsets, [], scratch)).code
            ]
            speeds = []
            for splits in (words.split_into_words, letters_and_digits):
                unigram_log_probs.split_into_words = splits
                answers = run()
                speeds.append(size / best(run, passes))
            same = sum(a == b for a, b in zip(codes, answers, strict=True)) / len(texts)
            print(f"| {name} | {speed:,.0f} | {speeds[0]:.2f} | {speeds[1]:.2f} | {same:.2%} |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an archive")
    parser.add_argument("--mb", type=float, default=4.0, help="of text, for both sides")
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_args()
    blocks, size = [], 0.0
    for block in barrow.archive.open(arguments.data).blocks():
        if size < arguments.mb:
            blocks.append(in_memory(block))
            size += block.num_text_bytes / 1e6
    texts = [block.text_of(i) for block in blocks for i in range(len(block))]
    passes = arguments.passes
    decide(blocks, FILTERS.values())  # compiled
    touch(blocks)
    rewrite(texts)

    print(f"{size:.1f} MB in {len(texts):,} documents; datatrove {version('datatrove')}\n")
    print("| barrow | MB/s |\n|---|---|")
    for name, chosen in FILTERS.items():
        seconds = best(lambda chosen=chosen: decide(blocks, [chosen]), passes)  # type: ignore[misc]
        print(f"| {name}, alone | {size / seconds:,.0f} |")
    print(f"| C4 lines: which texts change | {size / best(lambda: touch(blocks), passes):,.0f} |")
    print(f"| C4 lines: all texts rewritten | {size / best(lambda: rewrite(texts), passes):,.0f} |")
    ours = size / best(lambda: decide(blocks, FILTERS.values()), passes)
    print(f"| **all filters together** | **{ours:,.0f}** |\n")
    measure_words(blocks, texts, passes)
    print("| datatrove | MB/s, as shipped | MB/s, plain splitting |\n|---|---|---|")
    shipped = datatrove_times(texts, passes, spaced=False)
    spaced = datatrove_times(texts, passes, spaced=True)
    for name in shipped:
        print(f"| {name} | {size / shipped[name]:.2f} | {size / spaced[name]:.2f} |")
    both = size / shipped["all"], size / spaced["all"]
    print(f"\nbarrow / datatrove: {ours / both[0]:,.0f} as shipped, {ours / both[1]:,.0f} plain.")


if __name__ == "__main__":
    main()
