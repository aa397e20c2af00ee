"""Which operation of the program a kernel is of, where a trace has only the names of kernels.

So it is inside CUDA graphs. Kernels that XLA makes have the name of their operation, or of another
one that computes the same: one kernel serves both. Those of libraries, and copies, have none, but
kernels run in the order of the program: they are of operations between those before and after them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from barrow.train.profile.operations import CALLS, COMPUTATION, NAMED
from barrow.train.profile.trace import Operation

_LIBRARY = re.compile(r'custom_call_target="_*(cublas|cudnn|mosaic)')
_COPY = re.compile(
    r" (?:copy|dynamic-slice|dynamic-update-slice)\(|(?:slice|copy)\S* = .* fusion\("
)
_KERNELS = {
    "copy": re.compile(r"^memcpy", re.IGNORECASE),
    "mosaic": re.compile(r"mosaic", re.IGNORECASE),
    "cudnn": re.compile(r"cudnn|flash|fmha|sdpa", re.IGNORECASE),
    "cublas": re.compile(r"nvjet|gemm|cublas|cutlass|xmma", re.IGNORECASE),
}
_SUFFIX = re.compile(r"(_impl|_kernel|__\d+)$")


def named(operations: Iterable[Operation], program: str) -> list[Operation]:
    """The operations in their order, with names of the program's text."""
    ran = sorted(operations, key=lambda one: one.start)
    order = _Order(program, {one.name for one in ran})
    names = [order.name_of(one.name) for one in ran]
    for device in {one.device for one in ran}:
        last, waiting = "", list[int]()
        here = [k for k, one in enumerate(ran) if one.device == device]
        for k in here:
            if names[k]:
                order.settle(waiting, last, names[k], ran, names)
                last, waiting = names[k], []
            elif not ran[k].is_communication:
                waiting.append(k)
        order.settle(waiting, last, "", ran, names)
    return [replace(one, name=name or one.name) for one, name in zip(ran, names, strict=True)]


class _Order:
    """The lines of a program: where each operation is, and which have kernels without a name."""

    def __init__(self, program: str, kernels: set[str]) -> None:
        self.places: dict[str, tuple[str, int]] = {}
        # By computation, the operations of each kind with their lines.
        self.calls: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        current, used = "", {_SUFFIX.sub("", name) for name in kernels}
        for number, line in enumerate(program.splitlines()):
            if (header := COMPUTATION.match(line)) is not None:
                current = header[1]
            elif (found := NAMED.match(line)) is not None:
                self.places[found[1]] = current, number
                inside = CALLS.search(line)
                kinds = {kind for _, kind, _ in self.calls.get(inside[1], [])} if inside else set()
                if (library := _LIBRARY.search(line)) is not None:
                    kinds = {library[1]}
                elif _COPY.search(line) and _kernel(found[1]) not in used and not kinds - {"copy"}:
                    kinds = {"copy"}
                self.calls[current] += [(number, kind, found[1]) for kind in sorted(kinds)]
        self.names = {_kernel(name): name for name in self.places}

    def name_of(self, kernel: str) -> str:
        """The operation of a kernel by its name; empty if it has another's."""
        return kernel if kernel in self.places else self.names.get(_SUFFIX.sub("", kernel), "")

    def settle(
        self, waiting: list[int], last: str, following: str, ran: list[Operation], names: list[str]
    ) -> None:
        """Name the kernels that ran between two operations."""
        for kind, words in _KERNELS.items():
            own = [k for k in waiting if not names[k] and words.search(ran[k].name)]
            found = self._between(kind, last, following)
            for number, k in enumerate(own if found else []):
                names[k] = found[min(number, len(found) - 1)]  # a call may be several kernels
        for k in waiting:  # what is of no library is of the operation before it
            names[k] = last = names[k] or last

    def _between(self, kind: str, last: str, following: str) -> list[str]:
        """Operations of a kind after one and before another, which may be in another loop."""
        first, start = self.places.get(last, ("", 0))
        second, end = self.places.get(following, ("", 0))
        after = [(n, name) for n, one, name in self.calls[first] if one == kind and n > start]
        before = [(n, name) for n, one, name in self.calls[second] if one == kind and n < end]
        if first == second and start < end:
            before, after = [], [(n, name) for n, name in after if n < end]
        return [name for _, name in after + before]


def _kernel(name: str) -> str:
    return re.sub(r"\W", "_", name)
