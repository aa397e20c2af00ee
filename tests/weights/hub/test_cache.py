from __future__ import annotations

from pathlib import Path

import pytest

from barrow.weights import cache_folder


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"BARROW_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/barrow"),
        ({"HOME": "/h"}, "/h/.cache/barrow"),
        ({"BARROW_CACHE": "", "HOME": "/h"}, "/h/.cache/barrow"),
    ],
)
def test_the_folder(environment: dict[str, str], folder: str) -> None:
    assert cache_folder(environment) == Path(folder)
