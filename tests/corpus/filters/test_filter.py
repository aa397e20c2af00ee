from __future__ import annotations

import numpy as np

from barrow.corpus.filters.filter import Decisions


def test_the_first_reason_stays() -> None:
    decisions = Decisions.keep_all(4)
    assert decisions.code.tolist() == [0, 0, 0, 0]
    decisions.reject(1, np.array([True, False, False, True]), np.array([5, 6, 7, 8]))
    decisions.reject(2, np.array([True, True, False, False]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert decisions.code.tolist() == [1, 2, 0, 1]
    assert decisions.value.tolist() == [5, 0.2, 0, 8]
