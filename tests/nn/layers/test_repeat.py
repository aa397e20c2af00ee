"""Layers scanned or unrolled (FLAX-11, FLAX-12)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn.layers import repeat


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope, x, own=None, shared=None):
        y = jnp.tanh(nn.Dense(6)(scope / "dense", nn.RMSNorm()(scope / "norm", x)))
        if own is not None:
            y = y + own
        if shared is not None:
            y = y * shared["factor"]
        scope.capture("y", y)
        return x + y, {"mean": jnp.mean(y)}


X = jnp.asarray(np.random.default_rng(0).normal(size=(5, 6)), jnp.float32)
OWN = tuple(0.1 * jnp.arange(6.0) * k for k in range(24))
SHARED = {"factor": jnp.float32(0.5), "nothing": None}


def test_24_layers_scanned_equal_the_loop() -> None:
    """FLAX-12: forward, what layers give out, intermediates and gradients."""
    params = nn.Repeat(Layer(), 24).init(jax.random.key(0), X)

    def by_hand(params):
        x, outs, seen = X, [], []
        for k, own in enumerate(OWN):
            one = jax.tree.map(lambda p, k=k: p[k], params)
            (x, out), found = Layer().apply_and_collect(
                one, x, own, SHARED, mutable=("intermediates",)
            )
            outs.append(out["mean"])
            seen.append(found["intermediates"]["y"])
        return jnp.sum(x**2), (x, jnp.stack(outs), jnp.stack(seen))

    def ours(params, unroll):
        model = nn.Repeat(Layer(), 24, unroll=unroll)
        (x, outs), found = model.apply_and_collect(
            params, X, OWN, SHARED, mutable=("intermediates",)
        )
        seen = found["intermediates"]["y"]
        return jnp.sum(x**2), (x, jnp.stack([out["mean"] for out in outs]), seen)

    wanted = jax.jit(jax.grad(by_hand, has_aux=True))(params)
    for unroll in (False, True):
        found = jax.jit(jax.grad(lambda p, u=unroll: ours(p, u), has_aux=True))(params)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            # Gradients reach 150: a small one beside it has the rounding of the large ones.
            atol = 1e-5 * max(1.0, float(jnp.abs(other).max()))
            np.testing.assert_allclose(one, other, rtol=0, atol=atol)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU with large layers."""
    monkeypatch.setattr(repeat, "_is_copied", lambda x, num: x.ndim == 3)


def test_gradients_that_are_copied_are_those_of_a_scan(copied: None) -> None:
    def loss(params, x, unroll):
        return jnp.sum(nn.Repeat(Layer(), 4, unroll=unroll).apply(params, x)[0] ** 2)

    params = nn.Repeat(Layer(), 4).init(jax.random.key(0), X)
    wanted, found = (jax.jit(jax.grad(loss), static_argnums=2)(params, X, u) for u in (False, True))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), found, wanted)
    text = jax.jit(jax.grad(loss), static_argnums=2).lower(params, X, True).as_text()
    kernel, scale = (f"tensor<4x{size}xf32>" for size in ("6x6", "6"))
    assert any("dynamic_update_slice" in row and kernel in row for row in text.splitlines())
    assert not any("concatenate" in row and kernel in row for row in text.splitlines())
    assert any("concatenate" in row and scale in row for row in text.splitlines())


def test_copied_gradients_of_several_models_at_once_and_of_gradients(copied: None) -> None:
    def loss(params, x, unroll):
        return jnp.sum(nn.Repeat(Layer(), 3, unroll=unroll).apply(params, x)[0] ** 2)

    def norm(params, x, unroll):
        return sum(jnp.sum(g**2) for g in jax.tree.leaves(jax.grad(loss)(params, x, unroll)))

    params = nn.Repeat(Layer(), 3).init(jax.random.key(0), X)
    many = jax.tree.map(lambda p: jnp.stack([p, 0.5 * p]), params)
    for of in (loss, norm):
        wanted, found = (
            jax.jit(jax.vmap(jax.grad(lambda p, x, u=u, of=of: of(p, x, u)), in_axes=(0, None)))(
                many, X
            )
            for u in (False, True)
        )
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3), found, wanted)


@dataclass(frozen=True)
class Adapted(nn.Module):
    """With a matrix that is trained beside one that need not be."""

    is_stopped: bool = False

    def forward(self, scope, x, own=None):
        base = nn.Dense(6)(scope / "base", x)
        base = jax.lax.stop_gradient(base) if self.is_stopped else base
        return x + base + nn.Dense(6)(scope / "more", jnp.tanh(x)), None


def test_gradients_of_what_is_not_trained_are_not_computed(copied: None) -> None:
    """Low-rank training: the base's products with gradients are most of the work."""
    model = nn.Repeat(Adapted(), 3, unroll=True)
    params = model.init(jax.random.key(0), X)

    def loss(more, params):
        return jnp.sum(model.apply(params | {"more": more}, X)[0] ** 2)

    def products(run) -> int:
        return run.lower(params["more"], params).compile().as_text().count(" dot(")

    num = products(jax.jit(jax.grad(loss)))
    assert num < products(jax.jit(jax.grad(loss, argnums=(0, 1))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeat, "_is_copied", lambda x, num: False)
        assert num == products(jax.jit(jax.grad(loss)))
    stopped = nn.Repeat(Adapted(is_stopped=True), 3, unroll=True)
    found = jax.jit(jax.grad(lambda p: jnp.sum(stopped.apply(p, X)[0] ** 2)))(params)
    assert not found["base"]["kernel"].any()
    assert found["more"]["kernel"].all()


@pytest.mark.parametrize(
    ("backend", "devices", "shape", "dtype", "is_copied"),
    [
        ("gpu", 1, (2, 2048, 2048), "bfloat16", True),
        ("gpu", 1, (2, 2048, 2047), "bfloat16", False),
        ("gpu", 1, (2, 4096, 4096), "int8", False),
        ("gpu", 2, (2, 2048, 2048), "bfloat16", False),
        ("cpu", 1, (2, 2048, 2048), "bfloat16", False),
    ],
)
def test_large_gradients_are_copied_on_one_gpu(
    backend: str,
    devices: int,
    shape: tuple[int, ...],
    dtype: str,
    is_copied: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    monkeypatch.setattr(jax, "device_count", lambda: devices)
    x = jax.eval_shape(lambda: jnp.zeros(shape, dtype))
    assert repeat._is_copied(x, 2) == is_copied  # type: ignore[arg-type]


def test_names_are_the_same_scanned_or_unrolled() -> None:
    models = [nn.Repeat(Layer(), 3, unroll=unroll) for unroll in (False, True)]
    one, other = (model.init(jax.random.key(0), X) for model in models)
    assert nn.paths(one).keys() == nn.paths(other).keys()
    for path, leaf in nn.paths(one).items():
        np.testing.assert_array_equal(leaf, nn.paths(other)[path])
    assert nn.axes(models[0], X) == nn.axes(models[1], X)
    assert one["dense"]["kernel"].shape == (3, 6, 6)


def test_scanned_is_compiled_once() -> None:
    params = nn.Repeat(Layer(), 24).init(jax.random.key(0), X)

    def num_lines(unroll):
        model = nn.Repeat(Layer(), 24, unroll=unroll)
        return jax.jit(model.apply).lower(params, X).as_text().count("\n")

    assert num_lines(False) * 3 < num_lines(True)


def test_layers_that_are_recomputed_are_traced_once() -> None:
    traced: list[int] = []

    class Counted(Layer):
        def forward(self, scope, x, own=None, shared=None):
            traced.append(1)
            return super().forward(scope, x, own, shared)

    model = nn.Repeat(Counted(), 3, unroll=True, remat=nn.Policy())
    params = model.init(jax.random.key(0), X)
    traced.clear()
    jax.make_jaxpr(lambda p: model.apply(p, X))(params)
    assert len(traced) == 1


def test_inside_vmap_and_another_path() -> None:
    @dataclass(frozen=True)
    class Model(nn.Module):
        def forward(self, scope, x):
            x, _ = nn.Repeat(Layer(), 2)(scope / "first", x)
            return nn.Repeat(Layer(), 3)(scope / "second", x)[0]

    params = Model().init(jax.random.key(0), X)
    assert params["first"]["norm"]["scale"].shape == (2, 6)
    assert params["second"]["norm"]["scale"].shape == (3, 6)
    rows = jax.vmap(Model().apply, (None, 0))(params, X)
    np.testing.assert_allclose(rows, Model().apply(params, X), rtol=1e-5, atol=1e-6)


@dataclass(frozen=True)
class Grows(nn.Module):
    def forward(self, scope, x, own=None):
        return jnp.concatenate([x, x]), None


@dataclass(frozen=True)
class Retypes(nn.Module):
    def forward(self, scope, x, own=None):
        return x.astype(jnp.bfloat16), None


@pytest.mark.parametrize("unroll", [False, True])
def test_bad_input(unroll) -> None:
    with pytest.raises(ValueError, match="num must be ≥ 1, got 0"):
        nn.Repeat(Layer(), 0, unroll=unroll)
    model = nn.Repeat(Layer(), 3, unroll=unroll)
    params = model.init(jax.random.key(0), X)
    with pytest.raises(ValueError, match="model: 2 entries for 3 layers"):
        model.apply(params, X, OWN[:2])
    more = nn.Repeat(Layer(), 4, unroll=unroll)
    with pytest.raises(
        ValueError, match=r"model/dense/bias: the model has 4 layers, .* shape \(3, 6\)"
    ):
        more.apply(params, X)
    with pytest.raises(ValueError, match=r"took float32\[5, 6\] and returned float32\[10, 6\]"):
        nn.Repeat(Grows(), 2, unroll=unroll).init(jax.random.key(0), X)
    with pytest.raises(ValueError, match=r"took float32\[5, 6\] and returned bfloat16\[5, 6\]"):
        nn.Repeat(Retypes(), 2, unroll=unroll).init(jax.random.key(0), X)
    with pytest.raises(
        ValueError, match=r"model/y: the model has 3 layers, but the intermediates have"
    ):
        model.apply(params, X, collections={"intermediates": {"y": jnp.ones((2, 5))}})


@dataclass(frozen=True)
class Stack(nn.Module):
    unroll: bool = True

    def forward(self, scope, x):
        return nn.Repeat(Layer(), 3, unroll=self.unroll)(scope / "layers", x)[0]


def test_layers_taken_apart_give_the_same() -> None:
    params = Stack().init(jax.random.key(0), X)
    apart = nn.take_apart(params, "layers")
    assert [sorted(layer) for layer in apart["layers"]] == [["dense", "norm"]] * 3
    np.testing.assert_allclose(Stack().apply(apart, X), Stack().apply(params, X), rtol=1e-6)
    gradient = jax.grad(lambda p: Stack().apply(p, X).sum())(apart)
    assert jax.tree.structure(gradient) == jax.tree.structure(apart)


def test_layers_go_back_into_one_array() -> None:
    params = Stack().init(jax.random.key(0), X)
    again = nn.put_together(nn.take_apart(params, "layers"), "layers")
    assert jax.tree.structure(again) == jax.tree.structure(params)
    jax.tree.map(np.testing.assert_array_equal, again, params)


def test_layers_taken_apart_cannot_be_scanned_nor_be_too_few() -> None:
    apart = nn.take_apart(Stack().init(jax.random.key(0), X), "layers")
    with pytest.raises(ValueError, match="layers: unstacked parameters need unr"):
        Stack(unroll=False).apply(apart, X)
    with pytest.raises(
        ValueError, match="layers: the model has 3 layers, but the parameters have 2"
    ):
        Stack().apply(apart | {"layers": apart["layers"][:2]}, X)
