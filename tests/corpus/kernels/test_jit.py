from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from barrow.corpus.kernels.jit import compiled, trailing_zeros


@compiled
def lowest(value):  # type: ignore[no-untyped-def]
    return trailing_zeros(value)


@compiled
def lowest_bits(values):  # type: ignore[no-untyped-def]
    total = 0
    for value in values:
        total += lowest(value)
    return total


def test_compiled_functions_call_one_another() -> None:
    assert lowest_bits(np.array([1, 2, 8], np.uint64)) == 0 + 1 + 3
    assert lowest_bits(np.array([16], np.uint64)) == 4
    assert lowest(np.uint64(32)) == 5


def test_wrong_arguments_are_errors() -> None:
    with pytest.raises(TypeError):
        lowest_bits()


def test_without_numba_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import numpy as np\n"
        "from barrow.corpus.dedup.exact import content_hashes\n"
        "content_hashes(np.zeros(9, np.uint8), np.array([0, 9]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install '.[corpus]' in a checkout of barrow" in done.stderr


def test_settings_and_readers_need_no_numba() -> None:
    code = (
        "import sys\n"
        "import barrow.recipes.pile, barrow.corpus.readers.mail.reader, barrow.corpus.build.read\n"
        "barrow.recipes.pile.recipe()\n"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
