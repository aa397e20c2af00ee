from __future__ import annotations

import subprocess
import sys

import numpy as np

from barrow.corpus.compiled import compiled, trailing_zeros


def test_compiled_functions_compute() -> None:
    @compiled
    def lowest_bits(values):  # type: ignore[no-untyped-def]
        total = 0
        for value in values:
            total += trailing_zeros(value)
        return total

    assert lowest_bits(np.array([1, 2, 8], np.uint64)) == 0 + 1 + 3


def test_without_numba_the_extra_is_named() -> None:
    code = "import sys; sys.modules['numba'] = None\nimport barrow.corpus.compiled"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'barrow[corpus]'" in done.stderr
