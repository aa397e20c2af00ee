from __future__ import annotations

import itertools
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset

from barrow.errors import MissingExtra
from barrow.stream import Stream


@pytest.fixture
def stream(stores: Callable) -> Stream:
    return Stream(
        stores([[50, 3, 20], [33]]), seq_len=4, batch=2, seed=1, epochs={"A": 1.0, "B": 2.0}
    )


def check(items: list[dict[str, Any]], stream: Stream, steps: range) -> None:
    assert [int(item["step"]) for item in items] == list(steps)
    for item in items:
        for name, array in stream.batch(int(item["step"])).arrays().items():
            assert isinstance(item[name], torch.Tensor)
            assert (item[name].numpy() == array).all()


@pytest.fixture(scope="session")
def workers() -> Callable[[int], dict[str, Any]]:
    """Options of a loader with workers: not forked from here, where JAX may have threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["barrow.stream.views.torch"])

    def options(num: int) -> dict[str, Any]:
        return {"num_workers": num, **({"multiprocessing_context": context} if num else {})}

    return options


@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_a_data_loader(stream: Stream, num_workers: int, workers: Callable) -> None:
    """PILE-3: PyTorch; workers split the steps, which come in order."""
    view = stream.torch(start=3)
    assert isinstance(view, IterableDataset)
    loader = DataLoader(view, batch_size=None, **workers(num_workers))
    check(list(loader), stream, range(3, stream.num_steps or 0))


def test_workers_open_a_store(token_store: Any, workers: Callable) -> None:
    stream = Stream(token_store, seq_len=4, batch=2, seed=1)
    loader = DataLoader(stream.torch(), batch_size=None, **workers(1))
    check(list(itertools.islice(loader, 3)), stream, range(3))


def test_state_without_workers(stream: Stream) -> None:
    view = stream.torch()
    list(itertools.islice(view, 5))
    assert view.state_dict() == {"step": 5}
    resumed = stream.torch()
    resumed.load_state_dict(view.state_dict())
    check(list(resumed), stream, range(5, stream.num_steps or 0))


@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 0), (1, 2), (0, 2)])
def test_exact_resume_with_workers(
    stream: Stream, before: int, after: int, workers: Callable
) -> None:
    """Workers run ahead, but the state is what the consumer has seen."""
    loader = stream.torch().loader(**workers(before))
    items = iter(loader)
    first = [next(items) for _ in range(6)]
    state = loader.state_dict()
    del items
    assert state == {"step": 6}
    resumed = stream.torch().loader(**workers(after))
    resumed.load_state_dict(state)
    check(first + list(resumed), stream, range(stream.num_steps or 0))
    assert resumed.state_dict() == {"step": stream.num_steps}


def test_state_in_workers_is_that_of_a_round(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loader that saves the state of each worker's copy restores each where it was."""
    from barrow.stream.views import torch as module

    class Worker:
        num_workers = 3

        def __init__(self, number: int) -> None:
            self.id = number

    states, seen = [], []
    for number in range(3):
        monkeypatch.setattr(module, "get_worker_info", lambda n=number: Worker(n))
        view = stream.torch(start=1)
        seen += list(itertools.islice(view, 2))
        states.append(view.state_dict())
    for number, state in enumerate(states):
        monkeypatch.setattr(module, "get_worker_info", lambda n=number: Worker(n))
        view = stream.torch()
        view.load_state_dict(state)
        seen += list(view)
    check(sorted(seen, key=lambda item: item["step"]), stream, range(1, stream.num_steps or 0))


def test_ranks(stream: Stream) -> None:
    parts = [list(stream.torch(rank=r, of=2)) for r in range(2)]
    for step in range(stream.num_steps or 0):
        joined = torch.cat([part[step]["tokens"] for part in parts])
        assert (joined.numpy() == stream.batch(step).tokens).all()


def test_bad_input(stream: Stream) -> None:
    with pytest.raises(ValueError, match="pass both rank and of"):
        stream.torch(rank=1)
    with pytest.raises(ValueError, match="3 ranks cannot share a batch of 2"):
        stream.torch(rank=0, of=3)
    with pytest.raises(ValueError, match="step must be ≥ 0, got -2"):
        stream.torch(start=-2)


def test_without_torch(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "barrow.stream.views.torch", raising=False)
    with pytest.raises(MissingExtra, match=r"'.\[torch\]"):
        stream.torch()
