"""The smallest model that loses no more than so much in any domain.

All weights begin as int4. The most sensitive are raised to int8, then to float, until no domain
loses more than the budget on text that calibration did not see. Sensitivity is measured: the loss
on calibration rows with one weight quantized at a time, by byte that it saves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from barrow.compress.card import Card
from barrow.compress.compressed import (
    Measuring,
    Original,
    finished,
    open_original,
    rows_for,
    texts_for,
)
from barrow.compress.prune import loss_of
from barrow.compress.quantize import quantized, weights_of
from barrow.compress.scheme import default_scheme
from barrow.compress.texts import Texts
from barrow.errors import ScoreError
from barrow.files import new_path, remove_tree
from barrow.models.decoder.model import Decoder
from barrow.models.quantized import numbered
from barrow.models.roberta.heads import RobertaWithHead
from barrow.nn.dot import as_array
from barrow.nn.weights.kernels import num_in_of, with_weights
from barrow.score.diff import compare
from barrow.score.models.model import Model as Scorer
from barrow.score.models.model import ModelInfo
from barrow.score.models.open import ModelOptions, causal_model, pseudo_likelihood_model
from barrow.score.result import Result
from barrow.score.scoring import score


def parse_budget(text: str) -> float:
    """Of "max-domain-dbpb=0.01"."""
    name, _, value = text.partition("=")
    if name != "max-domain-dbpb":
        raise ValueError(f"--budget is max-domain-dbpb=0.01, got {text!r}")
    try:
        limit = float(value)
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise ValueError(f"max-domain-dbpb must be bits per byte > 0, got {value!r}")
    return limit


def within_budget(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    limit: float,
    calibrate: str | os.PathLike[str],
    *,
    measuring: Measuring | None = None,
    tokenizer: str | None = None,
    trust: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Card:
    """Write the smallest model whose worst domain loses at most `limit` bits per byte."""
    measuring, out = measuring or Measuring(), new_path(out)
    opened = open_original(path, tokenizer=tokenizer, trust=trust)
    if isinstance(opened.model, RobertaWithHead) or not opened.loaded.family.scoring:
        raise ValueError(f"{path} gives no probability of text: a budget in bits needs one")
    texts = texts_for(opened.loaded, calibrate, measuring)
    rows = rows_for(opened, texts, measuring)
    levels = [
        numbered(quantized(opened.model, opened.params, default_scheme(bits), rows))
        for bits in ("int4", "int8")
    ]
    steps = _steps(opened, levels[0], rows)
    before = _scored(opened, opened.params, texts)

    def worst(num: int) -> float:
        params = _raised(opened.params, levels, steps[:num], expand=True)
        found = compare(_scored(opened, params, texts), before, num_worst=0, resamples=1)
        lost = max(row.difference for row in found.domains if row.difference is not None)
        say(f"{num} of {len(steps)} raised: the worst domain loses {lost:+.4f}")
        return lost

    num = _fewest(worst, len(steps), limit)
    # Once more from the files: what is written is what was measured.
    while num < len(steps):
        params = _raised(opened.params, levels, steps[:num], expand=False)
        scheme = f"within {limit:g} bits per byte: {_named(params)}"
        card = finished(opened, params, out, scheme, texts, measuring)
        assert card.worst is not None
        if card.worst[1] <= limit:
            return card
        remove_tree(out)
        num += 1
    raise ScoreError(f"no quantized model of {path} loses at most {limit:g} bits in every domain")


def _steps(opened: Original, four: Mapping[str, Any], rows: Any) -> list[tuple[str, int]]:
    """Weights and levels (1 is int8, 2 float) in the order in which they are raised."""
    model, params = opened.model, opened.params
    run = jax.jit(partial(loss_of, model, mask=opened.tokenizer.mask))
    given = jnp.asarray(rows)
    plain = float(run(params, given))
    sizes = weights_of(params)
    cost: dict[str, float] = {}
    for path in sizes:
        wide = as_array(four[path])
        changed = with_weights(params, lambda at, x, _, p=path, w=wide: w if at == p else x)  # type: ignore[misc]
        cost[path] = (float(run(changed, given)) - plain) / sizes[path]
    order = sorted(cost, key=lambda path: -cost[path])
    is_kernel = {path: num_in_of(path) is not None for path in order}
    # A table is int8 to begin with.
    return [(p, 1) for p in order if is_kernel[p]] + [(p, 2) for p in order]


def _raised(
    params: Any, levels: list[dict[str, Any]], steps: list[tuple[str, int]], *, expand: bool
) -> Any:
    at = dict.fromkeys(weights_of(params), 0) | dict(steps)

    def choose(path: str, leaf: Any, _: int | None) -> Any:
        if at[path] == 2:
            return leaf
        chosen = levels[at[path]][path]
        return as_array(chosen) if expand else chosen

    return with_weights(params, choose)


def _fewest(worst: Callable[[int], float], most: int, limit: float) -> int:
    """The least number of steps for which the worst domain is within the limit, by bisection."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if worst(middle) <= limit:
            high = middle
        else:
            low = middle + 1
    return low


def _named(params: Any) -> str:
    counts: dict[str, int] = {}
    for path, leaf in numbered(params).items():
        bits = getattr(leaf, "bits", 8 if hasattr(leaf, "scales") else 0)
        name = f"int{bits}" if bits else "float"
        if num_in_of(path) != 0:
            counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{num} weights {name}" for name, num in sorted(counts.items()))


def _scored(opened: Original, params: Any, texts: Texts) -> Result:
    info = ModelInfo(opened.path.name, "barrow", "0" * 64)
    make: Any = causal_model if isinstance(opened.model, Decoder) else pseudo_likelihood_model
    scorer: Scorer = make(opened.model, params, opened.tokenizer, info, ModelOptions())
    found = score(scorer, texts.measured)
    assert found is not None
    return found
