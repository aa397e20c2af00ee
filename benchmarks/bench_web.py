r"""Main text of web pages: barrow and its peers, F1 against gold texts, and speed, in one run.

``--data`` is a folder with ``ground-truth.json`` (an object of `articleBody` by name) and
``html/NAME.html.gz``, as the article extraction benchmark of Zyte publishes them and
``gold_pages.py`` writes them. Scores are that benchmark's: tokens ``\w+``, shingles of 4, mean
precision and recall over the pages, and the same for single tokens. Where the gold names a page's
title, a first line that is the title does not count. The half `dev` is for looking at pages one by
one; `held out` is what the gold calls `test`, or half of the names. At the end, the difference of
barrow and each peer on the latter, with a paired bootstrap over pages, and the pages that are empty
although the peer gives 500 characters.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from barrow.corpus.text.html.page import page_text

Extract = Callable[[str], str]

# Words; characters where there are no blanks between words.
_UNSPACED = "\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
# Marks of lists and of code: some extractors write them, others do not.
_MARK = re.compile(r"^[ \t>]*\d{1,3}\. |`", re.MULTILINE)
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def shingles(text: str, size: int) -> Counter[tuple[str, ...]]:
    tokens = _TOKEN.findall(_MARK.sub("", text))
    if len(tokens) < size:
        return Counter([tuple(tokens)] if tokens else [])
    return Counter(tuple(tokens[k : k + size]) for k in range(len(tokens) - size + 1))


Scores = list[tuple[float | None, float | None]]


def page_scores(golds: list[str], found: list[str], size: int) -> Scores:
    """Precision and recall of each page; None where there is nothing to divide by."""
    scores: Scores = []
    for gold, text in zip(golds, found, strict=True):
        wanted, got = shingles(gold, size), shingles(text, size)
        both = (wanted & got).total()
        precision = both / got.total() if got else None
        scores.append((precision, both / wanted.total() if wanted else None))
    return scores


def score(scores: Scores) -> tuple[float, float, float]:
    """Mean precision, mean recall and F1 of these."""
    precision, recall = (
        sum(values) / max(1, len(values))
        for values in (
            [p for p, _ in scores if p is not None],
            [r for _, r in scores if r is not None],
        )
    )
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def interval(ours: Scores, theirs: Scores, samples: int = 2000) -> tuple[float, float]:
    """Where 95% of the differences of F1 are, over samples of the same pages for both."""
    draw = random.Random(0)
    differences = []
    for _ in range(samples):
        chosen = draw.choices(range(len(ours)), k=len(ours))
        pair = (score([scores[k] for k in chosen])[2] for scores in (ours, theirs))
        differences.append(next(pair) - next(pair))
    differences.sort()
    return differences[samples // 40], differences[-samples // 40]


def without_title(text: str, title: str) -> str:
    first, _, rest = text.partition("\n")
    return rest if title and first.strip("# \n") == title else text


def peers() -> dict[str, Extract]:
    """Extractors that are installed."""
    found: dict[str, Extract] = {"barrow": lambda page: page_text(page).text}
    try:
        import trafilatura

        def with_options(**options: bool) -> Extract:
            return lambda page: trafilatura.extract(page, include_comments=False, **options) or ""

        found["trafilatura"] = with_options()
        found["trafilatura, precision"] = with_options(favor_precision=True)
        found["trafilatura, recall"] = with_options(favor_recall=True)
        found["trafilatura, fast"] = with_options(fast=True)
        found["trafilatura, fast, precision"] = with_options(fast=True, favor_precision=True)
    except ImportError:
        pass
    try:
        from resiliparse.extract.html2text import extract_plain_text

        found["resiliparse"] = lambda page: extract_plain_text(
            page, main_content=True, alt_texts=False, links=False, comments=False
        )
    except ImportError:
        pass
    try:
        import lxml.html
        import readability

        found["readability-lxml"] = lambda page: str(
            lxml.html.fromstring(readability.Document(page).summary()).text_content()
        )
    except ImportError:
        pass
    try:
        import justext

        words = justext.get_stoplist("English")
        found["jusText"] = lambda page: "\n".join(
            part.text for part in justext.justext(page, words) if not part.is_boilerplate
        )
    except ImportError:
        pass
    try:
        from boilerpy3 import extractors

        article = extractors.ArticleExtractor(raise_on_failure=False)
        found["boilerpy3"] = lambda page: str(article.get_content(page))
    except ImportError:
        pass
    return found


def run(extract: Extract, pages: list[str], repeat: int) -> tuple[list[str], float]:
    best = float("inf")  # CPU seconds: other work on the machine does not count
    texts: list[str] = []
    for _ in range(repeat):
        begin = time.process_time()
        texts = []
        for page in pages:
            try:
                texts.append(extract(page))
            except Exception:
                texts.append("")
        best = min(best, time.process_time() - begin)
    return texts, best


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--only", nargs="+", help="beginnings of the names of extractors")
    options = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    truth = json.loads((options.data / "ground-truth.json").read_text())
    names = sorted(truth)
    pages = [
        gzip.decompress((options.data / "html" / f"{name}.html.gz").read_bytes()).decode(
            "utf-8", "replace"
        )
        for name in names
    ]
    golds = [truth[name]["articleBody"] for name in names]
    titles = [truth[name].get("title", "") for name in names]
    is_test = [
        truth[name]["half"] == "test" if "half" in truth[name] else int(name[:4], 16) % 2 == 1
        for name in names
    ]
    size = sum(len(page.encode()) for page in pages) / 1e6
    print(f"{len(pages)} pages, {sum(is_test)} of them held out, {size:.1f} MB\n")
    print("| | precision | recall | F1 | dev F1 | held out F1 | F1 of tokens | held out | MB/s |")
    print("|---|---|---|---|---|---|---|---|---|")
    held_out: dict[str, tuple[Scores, list[str]]] = {}
    for name, extract in peers().items():
        if options.only and not name.startswith(tuple(options.only)):
            continue
        texts, seconds = run(extract, pages, options.repeat)
        texts = [without_title(text, title) for text, title in zip(texts, titles, strict=True)]
        fours, ones = (page_scores(golds, texts, shingle) for shingle in (4, 1))

        def of(half: bool, scores: Scores) -> Scores:
            return [s for s, test in zip(scores, is_test, strict=True) if test is half]

        figures = (
            *score(fours),
            score(of(False, fours))[2],
            score(of(True, fours))[2],
            score(ones)[2],
            score(of(True, ones))[2],
        )
        held_out[name] = (
            of(True, fours),
            [t for t, test in zip(texts, is_test, strict=True) if test],
        )
        shown = " | ".join(f"{figure:.4f}" for figure in figures)
        print(f"| {name} | {shown} | {size / seconds:.1f} |", flush=True)
    print("\n| barrow minus, held out | F1 | 95% | empty where it gives 500 |\n|---|---|---|---|")
    ours, our_texts = held_out.pop("barrow")
    for name, (theirs, texts) in held_out.items():
        low, high = interval(ours, theirs)
        empty = sum(
            not our.strip() and len(text) >= 500 for our, text in zip(our_texts, texts, strict=True)
        )
        difference = score(ours)[2] - score(theirs)[2]
        print(f"| {name} | {difference:+.4f} | {low:+.4f} to {high:+.4f} | {empty} |")


if __name__ == "__main__":
    main()
