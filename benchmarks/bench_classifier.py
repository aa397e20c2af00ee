"""The quality classifier beside its peers, on the same documents, in one run.

    python benchmarks/bench_classifier.py --data ARCHIVE [--positives A,B] [--negatives C,D]

Positives and negatives are domains (``pile_set_name``) of an archive. All learn from the same
documents and are measured on the same test documents, each looking at the same characters. Peers:
fastText supervised with pairs of words (as The Pile used) and scikit-learn's HashingVectorizer with
LogisticRegression; one that is not installed is left out. Speeds are MB (10^6 UTF-8 bytes of the
whole texts) per second of processor time, one core pinned, best of several passes; for the peers
that includes cutting the strings.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import barrow.archive
from barrow.corpus.classifier.model import Classifier
from barrow.corpus.classifier.training import (
    TrainingSettings,
    area_under_curve,
    read_examples,
    train,
)
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

Scorer = Callable[[list[str]], np.ndarray]


def cut(text: str) -> str:
    return " ".join(text.split("\n"))[:4000][-1500:]


def fasttext_scorer(positives: list[str], negatives: list[str]) -> Scorer:
    import fasttext

    def line(text: str) -> str:
        return " ".join(re.findall(r"\w+", cut(text).lower()))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        labelled = [f"__label__yes {line(text)}" for text in positives]
        labelled += [f"__label__no {line(text)}" for text in negatives]
        np.random.default_rng(0).shuffle(labelled)
        path.write_text("\n".join(labelled))
        once = {"wordNgrams": 2, "thread": 1, "verbose": 0}
        model = fasttext.train_supervised(str(path), lr=0.5, epoch=25, **once)

    def score(texts: list[str]) -> np.ndarray:
        labels, shares = model.predict([line(text) for text in texts], k=2)
        return np.array(
            [dict(zip(names, found, strict=True))["__label__yes"]
             for names, found in zip(labels, shares, strict=True)]
        )  # fmt: skip

    return score


def sklearn_scorer(positives: list[str], negatives: list[str]) -> Scorer:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import LogisticRegression

    vectors = HashingVectorizer(ngram_range=(1, 2), alternate_sign=False)
    model = LogisticRegression(C=100.0, max_iter=500)
    labels = [1] * len(positives) + [0] * len(negatives)
    model.fit(vectors.transform(map(cut, [*positives, *negatives])), labels)
    return lambda texts: model.predict_proba(vectors.transform(map(cut, texts)))[:, 1]


def best_seconds(work: Callable[[], object], passes: int) -> float:
    seconds = []
    for _ in range(passes):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--positives", default="OpenWebText2,Wikipedia (en),PubMed Abstracts")
    parser.add_argument("--negatives", default="Pile-CC,HackerNews,StackExchange")
    parser.add_argument("--passes", type=int, default=5)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    blocks = list(barrow.archive.open(arguments.data).blocks())
    learnt, tested = [], []
    for names in (arguments.positives.split(","), arguments.negatives.split(",")):
        found = [
            document.text
            for block in blocks
            for document in block.documents()
            if document.meta.get("pile_set_name") in names and len(document.text) > 100
        ]
        found = [found[i] for i in np.random.default_rng(1).permutation(len(found))]
        learnt.append(found[: len(found) * 7 // 10])
        tested.append(found[len(found) * 7 // 10 :])
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}; ",
        end="",
    )
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba")))
    print(f"learnt from {len(learnt[0])} and {len(learnt[1])}, tested on ", end="")
    print(f"{len(tested[0])} and {len(tested[1])} documents")
    print("\n| | AUC | training, s | scoring, MB/s | ratio |\n|---|---|---|---|---|")

    scratch = Scratch()
    parts = [Texts.of_block(block, scratch) for block in blocks]
    num_bytes = sum(block.num_text_bytes for block in blocks)
    everything = [block.text_of(i) for block in blocks for i in range(len(block))]
    train_ours(learnt)  # compiles
    started = time.process_time()
    ours = train_ours(learnt)
    seconds = time.process_time() - started
    scores = [ours.scores(Texts.of_strings(side, [{}] * len(side), scratch)) for side in tested]
    speed = num_bytes / best_seconds(lambda: [ours.scores(p) for p in parts], arguments.passes)
    print(f"| barrow | {area_under_curve(*scores):.4f} | {seconds:.2f} | {speed / 1e6:.0f} | 1 |")
    for name, make in (("fastText", fasttext_scorer), ("scikit-learn", sklearn_scorer)):
        try:
            started = time.process_time()
            score = make(*learnt)
        except (ImportError, AttributeError):  # a fastText that can only predict is no help
            print(f"| {name} | not installed | | | |")
            continue
        seconds = time.process_time() - started
        area = area_under_curve(*(score(side) for side in tested))
        peer = num_bytes / best_seconds(lambda: score(everything), 2)  # noqa: B023
        print(f"| {name} | {area:.4f} | {seconds:.2f} | {peer / 1e6:.1f} | {peer / speed:.3f} |")


def train_ours(sides: list[list[str]]) -> Classifier:
    # The others hold nothing back, so ours holds back next to nothing.
    settings = TrainingSettings(test_share=0.01)
    examples = [
        read_examples([Texts.of_strings(side, [{}] * len(side), Scratch())], settings)
        for side in sides
    ]
    trained = train(*examples, settings)
    return Classifier(settings.classifier, trained.weights, trained.bias, "")


if __name__ == "__main__":
    main()
