"""PyTorch's view of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barrow.archive.reader import Archive
from barrow.errors import MissingExtra

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError:
    raise MissingExtra("PyTorch", "torch", "archive.torch()") from None


class TorchView(IterableDataset):
    """Documents as ``{"text": str, "meta": dict}``; each rank, and each worker in it, its own part.

    Rank and world size are those given, else those of an initialised `torch.distributed`. Metas
    differ from document to document, so use ``DataLoader(view, batch_size=None)`` or a collate
    function of your own.
    """

    def __init__(self, archive: Archive, *, rank: int | None = None, of: int | None = None) -> None:
        if (rank is None) != (of is None):
            raise ValueError("pass both rank and of, or neither")
        if rank is None and torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, of = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self._archive = archive if rank is None or of is None else archive.shard(rank, of)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        part = self._archive
        if worker is not None:
            part = part.shard(worker.id, worker.num_workers).with_threads(1)
        for document in part:
            yield {"text": document.text, "meta": document.meta}

    def __len__(self) -> int:
        return len(self._archive)
