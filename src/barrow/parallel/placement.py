"""The placement of a run's state: a mesh, the rules, and the parameters' logical axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh

from barrow.parallel import Rules, Zero, rows_sharding, shardings, whole


@dataclass(frozen=True)
class Placement:
    """A mesh and its sharding rules; `axes` is the tree of `nn.axes`."""

    mesh: Mesh
    zero: Zero
    axes: Any

    def sharded(self, tree: Any, rules: Rules) -> Any:
        """A tree shaped as the parameters, within a program, sharded by rules."""
        return jax.lax.with_sharding_constraint(tree, shardings(rules, self.axes, tree, self.mesh))

    def of_state(self, shapes: Any) -> Any:
        """Shardings of a whole state: what is shaped as a parameter is sharded like it."""
        params = shardings(self.zero.masters, self.axes, shapes.params, self.mesh)
        known = {
            (_keys(path), leaf.shape): sharding
            for (path, leaf), sharding in zip(
                jax.tree_util.tree_leaves_with_path(shapes.params),
                jax.tree.leaves(params),
                strict=True,
            )
        }

        def place(path: Any, leaf: Any) -> Any:
            keys = _keys(path)
            for start in range(len(keys)):
                if (keys[start:], leaf.shape) in known:
                    return known[keys[start:], leaf.shape]
            return whole(self.mesh)

        return jax.tree_util.tree_map_with_path(place, shapes)

    def rows(self) -> Any:
        """The sharding of a batch."""
        return rows_sharding(self.mesh)


def _keys(path: Any) -> tuple[str, ...]:
    return tuple(jax.tree_util.keystr((key,), simple=True) for key in path)
