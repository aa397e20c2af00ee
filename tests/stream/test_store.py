from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from barrow.stream.store import Store


def names() -> set[str]:
    return {name for name in vars(Store) if not name.startswith("_")} - {"__init__"}


def test_both_stores_have_what_a_stream_needs(token_store: Any, stores: Callable) -> None:
    for store in (token_store, stores([[5, 6], [3]])):
        for name in names():
            assert hasattr(store, name), name
        place = 0
        for domain in range(len(store.domains)):
            starts, numbers = store.domain_starts(domain), store.domain_range(domain)
            assert len(starts) == len(numbers) + 1
            assert (starts[0], starts[-1]) == (0, store.domain_tokens(domain))
            assert numbers.start == place
            place = numbers.stop
            ids = store.read(domain, 0, store.domain_tokens(domain))
            heads = ids[starts[:-1][np.diff(starts) > 0]]
            assert (heads == store.begin).all()
            assert ids.max() < store.vocab_size
