"""Layers beside PyTorch's: outputs and all gradients; and the interpreter of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as gpu
from tests.goldens import golden

from barrow import nn


def _close(ours: Any, theirs: Any, what: str) -> None:
    np.testing.assert_allclose(
        np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=1e-5, err_msg=what
    )


@pytest.fixture
def close() -> Callable[..., None]:
    """Equal to 1e-5."""
    return lambda ours, theirs, what="": _close(ours, theirs, what)


@golden("torch")
def _run_by_torch(
    module: str | Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], x: Any
) -> dict[str, Any]:
    """Parameters, output and gradients of a module of `torch.nn`, or of one that is made here."""
    import torch

    made = (getattr(torch.nn, module) if isinstance(module, str) else module)(*args, **options)
    held = dict(made.named_parameters())
    with torch.no_grad():
        for number, parameter in enumerate(held.values()):
            # Their zeros and ones would hide a bias or a scale that is not used.
            noise = torch.Generator().manual_seed(number)
            parameter += 0.3 * torch.randn(parameter.shape, generator=noise)
    x = torch.tensor(x, requires_grad=True)
    y = made(x)
    y = y[0] if isinstance(y, tuple) else y
    toward = np.random.default_rng(7).normal(size=tuple(y.shape)).astype(np.float32)
    y.backward(torch.tensor(toward))
    return {
        "params": held,
        "gradients": {name: p.grad for name, p in held.items()},
        "x": x.grad,
        "y": y,
        "toward": toward,
    }


@pytest.fixture
def same_as_torch() -> Callable[..., None]:
    """Compare a model with a module of PyTorch, whose parameters it takes.

    The module is named as in `torch.nn`, or is what a function here makes; with its settings.
    `names` maps our path to (their name, their layout → ours); `to` and `back` change the layout of
    inputs into theirs and of outputs out of it.
    """

    def compare(
        model: nn.Module,
        theirs: tuple[str | Callable[..., Any], tuple[Any, ...], dict[str, Any]],
        x: np.ndarray[Any, Any],
        names: dict[str, tuple[str, Callable[[Any], Any]]],
        *,
        to: Callable[[Any], Any] = lambda x: x,
        back: Callable[[Any], Any] = lambda y: y,
    ) -> None:
        wanted = _run_by_torch(*theirs, np.ascontiguousarray(to(x)))
        assert {name for name, _ in names.values()} == set(wanted["params"])

        def ours_of(tensors: Any) -> nn.Tree:
            leaves = {p: change(tensors[name]) for p, (name, change) in names.items()}
            return nn.from_paths(
                {p: jnp.asarray(np.ascontiguousarray(x)) for p, x in leaves.items()}
            )

        params = ours_of(wanted["params"])
        assert set(nn.paths(params)) == set(nn.describe(model, jnp.asarray(x)))

        @jax.jit  # operation by operation, each would be compiled by itself
        def ours(params: nn.Tree, x: jax.Array, toward: jax.Array) -> tuple[jax.Array, Any]:
            y, pull = jax.vjp(model.apply, params, x)
            return y, pull(toward)

        toward = jnp.asarray(np.ascontiguousarray(back(wanted["toward"])))
        y, (of_params, of_x) = ours(params, jnp.asarray(x), toward)
        _close(y, back(wanted["y"]), "output")
        _close(to(np.asarray(of_x)), wanted["x"], "gradient of x")
        gradients = nn.paths(ours_of(wanted["gradients"]))
        for path, gradient in nn.paths(of_params).items():
            _close(gradient, gradients[path], f"gradient of {path}")

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
