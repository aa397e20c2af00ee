"""Places in a model: parameters, collections, keys."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn.scope import key_at

X = jnp.ones((2, 3))


@dataclass(frozen=True)
class Deep(nn.Module):
    """A parameter three folders down."""

    features: int = 4
    dtype: type = jnp.float32

    def forward(self, scope, x):
        here = scope / "a" / "b"
        shape = (x.shape[-1], self.features)
        return nn.dot(x, here.param("w", shape, nn.fan_in(), ("embed", "mlp"), self.dtype))


def test_errors_name_path_parameter_and_both_shapes() -> None:
    """FLAX-1: what does not fit is said where it is."""
    params = Deep().init(jax.random.key(0), X)
    with pytest.raises(ValueError, match=r"a/b/w: the model expects shape \(3, 5\), got \(3, 4\)"):
        Deep(5).apply(params, X)
    with pytest.raises(ValueError, match="a/b/w: the model expects float32, got int32"):
        Deep().apply(jax.tree.map(lambda x: x.astype(int), params), X)
    with pytest.raises(ValueError, match="a/b/w: no such parameter; there is v, x"):
        Deep().apply(nn.from_paths({"a/b/v": X, "a/b/x": X}), X)
    with pytest.raises(ValueError, match="a/b/w: no such parameter; there is nothing"):
        Deep().apply({}, X)
    with pytest.raises(ValueError, match="a/b/w: no such parameter; there is a leaf"):
        Deep().apply({"a": X}, X)
    with pytest.raises(ValueError, match="a/b/w: expected an array, got a folder"):
        Deep().apply(nn.from_paths({"a/b/w/c": X}), X)
    with pytest.raises(ValueError, match="a/b/w: expected an array, got float"):
        Deep().apply(nn.from_paths({"a/b/w": 1.0}), X)


@dataclass(frozen=True)
class Inside(nn.Module):
    wrap: type = nn.Remat

    def forward(self, scope, x):
        return self.wrap(Deep(4))(scope / "outer", x)


def test_errors_inside_remat_and_repeat_name_the_whole_path() -> None:
    params = Inside().init(jax.random.key(0), X)
    with pytest.raises(ValueError, match=r"^outer/a/b/w: the model expects shape \(5, 4\)"):
        Inside().apply(params, jnp.ones((2, 5)))
    repeated = nn.Repeat(Square(), 2)
    held = repeated.init(jax.random.key(0), X)
    with pytest.raises(ValueError, match=r"^a/b/w: the model expects shape \(5, 5\).*\(3, 3\)"):
        repeated.apply(held, jnp.ones((2, 5)))


@dataclass(frozen=True)
class Square(nn.Module):
    def forward(self, scope, x, each=None):
        return Deep(x.shape[-1])(scope, x), None


@dataclass(frozen=True)
class Shared(nn.Module):
    again: bool
    width: int = 3
    remat: bool = False

    def forward(self, scope, x):
        dense = nn.Remat(nn.Dense(3)) if self.remat else nn.Dense(3)
        x = dense(scope / "one", x)
        other = nn.Dense(self.width)
        return other(scope.again("one") if self.again else scope / "one", x)


@pytest.mark.parametrize("remat", [False, True])
def test_sharing_is_said_or_refused(remat) -> None:
    params = Shared(True, remat=remat).init(jax.random.key(0), X)
    assert set(nn.paths(params)) == {"one/kernel", "one/bias"}
    twice = nn.Dense(3).apply(params["one"], nn.Dense(3).apply(params["one"], X))
    np.testing.assert_allclose(Shared(True, remat=remat).apply(params, X), twice, rtol=1e-6)
    for call in (
        lambda: Shared(False, remat=remat).init(jax.random.key(0), X),
        lambda: Shared(False, remat=remat).apply(params, X),
    ):
        with pytest.raises(ValueError, match="one/kernel already exists; .*scope.again"):
            call()
    with pytest.raises(
        ValueError, match=r"one/kernel: shared with different shapes, \(3, 3\) and \(3, 4\)"
    ):
        Shared(True, width=4).init(jax.random.key(0), X)


@pytest.mark.parametrize("wrap", [nn.Remat, lambda body: nn.Repeat(body, 2)])
def test_two_parts_under_one_name_are_refused(wrap) -> None:
    @dataclass(frozen=True)
    class Both(nn.Module):
        def forward(self, scope, x):
            for _ in range(2):
                y = wrap(Square())(scope / "same", x)
            return y

    with pytest.raises(ValueError, match="same/a/b/w already exists"):
        Both().init(jax.random.key(0), X)
    params = nn.from_paths({"same/a/b/w": jnp.ones((3, 3) if wrap is nn.Remat else (2, 3, 3))})
    with pytest.raises(ValueError, match="same/a/b/w already exists"):
        Both().apply(params, X)


@pytest.mark.parametrize("name", ["a/b", ""])
def test_names(name) -> None:
    @dataclass(frozen=True)
    class Named(nn.Module):
        def forward(self, scope, x):
            return nn.Dense(2)(scope / name, x)

    with pytest.raises(ValueError, match=f"model: {name!r} is not a name; write scope / 'a' / 'b'"):
        Named().init(jax.random.key(0), X)


def test_keys_by_stream_and_path() -> None:
    """FLAX-10: streams are named; a key depends on its stream's, the path and the call."""

    @dataclass(frozen=True)
    class Noisy(nn.Module):
        def forward(self, scope, streams):
            return [(scope / "a").key(stream) for stream in streams]

    def keys(streams, **given):
        found = Noisy().apply({}, streams, keys=given)
        return [None if key is None else tuple(jax.random.key_data(key).tolist()) for key in found]

    one, two = jax.random.key(1), jax.random.key(2)
    first, second = keys(["x", "x"], x=one)
    assert first != second
    assert keys(["x"], x=one, y=two) == [first]
    assert keys(["x"], x=two) != [first]
    assert keys(["y"], y=one) != [first]
    assert keys(["x"], y=two) == [None]
    assert jnp.array_equal(jax.random.key_data(key_at(one, "a/x:0")), jnp.array(first, jnp.uint32))


@dataclass(frozen=True)
class Counter(nn.Module):
    writes: bool = True

    def forward(self, scope, x):
        count = scope.read("counts", "num", lambda: jnp.zeros((), int))
        if self.writes:
            scope.write("counts", "num", count + 1)
            # A second look sees what was written.
            assert not scope.is_mutable("counts") or scope.read("counts", "num", None) is not count
        scope.capture("seen", x)
        return x + count


@dataclass(frozen=True)
class Two(nn.Module):
    def forward(self, scope, x):
        x = Counter()(scope / "one", x)
        return Counter(writes=False)(scope / "two", x)


def test_mutable_collections_are_returned_never_hidden() -> None:
    """FLAX-11."""
    start = nn.init_collections(Two(), X)
    assert nn.paths(start) == {"counts/one/num": 0, "counts/two/num": 0}
    _, once = Two().apply_and_collect({}, X, mutable=("counts",), collections=start)
    y, twice = Two().apply_and_collect({}, X, mutable=("counts",), collections=once)
    # What was not written is kept; what was not asked for is not there.
    assert nn.paths(twice) == {"counts/one/num": 2, "counts/two/num": 0}
    assert nn.paths(start) == {"counts/one/num": 0, "counts/two/num": 0}
    assert float(y[0, 0]) == 2
    _, seen = Two().apply_and_collect({}, X, mutable=("intermediates",), collections=once)
    assert set(nn.paths(seen["intermediates"])) == {"one/seen", "two/seen"}
    assert nn.paths(seen["counts"]) == nn.paths(once["counts"])
    _, none = nn.Dropout(0.0).apply_and_collect({}, X, mutable=("intermediates",))
    assert none == {"intermediates": {}}


def test_constrain_is_what_the_caller_gives() -> None:
    @dataclass(frozen=True)
    class Laid(nn.Module):
        def forward(self, scope, x):
            return scope.constrain(x, "batch", None)

    assert Laid().apply({}, X) is X
    assert float(Laid().apply({}, X, constrain=lambda x, axes: x * len(axes))[0, 0]) == 2
