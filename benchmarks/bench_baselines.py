"""Baselines and kinds of text: speed beside plain Python, sizes beside the command-line tools.

    python benchmarks/bench_baselines.py --data ARCHIVE [--order 5] [--repeat 1] [--peer-bytes N]

Every tenth document is scored, the others are trained on (`--repeat` times over, to see longer
corpora; the n-grams are then no new ones). The peer is the same estimator over dictionaries; it
gets the first `--peer-bytes` of the training text and a tenth of that to score, its bits are
compared with barrow's on the same. Time is the process's own. Sizes are compared, document by
document, with those that `xz --format=raw` and `zstd` write.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import platform
import re
import resource
import shutil
import subprocess
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import barrow
from barrow.archive import Block
from barrow.score.baselines.byte_models import Ngram
from barrow.score.baselines.codecs import named_codec
from barrow.score.baselines.compressors import open_compressor
from barrow.score.baselines.kneser_ney import discounts
from barrow.score.baselines.ngram_counts import count_ngrams
from barrow.score.kinds import KINDS, byte_kinds, frequent_words, totals


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def block(texts: list[bytes]) -> Block:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    data = np.frombuffer(b"".join(texts), np.uint8)
    return Block(data, offsets, data[:0], offsets, "", 0, range(len(texts)), 0)


class Dictionaries:
    """Kneser–Ney over dictionaries of byte strings, as one would first write it."""

    def __init__(self, texts: list[bytes], order: int) -> None:
        self.order = order
        counts: list[Counter[bytes]] = [Counter() for _ in range(order + 1)]
        for text in texts:
            padded = bytes(order - 1) + text
            counts[order].update(padded[i : i + order] for i in range(len(text)))
        for length in range(order - 1, 0, -1):
            counts[length].update(ngram[1:] for ngram in counts[length + 1])
        self.counts = counts
        self.discounts = [(0.0, *discounts(np.array(list(c.values())))) for c in counts[1:]]
        self.contexts: list[dict[bytes, list[float]]] = []
        for length, counted in enumerate(counts[1:]):
            table: dict[bytes, list[float]] = defaultdict(lambda: [0.0, 0.0])
            for ngram, count in counted.items():
                entry = table[ngram[:-1]]
                entry[0] += count
                entry[1] += self.discounts[length][min(count, 3)]
            self.contexts.append(dict(table))

    def nats(self, text: bytes) -> float:
        padded = bytes(self.order - 1) + text
        total = 0.0
        for i in range(len(text)):
            p = 1 / 256
            for length in range(1, self.order + 1):
                ngram = padded[i + self.order - length : i + self.order]
                entry = self.contexts[length - 1].get(ngram[:-1])
                if entry is None:
                    break
                count = self.counts[length][ngram]
                own = count - self.discounts[length - 1][min(count, 3)]
                p = (own + entry[1] * p) / entry[0]
            total -= math.log(p)
        return total


def plain_kinds(text: str, word: re.Pattern[str]) -> Counter[int]:
    """Bytes of each kind by a regular expression and `unicodedata`."""
    found: Counter[int] = Counter()
    frequent = frequent_words()
    for match in word.finditer(text):
        piece = match[0]
        if match[1] is not None:
            kind = 3
        elif match[2] is not None:
            kind = 4 if piece.lower() in frequent else 5
        elif piece.isspace():
            kind = 0
        elif piece.isdigit():
            kind = 1
        else:
            category = unicodedata.category(piece)
            kind = 2 if category[0] == "P" else 6
        found[kind] += len(piece.encode())
    return found


def ngrams(train: list[bytes], test: list[bytes], arguments: argparse.Namespace) -> None:
    order = arguments.order
    Ngram(count_ngrams([block([b"warm up"])], order)).score([b"warm"])
    one = block(train)
    blocks = [one] * arguments.repeat
    counts, counting = timed(lambda: count_ngrams(blocks, order))
    model, building = timed(lambda: Ngram(counts))
    scores, scoring = timed(lambda: model.score(test))
    size, scored = counts.num_bytes / 1e6, sum(map(len, test)) / 1e6
    bits = sum(score.nats for score in scores) / (scored * 1e6 * math.log(2))

    few = take(train, arguments.peer_bytes)
    few_test = take(test, arguments.peer_bytes // 10)
    peer, peer_training = timed(lambda: Dictionaries(few, order))
    peer_nats, peer_scoring = timed(lambda: sum(peer.nats(text) for text in few_test))
    ours = Ngram(count_ngrams([block(few)], order))
    own_nats = sum(score.nats for score in ours.score(few_test))
    assert math.isclose(own_nats, peer_nats, rel_tol=1e-9), (own_nats, peer_nats)
    peer_size, peer_scored = sum(map(len, few)) / 1e6, sum(map(len, few_test)) / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    rate = size / (counting + building)
    print(f"\n## ngram:{order}\n")
    print("| | trained on | train MB/s | score MB/s | bits per byte |\n|---|---|---|---|---|")
    print(f"| barrow | {size:.0f} MB | {rate:.1f} | {scored / scoring:.1f} | {bits:.4f} |")
    print(
        f"| dictionaries | {peer_size:.1f} MB | {peer_size / peer_training:.2f} "
        f"| {peer_scored / peer_scoring:.2f} | same to 1e-9 on the same text |"
    )
    print(
        f"\nratio: training {rate / (peer_size / peer_training):.0f}×, scoring "
        f"{scored / scoring / (peer_scored / peer_scoring):.0f}×; {len(counts.keys):,} n-grams, "
        f"{counting:.1f} s to count, {building:.1f} s to estimate; at most {memory:.1f} GB"
    )


def take(texts: list[bytes], num_bytes: int) -> list[bytes]:
    taken, size = [], 0
    for text in texts:
        if size >= num_bytes:
            break
        taken.append(text)
        size += len(text)
    return taken


def compressors(test: list[bytes]) -> None:
    texts = [text for text in test if text][::8]
    size = sum(map(len, texts))
    print("\n## compressors, document by document\n")
    print("| | bits per byte | MB/s | the tool's own sizes |\n|---|---|---|---|")
    for name in ("zstd:3", "zstd:19", "xz", "brotli", "ppmd"):
        try:
            model = open_compressor(name)
        except ImportError as error:
            print(f"| {name} | {error} | | |")
            continue
        scores, seconds = timed(lambda model=model: model.score(texts))
        bits = sum(score.nats for score in scores) / (size * math.log(2))
        print(f"| {name} | {bits:.4f} | {size / 1e6 / seconds:.2f} | {checked(name, texts[:40])} |")


def checked(name: str, texts: list[bytes]) -> str:
    """How many sizes are those of the command-line tool, which may be of another version."""
    tool = name.split(":")[0]
    if tool not in ("xz", "zstd") or shutil.which(tool) is None:
        return ""
    import zstandard

    same = apart = total = 0
    codec = named_codec(name)
    for text in texts:
        if tool == "xz":
            command = ["xz", "--format=raw", "--lzma2=preset=9e", "-c"]
            size = len(subprocess.run(command, input=text, capture_output=True, check=True).stdout)
        else:
            command = ["zstd", f"-{name.split(':')[1]}", "--no-check", f"--stream-size={len(text)}"]
            run = subprocess.run([*command, "-c"], input=text, capture_output=True, check=True)
            size = len(run.stdout) - zstandard.frame_header_size(run.stdout)
        own = codec.measure([text], len(text))
        same, apart, total = same + (size == own), apart + size - own, total + own
    return f"{same} of {len(texts)} the same, {apart:+,} bytes of {total:,}"


def kinds(texts: list[bytes], peer_bytes: int) -> None:
    nats = [np.ones(len(text)) for text in texts]
    totals(texts[0], nats[0])
    size = sum(map(len, texts)) / 1e6
    _, marking = timed(lambda: [byte_kinds(text) for text in texts])
    _, adding = timed(lambda: [totals(*pair) for pair in zip(texts, nats, strict=True)])
    few = take(texts, peer_bytes)
    strings = [text.decode() for text in few]
    word = re.compile(
        r"(\b(?=[A-Za-z0-9]*_|[A-Za-z0-9_]*[a-z][A-Z])[A-Za-z0-9_]+)|([^\W\d_]+)|(\d+)|(\s+)|(.)",
        re.DOTALL,
    )
    _, plain = timed(lambda: [plain_kinds(text, word) for text in strings])
    rate = sum(map(len, few)) / 1e6 / plain
    print("\n## kinds of text\n")
    print("| | MB/s |\n|---|---|")
    print(f"| barrow, kind of every byte | {size / marking:.0f} |")
    print(f"| barrow, bytes and nats of {len(KINDS)} kinds | {size / adding:.0f} |")
    print(f"| a regular expression, bytes alone | {rate:.1f} |")
    print(f"\nratio: {size / adding / rate:.0f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--peer-bytes", type=int, default=1_000_000)
    arguments = parser.parse_args()
    texts = [document.text.encode() for document in barrow.archive.open(arguments.data)]
    test, train = texts[::10], [text for i, text in enumerate(texts) if i % 10]
    versions = " ".join(f"{n} {importlib.metadata.version(n)}" for n in ("numba", "numpy"))
    print(f"# Baselines\n\nPython {sys.version.split()[0]}, {versions}, {platform.machine()}")
    ngrams(train, test, arguments)
    compressors(test)
    kinds(texts, arguments.peer_bytes)


if __name__ == "__main__":
    main()
