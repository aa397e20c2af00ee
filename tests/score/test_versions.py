from __future__ import annotations

import numpy as np

from barrow.score.result import versions


def test_what_is_loaded_is_named() -> None:
    found = versions()
    assert found["numpy"] == np.__version__
    assert {"barrow", "python"} <= set(found)
