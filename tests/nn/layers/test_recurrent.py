"""Recurrent cells, and cells over time (FLAX-9, FLAX-11)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn

KINDS = {
    "lstm": (nn.LSTMCell, "LSTM", 4),
    "gru": (nn.GRUCell, "GRU", 3),
}


def names(num_gates, hidden, bias=True, suffix="_l0", prefix="cell/"):
    def kernel(w):
        return w.reshape(num_gates, hidden, -1).transpose(2, 0, 1)

    def vector(b):
        return b.reshape(num_gates, hidden)

    found = {}
    for ours, theirs in (("input", "ih"), ("hidden", "hh")):
        found[f"{prefix}{ours}/kernel"] = (f"weight_{theirs}{suffix}", kernel)
        if bias:
            found[f"{prefix}{ours}/bias"] = (f"bias_{theirs}{suffix}", vector)
    return found


@dataclass(frozen=True)
class Outputs(nn.Module):
    """Only the outputs, at the same paths."""

    body: nn.Recurrent

    def forward(self, scope, x):
        return self.body(scope, x)[0]


@dataclass(frozen=True)
class OneStep(nn.Module):
    cell: nn.Cell

    def forward(self, scope, x):
        carry = jax.tree.map(lambda c: c + 0.3, self.cell.start(x.shape[:-1], x.dtype))
        (_, out) = self.cell(scope, carry, x)
        return out


def one_step(kind, bias):
    """A cell of PyTorch that begins from 0.3."""
    import torch

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = getattr(torch.nn, f"{KINDS[kind][1]}Cell")(3, 5, bias=bias)

        def forward(self, x):
            start = torch.full((len(x), 5), 0.3)
            return self.cell(x, (start, start) if kind == "lstm" else start)

    return Step()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_step_as_torch(same_as_torch, normal, kind, bias) -> None:
    ours, _, num = KINDS[kind]
    table = names(num, 5, bias, "", "")
    table = {path: (f"cell.{name}", change) for path, (name, change) in table.items()}
    same_as_torch(OneStep(ours(5, bias=bias)), (one_step, (kind, bias), {}), normal(4, 3), table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (2, 7)])
def test_over_time_as_torch(same_as_torch, normal, kind, batch, steps) -> None:
    ours, theirs, num = KINDS[kind]
    model = Outputs(nn.Recurrent(ours(5)))
    module = (theirs, (3, 5), {"batch_first": True})
    same_as_torch(model, module, normal(batch, steps, 3), names(num, 5))


@golden("torch")
def packed(kind, x, lengths, reverse):
    """Parameters, outputs and last states of rows of these lengths."""
    import torch

    module = getattr(torch.nn, kind)(3, 5, batch_first=True, bidirectional=reverse)
    rows = torch.nn.utils.rnn.pack_padded_sequence(
        torch.tensor(x), torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    outputs, last = module(rows)
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    last = last if isinstance(last, tuple) else (last,)
    return dict(module.named_parameters()), outputs[..., -5:], [state[-1] for state in last]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reverse", [False, True])
def test_lengths_as_packed_sequences(close, normal, kind, reverse) -> None:
    ours, theirs, num = KINDS[kind]
    suffix = "_l0_reverse" if reverse else "_l0"
    x, lengths = normal(4, 6, 3), np.array([6, 1, 3, 4])
    held, wanted, last = packed(theirs, x, lengths, reverse)
    params = nn.from_paths(
        {
            path: jnp.asarray(change(held[name]))
            for path, (name, change) in names(num, 5, suffix=suffix).items()
        }
    )
    model = nn.Recurrent(ours(5), reverse=reverse)
    run = jax.jit(model.apply)
    y, carry = run(params, x, lengths=lengths)
    close(y, wanted)
    for one, other in zip(jax.tree.leaves(carry), last, strict=True):
        close(one, other)
    masked, _ = run(params, x, mask=np.arange(6) < lengths[:, None])
    np.testing.assert_array_equal(masked, y)


def test_going_on_from_a_carry(close, normal) -> None:
    x = jnp.asarray(normal(2, 8, 3))
    model = nn.Recurrent(nn.LSTMCell(4))
    params = model.init(jax.random.key(0), x)
    run = jax.jit(model.apply)
    whole, last = run(params, x)
    first, carry = run(params, x[:, :5])
    second, end = run(params, x[:, 5:], carry=carry)
    close(jnp.concatenate([first, second], 1), whole)
    close(end[1], last[1])


def test_a_hole_in_the_mask_leaves_the_carry(close, normal) -> None:
    x = jnp.asarray(normal(1, 4, 3))
    model = nn.Recurrent(nn.GRUCell(4))
    params = model.init(jax.random.key(0), x)
    mask, kept = jnp.array([[True, False, True, True]]), np.array([0, 2, 3])
    run = jax.jit(model.apply)
    y, carry = run(params, x, mask=mask)
    short, wanted = run(params, np.asarray(x)[:, kept])
    close(np.asarray(y)[:, kept], short)
    assert not jnp.any(y[:, 1])
    close(carry, wanted)


@dataclass(frozen=True)
class Noisy(nn.Cell):
    collection: str = "intermediates"

    def start(self, rows, dtype):
        return jnp.zeros((*rows, self.features), dtype)

    def forward(self, scope, carry, x):
        x = nn.Dropout(0.5)(scope / "drop", x)
        scope.write(self.collection, "x", x)
        return carry + x, x


def test_keys_and_intermediates_over_time() -> None:
    x = jnp.ones((1, 5, 64))
    model = nn.Recurrent(Noisy(64))
    (y, _), found = model.apply_and_collect(
        {}, x, mutable=("intermediates",), keys={"dropout": jax.random.key(0)}
    )
    seen = found["intermediates"]["cell"]["x"]
    np.testing.assert_array_equal(seen, jnp.moveaxis(y, 1, 0))
    assert jnp.any(seen[0] != seen[1])
    with pytest.raises(ValueError, match=r"cell: a cell over time cannot write \['stats'\]"):
        nn.Recurrent(Noisy(64, collection="stats")).apply_and_collect({}, x, mutable=("stats",))


def test_the_type_is_that_of_x(normal) -> None:
    x = jnp.asarray(normal(2, 3, 4), jnp.bfloat16)
    for cell in (nn.LSTMCell(5), nn.GRUCell(5)):
        model = nn.Recurrent(cell)
        y, carry = model.apply(model.init(jax.random.key(0), x), x)
        assert {y.dtype, *(c.dtype for c in jax.tree.leaves(carry))} == {jnp.dtype(jnp.bfloat16)}


def test_bad_input(normal) -> None:
    x = jnp.asarray(normal(2, 3, 4))
    model = nn.Recurrent(nn.GRUCell(5))
    params = model.init(jax.random.key(0), x)
    with pytest.raises(ValueError, match=r"x must be \[batch, time, features\], got \(3, 4\)"):
        model.apply(params, x[0])
    with pytest.raises(ValueError, match="`lengths` or `mask`, not both"):
        model.apply(params, x, lengths=jnp.ones(2), mask=jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=r"lengths must have shape \(2,\), got \(3,\)"):
        model.apply(params, x, lengths=jnp.ones(3, int))
    with pytest.raises(ValueError, match=r"mask must have shape \(2, 3\), got \(2, 4\)"):
        model.apply(params, x, mask=jnp.ones((2, 4), bool))
