"""Which keys a query sees: causality, lengths, segments, windows and blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Sparse:
    """Blocks of `size` places: one sees itself, `before` blocks before it, and the `first` ones.

    Without causality it sees as many blocks after it as before. A row of n places then takes time
    and memory in proportion to n · size · (before + first + 1).
    """

    size: int = 64
    before: int = 3
    first: int = 1

    def __post_init__(self) -> None:
        if self.size < 1 or min(self.before, self.first) < 0:
            raise ValueError(f"size must be ≥ 1, before and first ≥ 0, got {self}")

    def blocks(self, num: int, *, causal: bool) -> npt.NDArray[np.int64]:
        """The numbers of the blocks that each of `num` blocks sees [num, most]; −1 for no block."""
        after = 0 if causal else self.before
        near = np.arange(num)[:, None] + np.arange(-self.before, after + 1)
        near[(near < self.first) | (near >= num)] = -1
        far = np.broadcast_to(np.arange(min(self.first, num)), (num, min(self.first, num))).copy()
        if causal:
            far[far > np.arange(num)[:, None]] = -1
        return np.concatenate([far, near], axis=1)


@dataclass(frozen=True)
class Visible:
    """Which keys a query sees; a field that is None does not restrict them.

    causal: no key later than the query. starts [batch]: the position of each row's first query
    among the keys, 0 without a cache. lengths [batch]: the number of keys of each row. segments:
    ids of queries [batch, queries] and of keys [batch, keys]; a query sees its own segment. window:
    with `causal`, only so many keys, the query's own the last. sparse: only some blocks.
    """

    causal: bool = False
    starts: jax.Array | None = None
    lengths: jax.Array | None = None
    segments: tuple[jax.Array, jax.Array] | None = None
    window: int | None = None
    sparse: Sparse | None = None

    def __post_init__(self) -> None:
        if self.window is not None and (self.window < 1 or not self.causal):
            raise ValueError(f"window must be ≥ 1, and causal, got {self.window}")

    @property
    def is_plain(self) -> bool:
        """Whether causality is the only mask."""
        arrays = (self.starts, self.lengths, self.segments)
        return all(array is None for array in arrays) and not self.is_local

    @property
    def is_window_alone(self) -> bool:
        """Whether a window of causal attention is the only mask."""
        return self.window is not None and replace(self, window=None).is_plain

    @property
    def is_local(self) -> bool:
        """Whether a query sees only some places, whatever the row."""
        return self.window is not None or self.sparse is not None

    @property
    def is_never_empty(self) -> bool:
        """Whether every query sees a key, at least its own."""
        return self.causal and self.lengths is None

    @property
    def is_padding(self) -> bool:
        """Whether the lengths of rows are the only mask."""
        others = self.causal or self.starts is not None or self.segments is not None
        return self.lengths is not None and not others and not self.is_local

    def mask(self, num_queries: int, num_keys: int) -> jax.Array | None:
        """Booleans [batch or 1, 1, queries, keys]; None where everything is seen."""
        parts = []
        if self.causal:
            places = jnp.arange(num_queries)[:, None]
            if self.starts is not None:
                places = self.starts[:, None, None, None] + places
            parts.append(jnp.arange(num_keys) <= places)
            if self.window is not None:
                parts.append(jnp.arange(num_keys) > places - self.window)
        if self.sparse is not None:
            parts.append(self._sees_block(num_queries, num_keys))
        if self.lengths is not None:
            parts.append(jnp.arange(num_keys) < self.lengths[:, None, None, None])
        if self.segments is not None:
            queries, keys = self.segments
            parts.append((queries[:, :, None] == keys[:, None, :])[:, None])
        if not parts:
            return None
        seen = parts[0]
        for part in parts[1:]:
            seen = seen & part
        return seen.reshape(*(1,) * (4 - seen.ndim), *seen.shape)

    def _sees_block(self, num_queries: int, num_keys: int) -> jax.Array:
        """Whether a query's block sees a key's, [queries, keys] or [batch, 1, queries, keys]."""
        assert self.sparse is not None
        size = self.sparse.size
        num = -(-num_keys // size)
        sees = np.zeros((num, num + 1), np.bool_)  # the last column is for −1
        np.put_along_axis(sees, self.sparse.blocks(num, causal=self.causal), True, axis=1)
        places = jnp.arange(num_queries)
        if self.starts is not None:
            places = self.starts[:, None] + places
        rows = jnp.asarray(sees[:, :num])[places // size]
        found = rows[..., np.arange(num_keys) // size]
        return found if self.starts is None else found[:, None]


ALL = Visible()
CAUSAL = Visible(causal=True)
