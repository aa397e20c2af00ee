"""Personal data found and replaced, beside datatrove and scrubadub, in one run.

    python benchmarks/bench_pii.py --data ARCHIVE [--mb 40] [--passes 3]

Speeds are MB (10^6 bytes) of UTF-8 text per second of processor time, one core, best of several
passes; peers get the same documents as strings, fewer of them where they are slow. Precision and
recall are on a labelled set made here: an item is found when a find overlaps it, and a find is
wrong when it overlaps none of its category.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version

import numpy as np

import barrow.archive
from barrow.corpus.filters.pii.pii import RedactPii, RejectPii, find_pii
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from pii_labelled import PLANTS, labelled

Span = tuple[str, int, int]


def speed(work: Callable[[], object], megabytes: float, passes: int) -> float:
    best = float("inf")
    for _ in range(passes):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return megabytes / best


def scores(found: Iterable[Span], items: list[Span]) -> dict[str, tuple[int, int, int, int]]:
    """By category: items, items found, finds, finds that are right."""
    finds = list(found)
    table = {}
    for category in PLANTS:
        wanted = [(a, b) for kind, a, b in items if kind == category]
        got = [(a, b) for kind, a, b in finds if kind == category]
        hit = sum(any(a < d and c < b for c, d in got) for a, b in wanted)
        right = sum(any(a < d and c < b for c, d in wanted) for a, b in got)
        table[category] = (len(wanted), hit, len(got), right)
    return table


def with_datatrove(text: str) -> list[Span]:
    from datatrove.pipeline.formatters.pii import PIIFormatter

    formatter = PIIFormatter()
    found = []
    for category, replacer in (("email", formatter.emails_replacer), ("ip", formatter.ip_replacer)):
        for match in replacer.regex.finditer(text):
            if replacer.validator is None or replacer.validator(match.group(0)):
                found.append((category, match.start(), match.end()))
    return found


def with_scrubadub(text: str) -> list[Span]:
    import scrubadub

    names = {"email": "email", "phone": "phone", "credit_card": "card"}
    names |= {"social_security_number": "ssn", "credential": "secret"}
    scrubber = scrubadub.Scrubber()
    return [
        (names[filth.type], filth.beg, filth.end)
        for filth in scrubber.iter_filth(text)
        if filth.type in names
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an archive")
    parser.add_argument("--mb", type=float, default=40)
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    blocks: list[tuple[np.ndarray, np.ndarray]] = []
    size = 0
    for block in barrow.archive.open(options.data).blocks():
        blocks.append((block.text.copy(), block.offsets.copy()))
        size += block.num_text_bytes
        if size >= options.mb * 1e6:
            break
    scratch = Scratch()
    texts = [Texts(text, offsets, [{}] * (len(offsets) - 1), scratch) for text, offsets in blocks]
    redact, reject = RedactPii(), RejectPii()

    def rewrite() -> None:
        for some in texts:
            for i in np.flatnonzero(redact.touches(some)).tolist():
                redact.rewrite(some.text_of(i), {})

    rewrite()
    megabytes = size / 1e6
    rows = [
        ("barrow: touches", speed(lambda: [redact.touches(t) for t in texts], megabytes, 5)),
        ("barrow: touches and rewrite, 7 categories", speed(rewrite, megabytes, 5)),
        ("barrow: reject", speed(lambda: [reject.decide(t) for t in texts], megabytes, 5)),
    ]
    strings = [some.text_of(i) for some in texts for i in range(len(some))]
    try:
        from datatrove.pipeline.formatters.pii import PIIFormatter

        formatter = PIIFormatter()
        rows.append(
            (
                f"datatrove {version('datatrove')} PIIFormatter: mail, IP",
                speed(lambda: [formatter.format(s) for s in strings], megabytes, options.passes),
            )
        )
    except ImportError:
        print("datatrove is not installed")
    try:
        import scrubadub

        scrubber = scrubadub.Scrubber()
        few = [s for s in strings[::40] if len(s) < 20_000]
        part = sum(len(s.encode()) for s in few) / 1e6
        name = f"scrubadub {version('scrubadub')}, {part:.1f} MB"
        rows.append((name, speed(lambda: [scrubber.clean(s) for s in few], part, 1)))
    except ImportError:
        print("scrubadub is not installed")
    print(f"{platform.machine()}, Python {platform.python_version()}, {megabytes:.1f} MB\n")
    print("| | MB/s | barrow's rewrite is |\n|---|---|---|")
    for name, rate in rows:
        print(f"| {name} | {rate:.1f} | {rows[1][1] / rate:.1f}× |")
    text, items = labelled(1, 300)
    tables = {"barrow": scores([tuple(one) for one in find_pii(text)], items)}
    for name, finder in (("datatrove", with_datatrove), ("scrubadub", with_scrubadub)):
        try:
            tables[name] = scores(finder(text), items)
        except ImportError:
            continue
    print("\n| category | planted |" + "".join(f" {n} recall | {n} precision |" for n in tables))
    print("|---|---|" + "---|---|" * len(tables))
    for category in PLANTS:
        cells = [f"| {category} | {tables['barrow'][category][0]} |"]
        for table in tables.values():
            num, hit, finds, right = table[category]
            cells.append(f" {hit / num:.3f} | {right / finds:.3f} |" if finds else " – | – |")
        print("".join(cells))


if __name__ == "__main__":
    main()
