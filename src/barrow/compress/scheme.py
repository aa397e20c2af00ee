"""How weights are quantized: a type, groups, and how scales are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Bits = Literal["int8", "int4", "fp8"]
Method = Literal["nearest", "mse", "percentile", "gptq"]


@dataclass(frozen=True)
class Scheme:
    """Of kernels; tables of embeddings are int8 (with fp8: float8) with a scale for each row.

    - `bits`: int8 and fp8 have a scale for each output channel, int4 one for each `group` of inputs
      of it.
    - `method`: where the largest number of a channel or group falls. nearest: on the largest
      integer. percentile: the 99.9th percentile of magnitudes does. mse: where the squared error,
      weighted by the inputs that calibration saw, is least. gptq: so too, and the error of each
      input is made up for by those that follow (Frantar et al. 2022).
    - `dynamic`: activations become int8 while the model runs, by the largest number of each row.
    - `smooth`: 0 to 1: with `dynamic`, how much of the activations' range moves to the weights
      (SmoothQuant's α); None for none.
    """

    bits: Bits
    method: Method = "mse"
    group: int = 64
    dynamic: bool = False
    smooth: float | None = None

    def __post_init__(self) -> None:
        if self.bits not in get_args(Bits):
            raise ValueError(f"bits must be one of {', '.join(get_args(Bits))}, got {self.bits!r}")
        if self.method not in get_args(Method):
            expected = ", ".join(get_args(Method))
            raise ValueError(f"method must be one of {expected}, got {self.method!r}")
        if self.group < 2 or self.group % 2:
            raise ValueError(f"group must be an even number ≥ 2, got {self.group}; pass group=64")
        if self.dynamic and self.bits != "int8":
            raise ValueError(f"dynamic activations need int8 weights, got {self.bits}")
        if self.smooth is not None and not (self.dynamic and 0 <= self.smooth <= 1):
            raise ValueError(
                f"smooth must be from 0 to 1, with dynamic activations, got {self.smooth}"
            )

    @property
    def needs_calibration(self) -> bool:
        """Whether inputs of the weights are looked at."""
        return self.bits != "fp8" and (self.method in ("mse", "gptq") or self.smooth is not None)

    def __str__(self) -> str:
        parts: list[str] = [self.bits]
        if self.bits == "int4":
            parts.append(f"group {self.group}")
        if self.bits != "fp8":
            parts.append(self.method)
        if self.dynamic:
            parts.append("dynamic activations")
        if self.smooth is not None:
            parts.append(f"smooth {self.smooth:g}")
        return ", ".join(parts)


def default_scheme(bits: Bits) -> Scheme:
    """What `barrow compress --to` means."""
    return Scheme(bits, {"int8": "mse", "int4": "gptq", "fp8": "nearest"}[bits])  # type: ignore[arg-type]
