"""What a model must beat: the entropy of tokens without any context."""

from __future__ import annotations

import math

import numpy as np

from barrow.stream.store import Store

_AT_ONCE = 1 << 22


def unigram_entropy(store: Store, *, most: int = 1 << 27) -> float:
    """−Σ p·ln p over the ids of a store, p being their frequencies, in nats per token.

    A model that knows these frequencies and nothing else has this loss. Of larger stores the first
    `most` tokens are counted, shared among the domains as the tokens are.
    """
    counts = np.zeros(store.vocab_size, np.int64)
    sizes = [store.domain_tokens(domain) for domain in range(len(store.domains))]
    share = min(1.0, most / max(1, sum(sizes)))
    for domain, size in enumerate(sizes):
        wanted = math.ceil(size * share)
        for start in range(0, wanted, _AT_ONCE):
            ids = store.read(domain, start, min(wanted, start + _AT_ONCE))
            counts += np.bincount(ids, minlength=len(counts))[: len(counts)]
    seen = counts[counts > 0] / max(1, counts.sum())
    return float(-(seen * np.log(seen)).sum())
