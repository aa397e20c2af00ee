from __future__ import annotations

import multiprocessing
import socket
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset

import barrow
from barrow import Document


def test_the_same_documents_in_the_same_order(folder: Path, documents: list[Document]) -> None:
    """PILE-3: PyTorch, identical first 1,000 documents."""
    view = barrow.archive.open(folder).torch()
    assert isinstance(view, IterableDataset)
    assert len(view) == 1000
    assert list(view) == [{"text": d.text, "meta": d.meta} for d in documents]
    loaded = list(DataLoader(view, batch_size=None))
    assert [row["text"] for row in loaded] == [d.text for d in documents]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_split_the_work(start: str, folder: Path, documents: list[Document]) -> None:
    view = barrow.archive.open(folder).torch()
    loader = DataLoader(view, batch_size=None, num_workers=2, multiprocessing_context=start)
    assert sorted(row["meta"]["number"] for row in loader) == list(range(1000))


def test_ranks_and_workers(folder: Path) -> None:
    archive = barrow.archive.open(folder)
    seen = []
    for rank in range(3):
        view = archive.torch(rank=rank, of=3)
        loader = DataLoader(view, batch_size=None, num_workers=2)
        seen += [row["meta"]["number"] for row in loader]
    assert sorted(seen) == list(range(1000))
    with pytest.raises(ValueError, match="both rank and of"):
        archive.torch(rank=1)


def _rank(rank: int, port: int, path: str, queue: multiprocessing.Queue) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    queue.put([row["meta"]["number"] for row in barrow.archive.open(path).torch()])
    torch.distributed.destroy_process_group()


def test_an_initialised_process_group_is_used(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    ranks = [context.Process(target=_rank, args=(r, port, str(folder), queue)) for r in range(2)]
    for process in ranks:
        process.start()
    parts = [queue.get(timeout=120) for _ in ranks]
    for process in ranks:
        process.join()
    assert sorted(n for part in parts for n in part) == list(range(1000))
    assert [len(part) for part in parts] == [500, 500]


def test_without_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "barrow.archive.views.torch", raising=False)
    with pytest.raises(barrow.errors.MissingExtra, match=r"'.\[torch\]"):
        barrow.archive.open(folder).torch()
