from __future__ import annotations

from pathlib import Path

import pytest

from barrow.corpus.build.decontaminate import index_task, load_index
from barrow.corpus.recipe import Decontamination
from barrow.engine import Engine, Stages, Store
from barrow.errors import NotFound


def test_the_task_is_named_by_the_content(tmp_path: Path) -> None:
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    text = " ".join(f"word{k}" for k in range(15))
    one.write_text(text)
    task = index_task(Decontamination((str(one),)))
    with Stages(Store(tmp_path / "store"), Engine(num_workers=0)) as stages:
        (indexed,) = stages.run("index", [task])
    index = load_index(indexed.ngrams.path)
    assert (index.items, index.ngram) == ([("a.txt", 0)], 13)
    one.write_text(text + " more")
    changed = index_task(Decontamination((str(one),)))
    assert changed.key != task.key
    assert index_task(Decontamination((str(one),), ngram=12)).key != changed.key
    with pytest.raises(NotFound, match="no such evaluation set"):
        index_task(Decontamination((str(other),)))
