from __future__ import annotations

from pathlib import Path

import pytest

from barrow.corpus.decontaminate import load_index
from barrow.corpus.index_stage import INDEX, index_task
from barrow.engine import Engine, Store, run
from barrow.errors import NotFound


def test_the_task_is_named_by_the_content(tmp_path: Path) -> None:
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    text = " ".join(f"word{k}" for k in range(15))
    one.write_text(text)
    task = index_task((str(one),), 13)
    store = Store(tmp_path / "store")
    run([task], store, Engine(num_workers=0))
    index = load_index(store.path(task.key) / INDEX)
    assert (index.items, index.ngram) == ([("a.txt", 0)], 13)
    one.write_text(text + " more")
    assert index_task((str(one),), 13).key != task.key
    assert index_task((str(one),), 12).key != index_task((str(one),), 13).key
    with pytest.raises(NotFound, match="no such evaluation set"):
        index_task((str(other),), 13)
