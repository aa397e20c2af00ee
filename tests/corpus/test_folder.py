from __future__ import annotations

from pathlib import Path

import pytest

from barrow.corpus.folder import refuse_other_folders
from barrow.errors import NotFound


def test_other_folders(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no manifest.json"):
        refuse_other_folders(tmp_path)
