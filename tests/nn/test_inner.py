"""Parts of a model as pure functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from barrow import nn
from barrow.nn.inner import describe_inner, pure, variables, write_back
from barrow.nn.trace import Trace

X = jnp.ones((2, 3))
PARAMS = nn.from_paths({"a/part/kernel": jnp.full((3, 4), 2.0), "a/part/bias": jnp.ones(4)})


def scope_of(**changes):
    given = {"params": PARAMS, "collections": {}, "keys": {}, "mutable": (), "constrain": None}
    return nn.Scope(Trace(**(given | changes))) / "a" / "part"


def test_a_part_is_a_function_of_its_own_variables() -> None:
    scope = scope_of()
    held = variables(scope)
    assert set(held.params) == {"kernel", "bias"}
    y, written = jax.jit(pure(scope, nn.Dense(4)))(held, X)
    np.testing.assert_allclose(y, 7.0)
    assert written == {}
    # What it used counts as used, once, however often it was traced.
    assert scope.trace.used == {"a/part/kernel", "a/part/bias"}


def test_what_was_written_before_is_read() -> None:
    scope = scope_of(collections={"c": {"a": {"part": {"x": 1, "y": 2}}}}, mutable=("c",))
    scope.write("c", "x", 5)
    assert variables(scope).collections == {"c": {"x": 5, "y": 2}}
    write_back(scope, {"c": {"a/part/y": 7}})
    assert variables(scope).collections == {"c": {"x": 5, "y": 7}}
    # Writing is no reading: the model's own collections stay as they were.
    assert scope.trace.collections["c"]["a"]["part"]["x"] == 1


def test_a_part_that_holds_nothing() -> None:
    held = variables(scope_of(params=nn.Tree(), collections={"c": {}}))
    assert held.params == {}
    assert held.collections == {"c": {}}


def test_described_as_layers_in_one_array() -> None:
    trace = Trace(None, {}, {}, (), None)
    describe_inner(nn.Scope(trace) / "part", nn.BatchNorm(), X, num_stacked=5)
    assert trace.specs["part/scale"].shape == (5, 3)
    assert trace.specs["part/scale"].axes == ("layers", "embed")
    assert trace.specs["part/scale"].num_stacked == 1
    assert trace.initial["batch_stats"]["part/var"]().shape == (5, 3)
    assert trace.modules == {"part": ["BatchNorm"]}


def test_layers_of_layers() -> None:
    inner = nn.Repeat(Square(), 2)

    class Outer(nn.Module):
        def forward(self, scope, x, each=None):
            return inner(scope / "inner", x)[0], None

    model = nn.Repeat(Outer(), 3)
    params = model.init(jax.random.key(0), X)
    kernel = params["inner"]["kernel"]
    assert kernel.shape == (3, 2, 3, 3)
    assert nn.axes(model, X)["inner"]["kernel"] == ("layers", "layers", "embed", "mlp")
    assert len({float(kernel[i, j, 0, 0]) for i in range(3) for j in range(2)}) == 6
    wanted = X
    for i in range(3):
        for j in range(2):
            wanted = wanted @ kernel[i, j]
    np.testing.assert_allclose(model.apply(params, X)[0], wanted, rtol=1e-5, atol=1e-6)


class Square(nn.Module):
    def forward(self, scope, x, each=None):
        return nn.Dense(x.shape[-1], bias=False)(scope, x), None
