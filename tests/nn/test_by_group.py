"""Products by groups, against a loop (DEEPSPEED-11)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.nn import by_group
from barrow.nn.by_group import Blocks, dot_by_group

RNG = np.random.default_rng(0)
# Groups of rows: mixed, one for all, none for some, fewer rows than groups, more than a block.
CASES = {
    "mixed": (RNG.integers(0, 6, 100), 5),
    "one for all": (np.full(40, 3), 4),
    "no row at all": (np.full(16, 4), 4),
    "few rows": (np.array([7, 2]), 8),
    "large": (RNG.integers(0, 3, 3000), 3),
}


def product(x: Any, weight: Any, groups: Any) -> jax.Array:
    blocks = Blocks.of(groups, len(weight))
    return blocks.scatter(dot_by_group(blocks.gather(x), weight, blocks.groups))


@pytest.mark.parametrize(("name", "held"), [("mixed", 1), *((name, 1 << 26) for name in CASES)])
def test_a_loop_gives_the_same(name: str, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and both gradients in float64 by hand; weights copied for one block or for all."""
    monkeypatch.setattr(by_group, "_HELD", held)
    groups, num = CASES[name]
    x, weight, above = (
        RNG.normal(size=shape).astype(np.float32)
        for shape in ((len(groups), 6), (num, 6, 7), (len(groups), 7))
    )

    @jax.jit
    def both(x: Any, weight: Any) -> Any:
        y, back = jax.vjp(lambda *a: product(*a, jnp.asarray(groups)), x, weight)
        return y, *back(jnp.asarray(above))

    y, of_x, of_weight = both(x, weight)
    expected, wanted_x, wanted_weight = (np.zeros(a.shape) for a in (above, x, weight))
    for row, group in enumerate(groups):
        if group < num:
            expected[row] = x[row].astype(np.float64) @ weight[group]
            wanted_x[row] = weight[group].astype(np.float64) @ above[row]
            wanted_weight[group] += np.outer(x[row].astype(np.float64), above[row])
    for found, by_hand in ((y, expected), (of_x, wanted_x), (of_weight, wanted_weight)):
        np.testing.assert_allclose(found, by_hand, rtol=1e-5, atol=1e-4)


def test_rows_once_for_several_choices() -> None:
    groups = jnp.array([0, 1, 2, 0, 1, 3])
    x = jnp.arange(6.0).reshape(3, 2)

    @jax.jit
    def there_and_back() -> jax.Array:
        blocks = Blocks.of(groups, 3)
        return blocks.scatter(blocks.gather(x, each=2))

    found = there_and_back()
    np.testing.assert_array_equal(found[:5], np.repeat(x, 2, axis=0)[:5])
    np.testing.assert_array_equal(found[5], 0)


def test_a_few_rows_do_not_touch_all_groups() -> None:
    """A step of generation reads the weights of the chosen experts alone."""
    found = jax.eval_shape(lambda: Blocks.of(jnp.array([5, 90]), 128))
    assert found.groups.shape == (2,)
