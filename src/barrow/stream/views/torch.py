"""PyTorch's view of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from barrow.errors import MissingExtra
from barrow.stream.stream import Stream

try:
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
except ImportError:
    raise MissingExtra("PyTorch", "torch", "stream.torch()") from None


class TorchView(IterableDataset):
    """Batches as dicts of tensors, with `step`, from a step on; for ``batch_size=None``.

    Rank and world size are those given, else those of an initialised `torch.distributed`. Workers
    of a `DataLoader` make every n-th step, and the loader hands them out in order. Its state is the
    next step. Workers run ahead of what the training loop has seen, so with workers take the state
    from `loader()`, or save the `step` of the last batch plus one.
    """

    def __init__(
        self, stream: Stream[Any], *, start: int = 0, rank: int | None = None, of: int | None = None
    ) -> None:
        if (rank is None) != (of is None):
            raise ValueError("pass both rank and of")
        if rank is None and torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, of = torch.distributed.get_rank(), torch.distributed.get_world_size()
        if rank is not None:  # a wrong rank is reported here, not by a worker
            stream.batch(min(start, (stream.num_steps or start + 1) - 1), rank=rank, of=of)
        self._stream, self._rank, self._of = stream, rank, of
        self.load_state_dict({"step": start})

    def state_dict(self) -> dict[str, int]:
        """The step that comes next; in a worker, the first step of the round that comes next."""
        return {"step": self._step}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Resume at a step; in a worker, at a round."""
        if state["step"] < 0:
            raise ValueError(f"step must be ≥ 0, got {state['step']}")
        self._step = int(state["step"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        place, num = (0, 1) if worker is None else (worker.id, worker.num_workers)
        last = self._stream.num_steps
        while last is None or self._step + place < last:
            step = self._step + place
            self._step += num
            batch = self._stream.batch(step, rank=self._rank, of=self._of)
            arrays = {name: torch.from_numpy(array) for name, array in batch.arrays().items()}
            yield {"step": step, **arrays}

    def loader(self, **options: Any) -> TorchLoader:
        """A `DataLoader` of it that knows which step comes next, however many workers it has."""
        return TorchLoader(self, **options)


class TorchLoader:
    """Batches of a view through a `DataLoader`, and the step that the consumer sees next."""

    def __init__(self, view: TorchView, **options: Any) -> None:
        self._view = view
        self._options = {"batch_size": None, **options}

    def state_dict(self) -> dict[str, int]:
        """The step after the last one that was handed out."""
        return self._view.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Resume at a step, at the next iteration."""
        self._view.load_state_dict(state)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in DataLoader(self._view, **self._options):
            # Workers have copies of the view, which run ahead of this one.
            self._view.load_state_dict({"step": int(batch["step"]) + 1})
            yield batch
