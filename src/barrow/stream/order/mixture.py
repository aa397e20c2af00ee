"""Which domain sample n comes from, and how many of that domain's samples came before it.

The domains are the leaves of a Huffman tree of their weights. A node of weight W whose left child
has weight w divides its samples like this: of its first m samples ⌊(m · w + phase) / W⌋ go left,
with a phase in [0, W) made of the seed. So the number that any domain has among the first n samples
takes one division per level, and so does the inverse; there is no iteration.

Of any run of samples, a child gets its share of what the parent got, give or take less than 1.
Summed along a path, a domain of weight w has its share of the run to within

    1 + w / parent + w / grandparent + …        (the root left out)

In a Huffman tree a node weighs at least twice its grandchild, so this is below 4, whatever the
number of domains and the length of the run: `deviation` gives it. The phases make the expected
number exactly the share even where a run is shorter than a domain's turn.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.stream.order.permutation import keys_of

# Numbers of a run times a weight stay below 2^64, and a share is off by less than 2^-40.
TOTAL = 1 << 40
MOST = 1 << 22

Numbers = npt.NDArray[np.int64]


def quantised(weights: Sequence[float | int]) -> tuple[int, ...]:
    """Whole numbers in the same proportions that sum to 2^40: rounded down, and what is missing
    given to the largest remainders. A positive weight is at least 1, at the cost of the largest.
    """
    ratios = [weight.as_integer_ratio() for weight in weights]
    scale = math.lcm(*(below for _, below in ratios))
    parts = [above * (scale // below) * TOTAL for above, below in ratios]
    total = sum(parts) // TOTAL
    whole = [max(1, part // total) if part else 0 for part in parts]
    missing = TOTAL - sum(whole)
    if missing < 0:
        whole[whole.index(max(whole))] += missing
    remainders = [(-(part % total), d) for d, part in enumerate(parts) if part >= total]
    for _, d in sorted(remainders)[: max(0, missing)]:
        whole[d] += 1
    return tuple(whole)


class _Node(NamedTuple):
    """Children are numbers of nodes; a leaf's is −1 − domain."""

    left: int
    right: int
    left_weight: int
    weight: int
    phase: int

    def left_of(self, number: int) -> int:
        """How many of the node's first samples go left."""
        return (number * self.left_weight + self.phase) // self.weight


@dataclass(frozen=True)
class Interleaving:
    """An endless sequence of samples of domains, in the proportions of whole weights.

    A domain of weight 0 has no samples. `key`, below 2^64, picks the phases.
    """

    weights: tuple[int, ...]
    key: int
    _nodes: tuple[_Node, ...] = field(init=False, repr=False, compare=False)
    _root: int = field(init=False, repr=False, compare=False)
    _paths: dict[int, tuple[tuple[_Node, bool], ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if min(self.weights, default=0) < 0 or not any(self.weights):
            raise ValueError(f"expected weights of 0 or more, some above 0, got {self.weights}")
        if sum(self.weights) > TOTAL:
            raise ValueError(f"expected weights that sum to at most 2^40, got {sum(self.weights)}")
        nodes, root = _tree(self.weights, self.key)
        paths: dict[int, tuple[tuple[_Node, bool], ...]] = {}
        _follow(nodes, root, (), paths)
        object.__setattr__(self, "_nodes", nodes)
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_paths", paths)

    def counts(self, number: int) -> list[int]:
        """How many of the first samples belong to each domain."""
        out = [0] * len(self.weights)
        todo = [(self._root, number)]
        while todo:
            place, count = todo.pop()
            if place < 0:
                out[-1 - place] = count
                continue
            node = self._nodes[place]
            left = node.left_of(count)
            todo += [(node.left, left), (node.right, count - left)]
        return out

    def samples(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        """Domains of the samples [first, last), and how many of the same domain came before each.

        Raises `ValueError` for more than 2^22 samples at once.
        """
        if not 0 <= first <= last <= first + MOST:
            raise ValueError(f"expected up to {MOST:,} samples from 0 on, got [{first}, {last})")
        domain = np.empty(last - first, np.int64)
        before = np.empty(last - first, np.int64)
        todo = [(self._root, first, np.arange(last - first))]
        while todo:
            place, start, which = todo.pop()
            if not len(which):
                continue
            if place < 0:
                domain[which] = -1 - place
                before[which] = np.arange(start, start + len(which))
                continue
            node = self._nodes[place]
            left = node.left_of(start)
            remainder = np.uint64((start * node.left_weight + node.phase) % node.weight)
            steps = np.arange(len(which), dtype=np.uint64) * np.uint64(node.left_weight)
            # The quotient grows with this sample where the remainder would pass the weight.
            goes_left = (steps + remainder) % np.uint64(node.weight) >= np.uint64(
                node.weight - node.left_weight
            )
            todo.append((node.left, left, which[goes_left]))
            todo.append((node.right, start - left, which[~goes_left]))
        return domain, before

    def number(self, domain: int, before: int) -> int:
        """The number of the sample with so many samples of its domain before it."""
        if not self.weights[domain]:
            raise ValueError(f"domain {domain} has weight 0 and so no samples")
        number = before
        for node, is_left in reversed(self._paths[domain]):
            if is_left:
                top = (number + 1) * node.weight - node.phase
                number = -(-top // node.left_weight) - 1
            else:
                top = number * node.weight + node.phase
                number = top // (node.weight - node.left_weight)
        return number

    def deviation(self, domain: int) -> float:
        """A bound on how far the domain's number in any run of samples is from its share."""
        path = self._paths.get(domain, ())
        below_root = [node.weight for node, _ in path[1:]]
        return sum((self.weights[domain] / weight for weight in below_root), float(bool(path)))


def _tree(weights: Sequence[int], key: int) -> tuple[tuple[_Node, ...], int]:
    # The second number makes the order total: equal weights merge in order of domain, then age.
    heap = [(weight, d, -1 - d) for d, weight in enumerate(weights) if weight]
    heapq.heapify(heap)
    nodes: list[_Node] = []
    words = keys_of(np.full(len(heap), key, np.uint64), np.arange(len(heap))).tolist()
    while len(heap) > 1:
        (w_left, _, left), (w_right, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        weight = w_left + w_right
        phase = words[len(nodes)] % weight
        heapq.heappush(heap, (weight, len(weights) + len(nodes), len(nodes)))
        nodes.append(_Node(left, right, w_left, weight, phase))
    return tuple(nodes), heap[0][2]


def _follow(
    nodes: tuple[_Node, ...],
    place: int,
    path: tuple[tuple[_Node, bool], ...],
    paths: dict[int, tuple[tuple[_Node, bool], ...]],
) -> None:
    if place < 0:
        paths[-1 - place] = path
        return
    node = nodes[place]
    _follow(nodes, node.left, (*path, (node, True)), paths)
    _follow(nodes, node.right, (*path, (node, False)), paths)
