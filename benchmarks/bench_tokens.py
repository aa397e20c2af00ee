"""Encoding speed per core: barrow beside tokenizers, tiktoken, fastokens and gigatoken.

    python benchmarks/bench_tokens.py --data ARCHIVE --tokenizer FOLDER [--reference-bytes 8000000]

Texts go in as they lie in an archive's blocks (UTF-8 in one buffer) and come out as arrays of ids;
making what a library wants of them (str, bytes, lists) counts. Every library encodes each block
once, so that text is new to its cache; the slow ones get the first blocks only. Time is the
process's own, of one thread. All ids are compared with
those of `tokenizers`. The tokenizer is one whose texts are cut as GPT-2's, for tiktoken's sake.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import barrow
import barrow.tokens

SLOW = ("tokenizers", "tiktoken")
Part = tuple[np.ndarray, np.ndarray]
CUT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def read_parts(data: str) -> list[Part]:
    parts = []
    for block in barrow.archive.open(data, threads=1).blocks():
        first, last = block.offsets[0], block.offsets[-1]
        parts.append((block.text[first:last].copy(), block.offsets - first))
    return parts


def as_bytes(part: Part) -> list[bytes]:
    text, offsets = part[0].tobytes(), part[1].tolist()
    return [text[a:b] for a, b in itertools.pairwise(offsets)]


def as_texts(part: Part) -> list[str]:
    return [text.decode() for text in as_bytes(part)]


def flat(lists: list[list[int]]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.uint32), *(np.array(x, np.uint32) for x in lists)])


def contestants(folder: Path) -> dict[str, Callable[[Part], np.ndarray]]:
    import fastokens
    import gigatoken
    import tiktoken
    import tokenizers

    ours = barrow.tokens.load(folder)
    ours.encode("")
    file = str(folder / "tokenizer.json")
    reference = tokenizers.Tokenizer.from_file(file)
    reference.encode_special_tokens = True
    ranks = {ours.token_bytes(i): i for i in range(ours.vocab_size) if ours.token_bytes(i)}
    ranked = tiktoken.Encoding("bench", pat_str=CUT, mergeable_ranks=ranks, special_tokens={})
    fast = fastokens.Tokenizer.from_file(file)
    giga = gigatoken.Tokenizer(file)

    def by_tokenizers(part: Part) -> np.ndarray:
        encodings = reference.encode_batch(as_texts(part), add_special_tokens=False)
        return flat([encoding.ids for encoding in encodings])

    def by_tiktoken(part: Part) -> np.ndarray:
        return flat([ranked.encode_ordinary(text) for text in as_texts(part)])

    def by_fastokens(part: Part) -> np.ndarray:
        ids, _ = fast.encode_batch_flat(as_texts(part), split_special_tokens=True)
        return np.frombuffer(ids, np.uint32)

    def by_gigatoken(part: Part) -> np.ndarray:
        encoded: Any = giga.encode_batch(as_bytes(part), parallel=False)
        return np.asarray(encoded.layout.content.data)

    def by_barrow(part: Part) -> np.ndarray:
        return ours.encode_texts(*part)[0]

    return {
        "tokenizers": by_tokenizers,
        "tiktoken": by_tiktoken,
        "fastokens": by_fastokens,
        "gigatoken": by_gigatoken,
        "barrow": by_barrow,
    }


def main() -> None:
    # Read by the libraries when they are first used.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="an archive")
    parser.add_argument("--tokenizer", required=True, type=Path, help="a folder")
    parser.add_argument("--reference-bytes", type=int, default=8_000_000)
    options = parser.parse_args()
    parts = read_parts(options.data)
    sizes = np.cumsum([len(text) for text, _ in parts])
    libraries = contestants(options.tokenizer)
    few = parts[: int((sizes <= options.reference_bytes).sum()) or 1]
    # Block by block in turn, so that what else the machine does concerns all of them alike.
    seconds: dict[str, float] = {}
    read: dict[str, int] = {}
    same: dict[str, int] = {}
    for number, part in enumerate(parts):
        expected = None
        for name, encode in libraries.items():
            if number >= len(few) and name in SLOW:
                continue
            started = time.process_time()
            ids = encode(part)
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - started
            read[name] = read.get(name, 0) + len(part[0])
            if number < len(few):
                expected = ids if expected is None else expected
                same[name] = same.get(name, 0) + np.array_equal(ids, expected)
    speeds = {name: read[name] / seconds[name] / 1e6 for name in libraries}
    slowest = speeds["tokenizers"]
    print(f"{len(parts)} blocks, {sizes[-1]:,} bytes; ids compared on {len(few)} blocks\n")
    print("| | version | MB/s per core | × tokenizers | blocks with the same ids |")
    print("|---|---|---:|---:|---:|")
    for name, speed in speeds.items():
        version, ratio = importlib.metadata.version(name), speed / slowest
        print(f"| {name} | {version} | {speed:.1f} | {ratio:.1f} | {same[name]}/{len(few)} |")


if __name__ == "__main__":
    main()
