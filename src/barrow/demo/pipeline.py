"""The steps of the demo, each from the folder of the one before: corpus, tokens, run, scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import barrow.archive
from barrow.engine import Engine, Progress
from barrow.files import make_folder

if TYPE_CHECKING:
    from barrow.score import Result
    from barrow.tokens import TokenStore
    from barrow.train.trackers import Tracker

Staged = Callable[[], AbstractContextManager[Progress]]

# What the steps make in the folder.
PARTS = ("raw", "corpus", "tokenizer", "tokens", "validation", "run", "scores", "board.html")
# Enough merges for good tokens of a few megabytes of text, few enough for a small model.
_VOCAB_SIZE = 4096
# What the model is measured against; "whole:" sees all documents of a domain at once.
_BASELINES = ("ngram:5", "xz", "zstd:19", "unigram", "uniform", "whole:xz")
_ENGINE = Engine(num_workers=2)


def build(out: Path, staged: Staged) -> dict[str, Any]:
    """The corpus of the raw files, verified; what `barrow.corpus.build.build` reports."""
    from barrow.corpus import build
    from barrow.demo import pocket

    with staged() as progress:
        report = build(
            pocket.recipe(),
            root=out / "raw",
            out=out / "corpus",
            engine=_ENGINE,
            progress=progress,
        )
    for problem in barrow.archive.verify(out / "corpus", deep=True).problems:
        raise problem
    return report


def tokenize(out: Path, staged: Staged) -> TokenStore:
    """Stores of the train and validation splits, by a tokenizer trained on the first."""
    import barrow.tokens

    archive = barrow.archive.open(out / "corpus")
    sample = barrow.tokens.draw_sample(archive, num_bytes=8_000_000)
    tokenizer = barrow.tokens.train(sample.texts(archive), vocab_size=_VOCAB_SIZE)
    tokenizer.save(out / "tokenizer")
    stores = []
    for split, name in ((".", "tokens"), ("validation", "validation")):
        with staged() as progress:
            store = barrow.tokens.tokenize(
                out / "corpus" / split,
                tokenizer=tokenizer,
                out=out / name,
                engine=_ENGINE,
                progress=progress,
            )
        stores.append(store)
    return stores[0]


def train(out: Path, *, steps: int, trackers: Sequence[Tracker]) -> None:
    """A small Llama, for so many steps of 2,048 tokens."""
    from barrow.recipes import llama
    from barrow.train import fit, for_store

    run = for_store(
        replace(llama.tiny(), steps=steps), out / "tokens", validation=out / "validation"
    )
    fit(run, out / "run", trackers=trackers)


def score(
    out: Path, *, limit: int | None, shown: Callable[[str], AbstractContextManager[Any]]
) -> list[Result]:
    """The model and the baselines on the test split; each result in a folder too."""
    from barrow.score import ModelOptions, open_corpus, open_model, score
    from barrow.score.training_corpus import receipt_or_hint

    corpus, folder = out / "corpus", out / "scores"
    make_folder(folder)
    options = ModelOptions(train=str(corpus), cache=folder / "baselines")
    scored = open_corpus(str(corpus), split="test", limit=limit)
    results = []
    receipt = None
    for name in ("model", *_BASELINES):
        model = open_model(str(out / "run") if name == "model" else name, options)
        if receipt is None:
            receipt, _ = receipt_or_hint(scored, model.info, str(corpus))
        place = folder / name.replace(":", "-")
        with shown(f"Scoring {name}") as advance:
            result = score(model, scored, out=place, contamination=receipt, on_progress=advance)
        assert result is not None  # one process has the whole
        results.append(result)
    return results
