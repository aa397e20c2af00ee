"""The confirmation: the recommended against the current mixture, by pairs of runs of `train`.

Both of a pair have the same seed and tokens, and are compared document by document on the
validation text. Each pair has another seed, and none that of the proxies, on whose batches the law
was fitted. The verdict is kept whatever it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import jax
import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.files import write_bytes
from barrow.mix.plan import size_label
from barrow.mix.runs import Array
from barrow.mix.search import Search
from barrow.score.paired_bootstrap import RESAMPLES, SEED
from barrow.train.run import token_settings

if TYPE_CHECKING:
    from barrow.score.result import Result
    from barrow.score.scored_corpus import Text

_AT_ONCE = 500  # resamples that are held at a time
_PAIRS = 3  # that are trained, where they take no longer than the proxies took
_SECONDS = "training_seconds"  # of a run, among the settings of its scores

Answer = Literal["yes", "no", "not shown"]


@dataclass(frozen=True)
class Change:
    """Bits per byte of the recommended mixture less those of the current one, with 95% bounds."""

    difference: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class Verdict:
    """The answer: whether the recommended mixture is better by the objective.

    "yes" and "no" have 95%, of the mean over the pairs, and the same sign in each pair. `seeds` and
    `differences` (of the objective) are those of the pairs; earlier versions, which trained one
    pair, left them out.
    """

    answer: Answer
    params: int
    tokens: int
    card: str
    objective: Change
    domains: dict[str, Change]
    weights: dict[str, float]
    current: dict[str, float]
    seeds: tuple[int, ...] = ()
    differences: tuple[float, ...] = ()


def confirm(
    search: Search,
    texts: Sequence[Text],
    *,
    params: int,
    weights: Mapping[str, float],
    current: Mapping[str, float],
    counts: Mapping[str, float],
    seconds: float,
) -> Verdict:
    """Train both mixtures at a size, score them and compare; what is done is not done again.

    There are three pairs if they take at most `seconds`, by what the first took; else one.
    """
    from barrow.score.diff import compare

    first = search.plan.design.seed + 1
    pairs = [_pair(search, texts, params, (weights, current), first)]
    took = sum(float(result.settings.get(_SECONDS, math.nan)) for result in pairs[0])
    seeds = range(first, first + (_PAIRS if _PAIRS * took <= seconds else 1))
    pairs += [_pair(search, texts, params, (weights, current), seed) for seed in seeds[1:]]

    def objective(one: Result, other: Result) -> Change:
        assert one.documents is not None
        assert other.documents is not None
        return weighted_change(
            one.documents.nats - other.documents.nats,
            one.documents.bytes,
            one.documents.domain,
            np.array([counts[name] for name in one.documents.domains]),
        )

    mean = [_mean(results) for results in zip(*pairs, strict=True)]
    change = objective(*mean)
    differences = [objective(*pair).difference for pair in pairs]
    compared = compare(*mean)
    run = search.proxy(params)
    verdict = Verdict(
        _answer(change, differences),
        params,
        run.steps * run.batches[0] * run.seq_len,
        search.validation.card,
        change,
        {
            row.name: Change(row.difference or 0.0, row.low, row.high, row.p)
            for row in compared.domains
        },
        dict(weights),
        dict(current),
        tuple(seeds),
        tuple(differences),
    )
    write_bytes(verdict_file(search.folder), config.to_json(verdict).encode())
    return verdict


def _answer(change: Change, differences: Sequence[float]) -> Answer:
    assert change.low is not None
    assert change.high is not None
    if change.high < 0 and max(differences) < 0:
        return "yes"
    return "no" if change.low > 0 and min(differences) > 0 else "not shown"


def _mean(results: Sequence[Result]) -> Result:
    """The first, with the means of all in the figures of documents."""
    held = [result.documents for result in results if result.documents is not None]
    nats = np.mean([documents.nats for documents in held], axis=0)
    kind_nats = np.mean([documents.kind_nats for documents in held], axis=0)
    return replace(results[0], documents=replace(held[0], nats=nats, kind_nats=kind_nats))


def verdict_file(folder: Path) -> Path:
    """Where a search keeps its verdict."""
    return folder / "confirmation" / "verdict.json"


def read_verdict(folder: Path) -> Verdict | None:
    """The verdict of a search; None before a pair was trained."""
    file = verdict_file(folder)
    if not file.exists():
        return None
    return config.from_json(Verdict, file.read_text(encoding="utf-8"), where=file)


def weighted_change(
    differences: Array,
    sizes: npt.NDArray[np.int64],
    domain: npt.NDArray[np.integer],
    counts: Array,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Change:
    """The change of a weighted mean of the domains' bits per byte, by a paired bootstrap.

    `differences` are nats of documents; documents are drawn with replacement within their domain.
    """
    rng = np.random.default_rng(seed)
    found, drawn = 0.0, np.zeros(resamples)
    for place, count in enumerate(counts):
        own = domain == place
        if not count or not sizes[own].sum():
            continue
        scale = count / math.log(2)
        found += scale * differences[own].sum() / sizes[own].sum()
        num = int(own.sum())
        for start in range(0, resamples, _AT_ONCE):
            some = slice(start, min(start + _AT_ONCE, resamples))
            times = rng.multinomial(num, np.full(num, 1 / num), some.stop - some.start)
            drawn[some] += scale * (times @ differences[own]) / np.maximum(times @ sizes[own], 1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    other = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    return Change(found, float(low), float(high), min(1.0, 2 * (int(other) + 1) / (resamples + 1)))


def _pair(
    search: Search,
    texts: Sequence[Text],
    params: int,
    mixtures: tuple[Mapping[str, float], Mapping[str, float]],
    seed: int,
) -> list[Result]:
    results = [_scored(search, texts, params, mixture, seed) for mixture in mixtures]
    for result in results:
        assert result.card.hash == search.validation.card, "the same text, the same windows"
    return results


def _scored(
    search: Search, texts: Sequence[Text], params: int, mixture: Mapping[str, float], seed: int
) -> Result:
    from barrow.archive import Document
    from barrow.score import ScoredCorpus, open_model, score
    from barrow.score.diff import read_scored
    from barrow.train.fit import fit

    identity = hashlib.sha256(json.dumps([params, sorted(mixture.items())]).encode()).hexdigest()
    # Earlier versions trained one pair, whose folders do not have the seed in their names.
    suffix = "" if seed == search.plan.design.seed + 1 else f"-seed{seed}"
    folder = search.folder / "confirmation" / f"{size_label(params)}-{identity[:12]}{suffix}"
    if not (folder / "scores.json").exists():
        run = search.proxy(params, seed=seed)
        data = token_settings(run.data)
        rows = max(data.batches[0], len(jax.devices()))
        used = {name: weight for name, weight in mixture.items() if weight}
        run = replace(run, data=replace(data, weights=used, batch=rows))
        search.say(f"confirmation: {size_label(params)}, {run.steps:,} steps, seed {seed}")
        began = time.perf_counter()
        fit(run, folder / "run")
        took = time.perf_counter() - began
        documents = [Document(t.text.decode(), {"pile_set_name": t.domain}) for t in texts]
        # The precision of the proxies' scores.
        model = open_model(str(folder / "run"))
        corpus = ScoredCorpus("validation", None, documents)
        score(model, corpus, out=folder, settings={_SECONDS: took})
    return read_scored(folder)
