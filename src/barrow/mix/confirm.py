"""The confirmation: the recommended against the current mixture, one pair of runs of `train`.

Both have the same seeds and tokens, and are compared document by document on the validation text,
as `barrow score diff` does. The verdict is kept whatever it is.
"""

from __future__ import annotations

import hashlib
import json
import math
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
    """Whether the recommended mixture is better by the objective: "yes" or "no" with 95%."""

    answer: Answer
    params: int
    tokens: int
    card: str
    objective: Change
    domains: dict[str, Change]
    weights: dict[str, float]
    current: dict[str, float]


def confirm(
    search: Search,
    texts: Sequence[Text],
    *,
    params: int,
    weights: Mapping[str, float],
    current: Mapping[str, float],
    counts: Mapping[str, float],
) -> Verdict:
    """Train both mixtures at a size, score them and compare; what is done is not done again."""
    from barrow.score.diff import compare

    results = [_scored(search, texts, params, mixture) for mixture in (weights, current)]
    for result in results:
        assert result.card.hash == search.validation.card, "the same text, the same windows"
    compared = compare(*results)
    first, second = (result.documents for result in results)
    assert first is not None
    assert second is not None
    objective = weighted_change(
        first.nats - second.nats,
        first.bytes,
        first.domain,
        np.array([counts[name] for name in first.domains]),
    )
    assert objective.low is not None
    assert objective.high is not None
    answer: Answer = "not shown"
    if objective.high < 0 or objective.low > 0:
        answer = "yes" if objective.high < 0 else "no"
    run = search.proxy(params)
    verdict = Verdict(
        answer,
        params,
        run.steps * run.batches[0] * run.seq_len,
        search.validation.card,
        objective,
        {
            row.name: Change(row.difference or 0.0, row.low, row.high, row.p)
            for row in compared.domains
        },
        dict(weights),
        dict(current),
    )
    write_bytes(verdict_file(search.folder), config.to_json(verdict).encode())
    return verdict


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


def _scored(
    search: Search, texts: Sequence[Text], params: int, mixture: Mapping[str, float]
) -> Result:
    from barrow.archive import Document
    from barrow.score import ScoredCorpus, open_model, score
    from barrow.score.diff import read_scored
    from barrow.train.fit import fit

    identity = hashlib.sha256(json.dumps([params, sorted(mixture.items())]).encode()).hexdigest()
    folder = search.folder / "confirmation" / f"{size_label(params)}-{identity[:12]}"
    if not (folder / "scores.json").exists():
        # Another seed than the proxies', whose batches the law was fitted on.
        run = search.proxy(params, seed=search.plan.design.seed + 1)
        data = token_settings(run.data)
        rows = max(data.batches[0], len(jax.devices()))
        used = {name: weight for name, weight in mixture.items() if weight}
        run = replace(run, data=replace(data, weights=used, batch=rows))
        search.say(f"confirmation: {size_label(params)}, {run.steps:,} steps")
        fit(run, folder / "run")
        documents = [Document(t.text.decode(), {"pile_set_name": t.domain}) for t in texts]
        # The precision of the proxies' scores.
        model = open_model(str(folder / "run"))
        score(model, ScoredCorpus("validation", None, documents), out=folder)
    return read_scored(folder)
