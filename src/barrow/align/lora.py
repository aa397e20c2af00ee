"""LoRA: which kernels get a low-rank addition, and what it starts as."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from barrow.nn.initialisers import uniform, zeros
from barrow.nn.trace import ParamSpec


@dataclass(frozen=True)
class Lora:
    """Adapters of some kernels: alpha / rank · down·up is added to each.

    - `rank`: of the product; `alpha`: its weight, as PEFT defines it.
    - `targets`: patterns of the kernels' paths, as ``layers/attention/q/kernel``; * is anything.
    """

    rank: int = 16
    alpha: float = 32.0
    targets: tuple[str, ...] = ("layers/*",)

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"lora.rank must be ≥ 1, got {self.rank}")
        if not 0 < self.alpha < math.inf:
            raise ValueError(f"lora.alpha must be > 0, got {self.alpha}")
        if not self.targets:
            raise ValueError("lora.targets must have a pattern, such as layers/attention/*")

    @property
    def scale(self) -> float:
        """What multiplies the product."""
        return self.alpha / self.rank

    def chosen(self, specs: Mapping[str, ParamSpec]) -> list[str]:
        """The paths of the kernels that get an adapter; a pattern without any is an error."""
        able = [path for path in specs if _is_able(path)]
        for pattern in self.targets:
            if not any(fnmatch(path, pattern) for path in able):
                raise ValueError(
                    f"lora.targets: no kernel matches {pattern!r}; there are {', '.join(able)}"
                )
        return [path for path in able if any(fnmatch(path, p) for p in self.targets)]

    def adapters(self, path: str, spec: ParamSpec) -> dict[str, ParamSpec]:
        """The two narrow weights of a kernel, by their paths."""
        layers, num_in = spec.num_stacked, num_inputs(path)
        before, shape = spec.shape[:layers], spec.shape[layers:]
        names, axes = spec.axes[:layers], spec.axes[layers:]
        inputs, outputs = shape[:num_in], shape[num_in:]
        # As PEFT: uniform by the number of inputs, and zeros, so that nothing changes at first.
        bound = math.prod(inputs) ** -0.5
        down = ParamSpec(
            (*before, *inputs, self.rank),
            spec.dtype,
            (*names, *axes[:num_in], None),
            uniform(bound),
        )
        up = ParamSpec(
            (*before, self.rank, *outputs), spec.dtype, (*names, None, *axes[num_in:]), zeros
        )
        return {f"{path}/down": down, f"{path}/up": up}


def num_inputs(path: str) -> int:
    """How many dimensions of a kernel are contracted: attention's output takes heads."""
    return 2 if path.endswith("/attention/out/kernel") else 1


def _is_able(path: str) -> bool:
    """Whether a parameter is a kernel of the layers; those of experts are not for `nn.dot`."""
    is_kernel = path.startswith("layers/") and path.endswith("/kernel")
    return is_kernel and "/experts/" not in path and "/router/" not in path
