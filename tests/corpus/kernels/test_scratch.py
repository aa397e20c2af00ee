import numpy as np

from barrow.corpus.kernels.scratch import Scratch


def test_memory_is_used_again() -> None:
    scratch = Scratch()
    first = scratch.take("a", 100, np.uint64)
    first[:] = 7
    again = scratch.take("a", 90, np.uint64)
    assert (len(again), again[0]) == (90, 7)
    assert scratch.take("b", 100, np.uint64) is not again
    assert len(scratch.take("a", 1000, np.uint64)) == 1000
    assert scratch.take("a", 5, np.float32).dtype == np.float32
