"""How fast documents are looked through for texts, beside a search for the same bytes.

python benchmarks/bench_takedown.py --data ARCHIVE
"""

from __future__ import annotations

import argparse
import time

import barrow.archive
from barrow.corpus.takedown.rules import Matcher, Rules
from barrow.corpus.takedown.texts import TextRule


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    archive = barrow.archive.open(parser.parse_args().data, threads=1)
    # Cut between words: half a word is another one.
    texts = [document.text[:2000].rpartition(" ")[0] for document in archive[:100]]
    matcher = Matcher(Rules(texts=tuple(TextRule.of(text) for text in texts)))
    wanted = [text.encode() for text in texts]
    rates: dict[str, float] = {}
    found: dict[str, int] = {}
    for _ in range(4):
        seconds = {"takedown, by words": 0.0, "bytes.find, exact": 0.0}
        found = dict.fromkeys(seconds, 0)
        size = 0
        for block in archive.blocks():
            size += block.num_text_bytes
            start = time.process_time()
            found["takedown, by words"] += int(matcher.texts_match(block).sum())
            middle = time.process_time()
            whole = block.text[block.offsets[0] : block.offsets[-1]].tobytes()
            found["bytes.find, exact"] += sum(text in whole for text in wanted)
            seconds["takedown, by words"] += middle - start
            seconds["bytes.find, exact"] += time.process_time() - middle
        for name, spent in seconds.items():
            rates[name] = max(rates.get(name, 0.0), size / spent / 1e6)
    slowest = rates["bytes.find, exact"]
    print("| 100 texts looked for | MB/s per core | ratio | found |\n|---|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.0f} | {rate / slowest:.2f} | {found[name]} |")


if __name__ == "__main__":
    main()
