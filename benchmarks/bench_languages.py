"""Rules by language: what they keep of prose and of the rest of pages, and how fast.

    python benchmarks/bench_languages.py PAGES [--causes] [--passes 5]

PAGES/de/prose/*.txt should be kept, PAGES/de/other/*.txt not (``language_pages.py`` writes them).
The language is identified, as with ``barrow build --language auto``; the last columns are what the
rules for English keep, and the share of pages whose language was identified as the folder says.
Speeds are MB (10^6 bytes of UTF-8) of prose, in texts of 8 kB, per second of one core's processor
time, all rules and the identification together, best of several passes, and what share it is of
that of English prose, measured in turn.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np

from barrow.corpus.filters.by_language import ByLanguage
from barrow.corpus.filters.filter import Filter
from barrow.corpus.filters.language import identify
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

_SPEED_BYTES = 4_000_000  # of a language's prose, repeated
_TEXT_BYTES = 8_000


def reasons(pages: list[str], rules: Filter) -> list[str]:
    """Why each page goes; empty if it stays. Length is that of the recipe `refine`."""
    texts = Texts.of_strings(pages, [{}] * len(pages), Scratch())
    found = [""] * len(pages)
    for chosen in (Length(min_bytes=100), rules):
        for i, code in enumerate(chosen.decide(texts).code.tolist()):
            found[i] = found[i] or (chosen.reasons[code - 1] if code else "")
    return found


def joined(pages: list[str]) -> list[str]:
    """Pages one after the other, to texts of about `_TEXT_BYTES`."""
    data = "\n\n".join(pages).encode()
    cuts = range(0, len(data), _TEXT_BYTES)
    return [data[at : at + _TEXT_BYTES].decode("utf-8", "ignore") for at in cuts]


def speeds(both: tuple[list[str], list[str]], passes: int) -> tuple[float, float]:
    """MB per second of two sets of pages, joined to texts of the same length, measured in turn."""
    some = [joined(pages) * max(1, _SPEED_BYTES // len("".join(pages).encode())) for pages in both]
    scratch, times = Scratch(), [9e9, 9e9]
    for k in range(2 * passes + 2):
        texts = Texts.of_strings(some[k % 2], [{}] * len(some[k % 2]), scratch)
        start = time.process_time()
        ByLanguage().decide(texts)
        if k >= 2:  # the first are to warm up
            times[k % 2] = min(times[k % 2], time.process_time() - start)
    first, second = (len("".join(s).encode()) / t / 1e6 for s, t in zip(some, times, strict=True))
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path)
    parser.add_argument("--causes", action="store_true", help="name every page judged wrongly")
    parser.add_argument("--passes", type=int, default=5)
    arguments = parser.parse_args()
    print("| language | prose kept | other kept | rules for English | identified | MB/s |")
    print("|---|---|---|---|---|---|")
    english: list[str] = []  # its folder is the first
    totals = Counter[str]()
    wrong = []
    folders = sorted(arguments.pages.iterdir(), key=lambda f: (f.name != "en", f.name))
    for folder in folders:
        cells, before, right, pages = [], [], [], []
        for kind in ("prose", "other"):
            paths = sorted((folder / kind).glob("*.txt"))
            pages = [path.read_text() for path in paths]
            if not pages:
                cells.append("–")
                continue
            found = reasons(pages, ByLanguage())
            kept = found.count("")
            cells.append(f"{kept} of {len(found)} ({kept / len(found):.0%})")
            before.append(f"{reasons(pages, ByLanguage(language='en')).count('') / len(found):.0%}")
            codes = identify(Texts.of_strings(pages, [{}] * len(pages), Scratch())).codes
            right.append(f"{np.mean(codes == folder.name):.0%}")
            if folder.name != "en":
                totals[f"{kind} kept"] += kept
                totals[kind] += len(found)
            wrong += [
                (folder.name, kind, path.stem, reason or "kept", code)
                for path, reason, code in zip(paths, found, codes.tolist(), strict=True)
                if (kind == "prose") == bool(reason)
            ]
        prose = [path.read_text() for path in sorted((folder / "prose").glob("*.txt"))]
        english = english or prose
        first, rate = speeds((english, prose), arguments.passes)
        print(f"| {folder.name} | {' | '.join(cells)} | ", end="")
        print(
            f"{', '.join(before)} | {', '.join(right)} | {rate:.0f} ({rate / first:.0%}) |",
            flush=True,
        )
    for kind in ("prose", "other"):
        share = totals[f"{kind} kept"] / max(1, totals[kind])
        print(f"\nof {totals[kind]} pages of {kind} in other languages {share:.1%} are kept")
    if arguments.causes:
        print(*("\t".join(row) for row in wrong), sep="\n")


if __name__ == "__main__":
    main()
