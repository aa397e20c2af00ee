from __future__ import annotations

import sys
from pathlib import Path

import pytest

from barrow.errors import MissingExtra
from barrow.train.trackers import NAMES, make_tracker


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_installed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"'.\[{name}\]"):
        make_tracker(name, tmp_path)


def test_what_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="no tracker 'comet': tensorboard, wandb, mlflow, or module:Name"
    ):
        make_tracker("comet", tmp_path)
