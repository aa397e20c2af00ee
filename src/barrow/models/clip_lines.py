"""Lines of the tables that lead from other people's tensors to CLIP's parameters, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.models.names import Array, Line, same

# Running statistics of batch norms are no parameters, but lie in the same files.
STATISTICS = "batch_stats/"


@dataclass(frozen=True)
class Entry:
    """A line, and for how many layers it stands: "{}" in its key is 0, 1, … `num` − 1.

    With `num` None there is one tensor, and our parameter has no dimension of layers.
    """

    line: Line
    num: int | None = None

    def names(self) -> list[str]:
        """The tensors of theirs, in the order of the layers."""
        if self.num is None:
            return [self.line.key]
        return [self.line.key.format(number) for number in range(self.num)]

    def shape(self) -> tuple[int, ...]:
        """The shape of each of our parameters."""
        return self.line.our_shape if self.num is None else (self.num, *self.line.our_shape)


def convolution(key: str, path: str, channels: int, features: int, window: int) -> Line:
    """[out, in, h, w]; ours is [h, w, in, out]."""
    shape = (features, channels, window, window)
    return Line(key, (path,), shape, (1, 1, 1, 1), (2, 3, 1, 0))


def into_heads(key: str, path: str, width: int, heads: int) -> list[Line]:
    """torch.nn.Linear to the queries, keys or values of all heads."""
    split = (heads, width // heads, width)
    return [
        Line(f"{key}.weight", (f"{path}/kernel",), split, (2, 1), (2, 0, 1)),
        Line(f"{key}.bias", (f"{path}/bias",), split[:2], (2,), (0, 1)),
    ]


def out_of_heads(key: str, path: str, width: int, heads: int, num_out: int) -> list[Line]:
    """torch.nn.Linear from all heads."""
    split = (num_out, heads, width // heads)
    return [
        Line(f"{key}.weight", (f"{path}/kernel",), split, (1, 2), (1, 2, 0)),
        same(f"{key}.bias", f"{path}/bias", num_out),
    ]


def tower(block: Iterable[Line], *, layers: int) -> Iterator[Entry]:
    """A block's lines, with keys of "{}" and paths of "{}", for all layers but the last, and it."""
    for line in block:
        if layers > 1:
            yield Entry(_at(line, line.key, "layers"), layers - 1)
        yield Entry(_at(line, line.key.format(layers - 1), "last"))


def _at(line: Line, key: str, folder: str) -> Line:
    paths = tuple(path.format(folder) for path in line.paths)
    return Line(key, paths, line.split, line.groups, line.order)


def read(entry: Entry, tensors: Mapping[str, Array], found: Mapping[str, str], kind: Any) -> Any:
    """Our parameters of an entry, by path, in a given type."""
    keys = entry.names()
    arrays = {path: np.empty((len(keys), *entry.line.our_shape), kind) for path in entry.line.paths}
    for number, key in enumerate(keys):
        for path, part in zip(entry.line.paths, entry.line.ours(tensors[found[key]]), strict=True):
            arrays[path][number] = part
    return {path: x[0] if entry.num is None else x for path, x in arrays.items()}


def written(entry: Entry, leaves: Mapping[str, Any], number: int) -> Array:
    """Their tensor of one layer out of our parameters."""
    held = [leaves[path] for path in entry.line.paths]
    ours = [np.asarray(x if entry.num is None else x[number]) for x in held]
    return entry.line.theirs(ours)
