from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from barrow.train import Run, for_store


def test_the_vocabulary_is_the_stores(run: Run, store: Path, validation: Path) -> None:
    small = replace(run, store="", model=replace(run.model, vocab_size=7))
    assert for_store(small, store, validation=validation) == replace(
        run, validation=str(validation)
    )
    assert for_store(small, str(store)) == run
