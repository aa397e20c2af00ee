"""What a compressed model costs and gains: its card."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.config import to_json
from barrow.files import write_bytes
from barrow.models.decoder.generate import generate
from barrow.models.decoder.model import Decoder
from barrow.score.diff import Comparison
from barrow.score.result import versions

FILE = "card.json"
# Rows and tokens whose speed is measured: one question, and a batch.
SHAPES = ((1, 64), (16, 128))
_PROMPT, _NEW = 4, 32
_SECONDS = 1.0


@dataclass(frozen=True)
class Speed:
    """Tokens a second of the original and of the compressed model, and their ratio."""

    what: str
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """Above 1 where the compressed one is faster."""
        return self.after / self.before


@dataclass(frozen=True)
class Card:
    """Of a compressed model: bytes of weights, speed on this machine, and bits per byte by domain,
    the compressed model's less the original's (`score.diff`).

    `task` are metrics on labelled rows, of both models. `comparison` is None for a model that gives
    no probability of text.
    """

    original: str
    scheme: str
    bytes_before: int
    bytes_after: int
    speeds: tuple[Speed, ...]
    comparison: Comparison | None
    task: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    calibration: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    hardware: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def worst(self) -> tuple[str, float] | None:
        """The domain that lost most, and its bits per byte."""
        rows = [] if self.comparison is None else self.comparison.domains
        found = [(row.name, row.difference) for row in rows if row.difference is not None]
        return max(found, key=lambda one: one[1], default=None)


def write_card(folder: Path, card: Card) -> Path:
    """Write a card beside a model."""
    path = folder / FILE
    write_bytes(path, to_json(card).encode())
    return path


def hardware() -> str:
    """The device and the machine that figures are of."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        return str(device.device_kind)
    return f"{os.cpu_count()} cores, {_processor()}"


def made_with() -> dict[str, str]:
    """Versions of what made a card."""
    return versions()


def speeds_of(
    before: tuple[Any, Mapping[str, Any]], after: tuple[Any, Mapping[str, Any]]
) -> tuple[Speed, ...]:
    """Of the model and parameters before and after, layers as a tuple."""
    context, vocab = before[0].config.context, before[0].config.vocab_size
    found = []
    for rows, most in SHAPES:
        length = min(most, context)
        ids = jnp.asarray(np.random.default_rng(0).integers(0, vocab, (rows, length)), jnp.int32)
        took = _times([_forward(model, params, ids) for model, params in (before, after)])
        one, other = (rows * length / seconds for seconds in took)
        found.append(Speed(f"{rows}×{length}", one, other))
    if isinstance(before[0], Decoder) and context > _PROMPT:
        new = min(_NEW, context - _PROMPT)
        took = _times([_decoding(model, params, new) for model, params in (before, after)])
        one, other = (new / seconds for seconds in took)
        found.append(Speed("generating", one, other))
    return tuple(found)


def _forward(model: Any, params: Mapping[str, Any], ids: jax.Array) -> Callable[[], Any]:
    run = jax.jit(lambda params, ids: jax.tree.leaves(model.apply(params, ids))[0].sum())
    return lambda: run(params, ids).block_until_ready()


def _decoding(model: Decoder, params: Mapping[str, Any], new: int) -> Callable[[], Any]:
    return lambda: generate(model, params, [[0] * _PROMPT], max_tokens=new)


def _times(runs: list[Callable[[], Any]]) -> list[float]:
    """The least of several times of each, in turn: both then see the same disturbances."""
    for run in runs:
        run()
    least = [float("inf")] * len(runs)
    until = time.perf_counter() + _SECONDS * len(runs)
    while time.perf_counter() < until or least[-1] == float("inf"):
        for number, run in enumerate(runs):
            began = time.perf_counter()
            run()
            least[number] = min(least[number], time.perf_counter() - began)
    return least


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
