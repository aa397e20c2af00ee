"""Layers beside PyTorch's: outputs and all gradients; and the interpreter of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as gpu

from barrow import nn


def _close(ours: Any, theirs: Any, what: str) -> None:
    np.testing.assert_allclose(
        np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=1e-5, err_msg=what
    )


@pytest.fixture
def close() -> Callable[..., None]:
    """Equal to 1e-5."""
    return lambda ours, theirs, what="": _close(ours, theirs, what)


@pytest.fixture
def same_as_torch() -> Callable[..., None]:
    """Compare a model with a module of PyTorch, whose parameters it takes.

    `names` maps our path to (their name, their layout → ours); `to` and `back` change the layout of
    inputs and outputs into theirs and out of it.
    """

    def compare(
        model: nn.Module,
        theirs: torch.nn.Module,
        x: np.ndarray[Any, Any],
        names: dict[str, tuple[str, Callable[[Any], Any]]],
        *,
        to: Callable[[Any], Any] = lambda x: x,
        back: Callable[[Any], Any] = lambda y: y,
    ) -> None:
        held = dict(theirs.named_parameters())
        assert {theirs for theirs, _ in names.values()} == set(held)
        with torch.no_grad():
            for number, parameter in enumerate(held.values()):
                # Their zeros and ones would hide a bias or a scale that is not used.
                noise = torch.Generator().manual_seed(number)
                parameter += 0.3 * torch.randn(parameter.shape, generator=noise)

        def ours_of(tensors: Any) -> nn.Tree:
            leaves = {p: change(tensors[name]) for p, (name, change) in names.items()}
            return nn.from_paths(
                {p: jnp.asarray(np.ascontiguousarray(x)) for p, x in leaves.items()}
            )

        params = ours_of({name: p.detach().numpy() for name, p in held.items()})
        assert set(nn.paths(params)) == set(nn.describe(model, jnp.asarray(x)))
        theirs_x = torch.tensor(x, requires_grad=True)
        theirs_y = back(theirs(to(theirs_x)))
        toward = np.random.default_rng(7).normal(size=tuple(theirs_y.shape)).astype(np.float32)
        theirs_y.backward(torch.tensor(toward))

        @jax.jit  # operation by operation, each would be compiled by itself
        def ours(params: nn.Tree, x: jax.Array, toward: jax.Array) -> tuple[jax.Array, Any]:
            y, pull = jax.vjp(model.apply, params, x)
            return y, pull(toward)

        y, (of_params, of_x) = ours(params, jnp.asarray(x), jnp.asarray(toward))
        _close(y, theirs_y.detach().numpy(), "output")
        _close(of_x, theirs_x.grad.numpy(), "gradient of x")
        wanted = nn.paths(ours_of({name: p.grad.numpy() for name, p in held.items()}))
        for path, gradient in nn.paths(of_params).items():
            _close(gradient, wanted[path], f"gradient of {path}")

    return compare


@pytest.fixture
def normal() -> Callable[..., np.ndarray[Any, Any]]:
    """Gaussian numbers in float32 of a shape, by a seed."""

    def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
        return np.random.default_rng(seed).normal(size=shape).astype(np.float32)

    return normal


@pytest.fixture
def interpreter() -> Any:
    """Of Mosaic GPU kernels. It is private, and there in every JAX that barrow supports."""
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams

    return InterpretGPUParams()


@pytest.fixture
def without_hardware(monkeypatch: pytest.MonkeyPatch, interpreter: Any) -> Any:
    """The interpreter; layouts mean nothing, and it must be told where arrays are."""

    def run_state(f: Callable[[Any], None]) -> Callable[[Any], Any]:
        def call(given: Any) -> Any:
            refs = jax.tree.map(lambda x: jax.new_ref(x, memory_space=gpu.GMEM), given)
            f(refs)
            return jax.tree.map(jax.freeze, refs)

        return call

    monkeypatch.setattr(pl, "run_state", run_state)
    monkeypatch.setattr(gpu, "layout_cast", lambda x, layout: x)
    monkeypatch.setattr(gpu, "load", lambda ref, at, **_: ref[at] if at else ref[...])
    iota = jax.lax.broadcasted_iota
    monkeypatch.setattr(gpu, "broadcasted_iota", lambda *given, layout: iota(*given))
    return interpreter
