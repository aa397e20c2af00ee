"""MinHash, exact hashes and 13-gram look-up, beside what else computes them, in one run.

    python benchmarks/bench_dedup.py --data SAMPLE.jsonl.zst [--mb 2] [--passes 3]

Speeds are MB (10^6 bytes) of text per second of processor time, one core. Everybody gets the same
texts, one pass to warm up, and the best of as many passes counts. Each figure is from text to the
result: words, shingles and 14 × 8 signatures folded into bands; content hashes; matches with the
13-grams of passages of other texts. The peers compute 112 permutations of word 5-grams, words split
at white space where they let one choose. The last part plants near-duplicates and counts how many
are found and how many pairs are wrong, and what verification and clustering cost against the
signatures.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import xxhash

import barrow.archive
from barrow.corpus.build.decontaminate import Item, find_matches, ngram_index
from barrow.corpus.dedup.candidates import candidate_pairs
from barrow.corpus.dedup.clusters import choose
from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.minhash import NUM_BANDS, band_hashes, shingle_hashes
from barrow.corpus.dedup.similarity import similarities
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes


def best(function: Callable[[Any], object], items: list[Any], passes: int) -> float:
    """Least seconds of processor time for all items, after a pass to warm up."""
    seconds = []
    for _ in range(passes + 1):
        start = time.process_time()
        for item in items:
            function(item)
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def ours(blocks: list[Any], passes: int) -> dict[str, float]:
    scratch = Scratch()
    size = sum(block.num_text_bytes for block in blocks) / 1e6
    items = [
        Item("other", k, block.text_of(i)[100:900][::-1])
        for k, block in enumerate(blocks)
        for i in range(0, len(block), max(1, len(block) // 90))
    ]
    index = ngram_index(items)

    def words(block: Any) -> Any:
        return word_hashes(block.text, block.offsets, scratch)

    return {
        "words as hashes": size / best(words, blocks, passes),
        "MinHash, 14 × 8": size
        / best(lambda block: band_hashes(shingle_hashes(words(block), scratch)), blocks, passes),
        "content hashes": size / best(lambda b: content_hashes(b.text, b.offsets), blocks, passes),
        f"13-grams, {len(index.table.keys):,} of them": size
        / best(lambda block: find_matches(block.text, block.offsets, index), blocks, passes),
    }


def shingles_of(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[k : k + 5]) for k in range(max(1, len(words) - 4))]


def peers(texts: list[str], passes: int) -> Iterable[tuple[str, float]]:
    size = sum(len(text.encode()) for text in texts) / 1e6
    try:
        from rensa import RMinHash

        def rensa(text: str) -> None:
            signature = RMinHash(num_perm=112, seed=42)
            signature.update(shingles_of(text))
            signature.digest()

        yield f"rensa {version('rensa')}", size / best(rensa, texts, passes)
    except ImportError:
        pass
    try:
        from datasketch import MinHash

        def datasketch(text: str) -> None:
            signature = MinHash(num_perm=112)
            signature.update_batch([shingle.encode() for shingle in shingles_of(text)])

        yield f"datasketch {version('datasketch')}", size / best(datasketch, texts, passes)
    except ImportError:
        pass
    try:
        from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature

        step = MinhashDedupSignature("unused", config=MinhashConfig())
        # Its own call hands over strings, which newer versions of xxhash refuse.
        step._hash_func = lambda text: xxhash.xxh64_intdigest(text.encode())

        def datatrove(text: str) -> None:
            step.get_signature(step.get_shingles(text))

        yield f"datatrove {version('datatrove')}", size / best(datatrove, texts, passes)
    except (ImportError, PackageNotFoundError):
        pass


def planted(texts: list[str], rng: random.Random) -> tuple[list[str], set[tuple[int, int]]]:
    """Texts, and some again with a few words changed; the pairs."""
    documents = list(texts)
    pairs = set()
    for k in range(0, len(texts), 3):
        words = texts[k].split(" ")
        for _ in range(max(1, len(words) // 120)):
            words[rng.randrange(len(words))] = "planted"
        pairs.add((k, len(documents)))
        documents.append(" ".join(words))
    return documents, pairs


def quality(texts: list[str]) -> None:
    documents, pairs = planted(texts, random.Random(0))
    scratch = Scratch()
    start = time.process_time()
    held = Texts.of_strings(documents, [{}] * len(documents), scratch)
    made = time.process_time() - start
    shingles = shingle_hashes(held.words, scratch)
    bands = band_hashes(shingles)
    signing = time.process_time() - start - made
    start = time.process_time()
    numbers = np.arange(len(documents))
    found = np.unique(
        np.concatenate(
            [
                candidate_pairs(bands[:, k].copy(), numbers.astype(np.uint64), numbers)
                for k in range(NUM_BANDS)
            ]
        ),
        axis=0,
    )
    needed = np.unique(found)
    spans = [slice(shingles.offsets[k], shingles.offsets[k + 1]) for k in needed]
    few = type(shingles)(
        np.concatenate([shingles.hashes[span] for span in spans]),
        np.cumsum([0, *(span.stop - span.start for span in spans)]),
    )
    value = similarities(
        few, np.searchsorted(needed, found[:, 0]), np.searchsorted(needed, found[:, 1])
    )
    near = value >= 0.8
    choose(len(documents), found[near], value[near], numbers)
    verifying = time.process_time() - start
    planted_pairs = np.array(sorted(pairs))
    truth = similarities(shingles, planted_pairs[:, 0], planted_pairs[:, 1])
    close = {tuple(pair) for pair in planted_pairs[truth >= 0.9].tolist()}
    kept = {tuple(pair) for pair in found[near].tolist()}
    print(
        f"planted pairs of Jaccard ≥ 0.9: {len(close):,}, "
        f"found {len(close & kept) / len(close):.2%}; "
        f"of {len(found):,} candidates {near.sum():,} are near by their true similarity; "
        f"verification and clustering {verifying / signing:.1%} of the signatures' time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--mb", type=float, default=2.0, help="of text, for everybody")
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    blocks, size = [], 0.0
    for block in barrow.archive.open(options.data).blocks():
        if size < options.mb:
            # The archive's buffers are used again.
            blocks.append(replace(block, text=block.text.copy(), offsets=block.offsets.copy()))
            size += block.num_text_bytes / 1e6
    results = ours(blocks, options.passes)
    print("| | MB/s | ours ÷ it |\n|---|---|---|")
    for name, speed in results.items():
        print(f"| {name} | {speed:.0f} | |")
    texts = [block.text_of(i) for block in blocks for i in range(len(block))]
    for name, speed in peers(texts, options.passes):
        print(f"| {name}, MinHash | {speed:.2f} | {results['MinHash, 14 × 8'] / speed:,.0f} |")
    quality([document.text for document in barrow.archive.open(options.data)])


if __name__ == "__main__":
    main()
