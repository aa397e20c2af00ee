"""The placement of a run's state: a mesh, the rules, and the parameters' logical axes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from barrow.parallel import Rules, Zero, fitted, rows_sharding, shardings, whole
from barrow.parallel.mesh import ROWS
from barrow.parallel.offload import Offload, Outside

# Numbers of an array that is worth a transfer of its own.
_SMALLEST = 1 << 16
# The field of a state whose arrays have a row for each device.
_OF_DEVICES = "of_devices"


@dataclass(frozen=True)
class Placement:
    """A mesh and its sharding rules; `axes` is the tree of `nn.axes`.

    `offload` is where large moments of the optimizer are kept; on disk, in files of `scratch`. So
    are the parameters named in `masters`; the devices have copies of them, of these types.
    """

    mesh: Mesh
    zero: Zero
    axes: Any
    offload: Offload = "none"
    scratch: Path | None = None
    masters: Mapping[str, Any] = field(default_factory=dict)

    def sharded(self, tree: Any, rules: Rules) -> Any:
        """A tree shaped as the parameters, within a program, sharded by rules."""
        return jax.lax.with_sharding_constraint(tree, shardings(rules, self.axes, tree, self.mesh))

    def of_state(self, shapes: Any, *, kept: bool = False) -> Any:
        """Shardings of a whole state: what is shaped as a parameter is sharded like it.

        With `kept`, what is offloaded has its `Outside` instead.
        """
        folder = None
        if self.offload == "disk":
            folder = self.scratch or Path(tempfile.gettempdir())

        def outside(leaf: Any, names: tuple[str | None, ...]) -> Outside:
            spec = self.zero.masters.spec(names, tuple(leaf.shape), self.mesh)
            return Outside(NamedSharding(self.mesh, spec), names[:1] == ("layers",), folder)

        params = jax.tree.map(outside, shapes.params, self.axes)
        known = {
            (_keys(path), leaf.shape): where
            for (path, leaf), where in zip(
                jax.tree_util.tree_leaves_with_path(shapes.params),
                jax.tree.leaves(params),
                strict=True,
            )
        }

        def place(path: Any, leaf: Any) -> Any:
            keys = _keys(path)
            if _OF_DEVICES in keys:
                return NamedSharding(self.mesh, PartitionSpec(ROWS))
            for start in range(len(keys)):
                where = known.get((keys[start:], leaf.shape))
                if where is not None:
                    used = self.masters.get("/".join(keys[1:])) if keys[0] == "params" else None
                    is_out = keys[0] == "optimizer" or used is not None
                    is_out = is_out and kept and self.offload != "none" and leaf.size >= _SMALLEST
                    return replace(where, used=used) if is_out else where.sharding
            return whole(self.mesh)

        return jax.tree_util.tree_map_with_path(place, shapes)

    def rows(self) -> Any:
        """The sharding of a batch."""
        return rows_sharding(self.mesh)

    def batch(self, batch: Any) -> Any:
        """A batch, within a program, sharded."""
        places = jax.tree.map(lambda x: fitted(self.rows(), x.shape), batch)
        return jax.lax.with_sharding_constraint(batch, places)


def _keys(path: Any) -> tuple[str, ...]:
    return tuple(jax.tree_util.keystr((key,), simple=True) for key in path)
