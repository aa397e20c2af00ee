"""Which of several results is better: what the demo, the board and `barrow score diff` say.

Two results are paired document by document if their cards allow it. The paired bootstrap tests each
pair, and Holm's procedure corrects for the number of pairs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.score.card import comparable
from barrow.score.paired_bootstrap import RESAMPLES, SEED, Array, holm, paired_bootstrap
from barrow.score.result import Documents, Result

LEVEL = 0.05


Verdict = Literal["fewer bits", "more bits", "not settled", "not comparable"]


class Standing(NamedTuple):
    """Results beside each other, on all of the text or on a domain.

    [a, b] is of the bits per byte of result a less those of b, NaN where they cannot be paired.
    `low` and `high` are those of `paired_bootstrap`, and so is `p`, corrected for all pairs.
    """

    difference: Array
    low: Array
    high: Array
    p: Array

    def is_better(self) -> npt.NDArray[np.bool_]:
        """[a, b]: whether a needs fewer bits than b.

        It does if `p` ≤ 0.05, or if it is better than a result that is better than b.
        """
        found = np.asarray((self.p <= LEVEL) & (self.difference < 0))
        for middle in range(len(found)):
            found |= found[:, middle, None] & found[middle]
        return found

    def verdict(self, a: int, b: int) -> Verdict:
        """Compare the bits that result a needs with those of b."""
        better = self.is_better()
        if better[a, b] or better[b, a]:
            return "fewer bits" if better[a, b] else "more bits"
        return "not comparable" if np.isnan(self.difference[a, b]) else "not settled"


def standings(
    results: Sequence[Result], *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str | None, Standing]:
    """Results beside each other on each domain, by its name, and on all of the text, by None.

    In each the chance that any two are called different, though they are not, is about 5 % at most.
    A result without documents is paired with none.
    """
    of_text: dict[bytes, dict[int, _Ordered]] = {}
    for place, result in enumerate(results):
        if result.documents is not None:
            ordered = _ordered(result.documents)
            of_text.setdefault(ordered.key, {})[place] = ordered
    unknown = np.full((4, len(results), len(results)), np.nan)
    names = [None, *(row.name for result in results for row in result.domains)]
    tables = {name: unknown.copy() for name in names}
    for members in of_text.values():
        first = next(iter(members.values()))
        nats = np.stack([one.nats for one in members.values()], axis=1)
        cells = np.ix_(range(4), list(members), list(members))
        for name in (None, *dict.fromkeys(first.domain.tolist())):
            chosen = np.ones(len(nats), np.bool_) if name is None else first.domain == name
            some, sizes = nats[chosen], first.sizes[chosen]
            spread = paired_bootstrap(
                some[..., None], sizes[:, None], resamples=resamples, seed=seed
            )
            rates = some.sum(axis=0) / max(1, sizes.sum())
            values = np.stack([rates[:, None] - rates, *(part[..., 0] for part in spread)])
            tables.setdefault(name, unknown.copy())[cells] = values
    may_pair = np.array([[comparable(a.card, b.card) is None for b in results] for a in results])
    return {name: _standing(np.where(may_pair, table, np.nan)) for name, table in tables.items()}


def places(standing: Standing, among: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last possible rank, from 1, of some of the results among themselves.

    A rank begins after all that are better, and ends before all that are worse.
    """
    better = standing.is_better()[np.ix_(among, among)]
    firsts, lasts = 1 + better.sum(axis=0), len(among) - better.sum(axis=1)
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def document_order(documents: Documents) -> npt.NDArray[np.int64]:
    """Documents by domain, text and place: the same for any order of a corpus."""
    names = np.array(documents.domains, object)
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(names, kind="stable")] = np.arange(len(names))
    return np.lexsort((*documents.text.T[::-1], rank[documents.domain]))


class _Ordered(NamedTuple):
    """Documents in their order; `key` is of all but the nats."""

    domain: npt.NDArray[np.object_]
    sizes: npt.NDArray[np.int64]
    nats: Array
    key: bytes


def _ordered(documents: Documents) -> _Ordered:
    order = document_order(documents)
    domain = np.array(documents.domains, object)[documents.domain[order]]
    sizes = documents.bytes[order]
    key = hashlib.sha256("\0".join(domain).encode() + sizes.tobytes())
    key.update(documents.text[order].tobytes())
    return _Ordered(domain, sizes, documents.nats[order], key.digest())


def _standing(table: Array) -> Standing:
    """Correct p in a table of differences, their bounds and p [4, results, results], in nats."""
    above = np.triu_indices(table.shape[1], 1)
    corrected = np.full(table.shape[1:], np.nan)
    corrected[above] = holm(table[3][above])
    corrected.T[above] = corrected[above]
    difference, low, high = table[:3] / math.log(2)
    return Standing(difference, low, high, corrected)
