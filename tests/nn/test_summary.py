"""The table of a model (FLAX-13)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import pytest

from barrow import nn


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope, x, each=None):
        gain = scope.param("gain", (), nn.ones, ())
        with jax.named_scope("a name of the author's own"):
            y = nn.dot(x, scope.param("mix", (4, 4), nn.fan_in(), ("embed", None)))
        return x + gain * nn.MLP(8)(scope / "mlp", y), None


@dataclass(frozen=True)
class Model(nn.Module):
    unroll: bool = False

    def forward(self, scope, ids):
        embed = nn.Embed(10, 4)
        x = embed(scope / "embed", ids)
        x, _ = nn.Repeat(Layer(), 3, unroll=self.unroll)(scope / "layers", x)
        x = nn.BatchNorm()(scope / "norm", x)
        return nn.Remat(nn.Dense(5))(scope / "head", x), embed.attend(scope.again("embed"), x)


IDS = jax.ShapeDtypeStruct((2, 6), jnp.int32)


def rows(text):
    return {line.split("  ")[0].strip(): line for line in text.splitlines()}


@pytest.mark.parametrize("unroll", [False, True])
def test_every_module_and_parameter(unroll) -> None:
    model = Model(unroll)
    text = nn.summary(model, IDS)
    table = rows(text)
    for path, spec in nn.describe(model, IDS).items():
        assert str(list(spec.shape)) in table[path]
        assert spec.dtype.name in table[path]
    assert ("Repeat(Layer)" in table["layers"], "Remat(Dense)" in table["head"]) == (True, True)
    # 12 tokens, three layers: 4 → 8 → 4 in the net, 4 → 4 by the layer's own matrix.
    assert table["layers/mlp/up"].split()[-2:] == ["120", f"{2 * 12 * 3 * 32:,}"]
    assert table["layers"].split()[-2:] == ["279", f"{2 * 12 * 3 * (64 + 16):,}"]
    assert table["embed"].split()[-2:] == ["40", f"{2 * 12 * 40:,}"]
    assert table["norm"].split()[-2:] == ["8", "0"]
    assert "· layers, embed, mlp" in table["layers/mlp/up/kernel"]
    assert "· layers, embed, -" in table["layers/mix"]
    assert "[2, 6, 8]" in table["layers/mlp/up"]
    assert "[2, 6, 5], [2, 6, 10]" in table["model"]


def test_totals_are_those_of_the_parts() -> None:
    text = nn.summary(Model(), IDS)
    params = jax.eval_shape(Model().init, jax.random.key(0), IDS)
    number, total = nn.num_params(params), 2 * 12 * (3 * 80 + 20 + 40)
    last = text.splitlines()[-1]
    assert last == f"{number:,} parameters, {4 * number:,} bytes; {total:,} FLOPs forward"
    assert rows(text)["model"].split()[-2:] == [f"{number:,}", f"{total:,}"]


def test_parents_come_before_their_parts() -> None:
    paths = [line.split()[0] for line in nn.summary(Model(), IDS).splitlines()[2:-2]]
    assert paths[:2] == ["model", "embed"]
    for path in paths[1:]:
        parent = path.rpartition("/")[0]
        assert not parent or paths.index(parent) < paths.index(path)
    assert paths.index("layers/mlp/up/kernel") < paths.index("layers/mlp/down")


def test_what_is_not_known_is_said() -> None:
    @dataclass(frozen=True)
    class Loop(nn.Module):
        def forward(self, scope, x):
            w = scope.param("w", (3, 3), nn.fan_in(), (None, None))
            return jax.lax.while_loop(lambda x: jnp.sum(x) < 9, lambda x: nn.dot(x, w), x)

    text = nn.summary(Loop(), jnp.ones((2, 3)))
    assert "incomplete count: Loop: one iteration of a while loop is counted" in text


def test_a_single_module_and_other_arguments() -> None:
    text = nn.summary(nn.Recurrent(nn.LSTMCell(4)), jnp.ones((2, 5, 3)), lengths=jnp.array([1, 5]))
    assert rows(text)["model"].split()[1] == "Recurrent"
    assert rows(text)["cell"].split()[-1] == f"{5 * 2 * 2 * (3 + 4) * 16:,}"


def test_a_parameter_in_a_folder_that_is_no_module_has_its_line() -> None:
    @dataclass(frozen=True)
    class Deep(nn.Module):
        def forward(self, scope, x):
            return x * (scope / "a" / "b").param("gain", (3,), nn.ones, ("embed",))

    assert "[3]" in rows(nn.summary(Deep(), jnp.ones((2, 3))))["a/b/gain"]
