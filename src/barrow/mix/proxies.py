"""Proxies: small models of the shape of Llama, and the run that trains one.

A size counts the parameters outside the embedding table, whose size the vocabulary decides.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import cast

import jax

from barrow.errors import ConfigError
from barrow.models.decoder.model import DecoderConfig
from barrow.nn.attention.rotary import Rotary
from barrow.stream import StreamSettings
from barrow.train.optimizers import AdamW
from barrow.train.precision import default_precision
from barrow.train.run import CheckpointSettings, Run
from barrow.train.schedules import Cosine
from barrow.train.step import StepSettings

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9}
_HEAD = 32  # widths are multiples of it; numbers in a head, twice as many in wide models
_WIDE = 384
_ASPECT = 40  # width / layers, about
_STEPS = 4000  # about so many, where a batch is neither too small nor too large
_FEWEST_ROWS, _MOST_ROWS = 4, 256
_PEAK = 0.5  # the learning rate times the width
_SAVES = 8  # checkpoints in a run
_LOGGED = 100  # losses kept of a run
# Proxies that are trained together on one accelerator, by their largest size; on a CPU, 8.
_TOGETHER = ((2.5e6, 64), (8e6, 32), (4e7, 8), (float("inf"), 2))
_TOGETHER_ON_CPU = 8
# Bytes of activations on a device, for each number of a layer's width and for each logit.
_ACTIVATIONS, _OF_A_WIDTH, _OF_A_LOGIT = 48e9, 34, 6


@dataclass(frozen=True)
class Proxies:
    """So many proxies of a size, as in 68x2M."""

    number: int
    params: int

    def __post_init__(self) -> None:
        if self.number < 1 or self.params < 1:
            raise ConfigError(f"proxies must be ≥ 1 of ≥ 1 parameters, got {self}")


def read_proxies(text: str) -> tuple[Proxies, ...]:
    """As ``68x2M,8x30M``; sizes ascend in the result."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+(?:\.\d+)?)([kMB]?)\s*", part)
        if match is None:
            raise ConfigError(f"proxies must be NUMBERxSIZE, as 68x2M,8x30M, got {part!r}")
        number, size, unit = match.groups()
        found.append(Proxies(int(number), round(float(size) * _UNITS[unit])))
    sizes = [proxies.params for proxies in found]
    if len(set(sizes)) < len(sizes):
        raise ConfigError(f"a size must be given once, got {text!r}")
    return tuple(sorted(found, key=lambda proxies: proxies.params))


def proxy_config(params: int, *, vocab_size: int, context: int) -> DecoderConfig:
    """A model of about `params` parameters outside its embedding table."""

    def width_of(layers: int) -> int:
        return _HEAD * max(1, round(math.sqrt(params / (12 * layers)) / _HEAD))

    layers = min(range(1, 49), key=lambda n: abs(width_of(n) / n - _ASPECT))
    width = width_of(layers)
    return DecoderConfig(
        vocab_size=vocab_size,
        width=width,
        layers=layers,
        heads=width // _HEAD // (2 if width >= _WIDE and width % (2 * _HEAD) == 0 else 1),
        hidden=max(_HEAD, width * 8 // 3 // 8 * 8),
        context=context,
        norm="rms",
        activation="silu",
        gated=True,
        rotary=Rotary(),
        attention_bias=False,
        out_bias=False,
        mlp_bias=False,
    )


def proxy_run(
    config: DecoderConfig, tokens: float, *, store: str = "", seed: int = 0, rows: int | None = None
) -> Run:
    """The run that trains a model on about so many tokens."""
    if rows is None:
        rows = _FEWEST_ROWS
        while rows < _MOST_ROWS and rows * 1.5 * config.context * _STEPS < tokens:
            rows *= 2
    steps = max(1, round(tokens / (rows * config.context)))
    return Run(
        model=config,
        data=StreamSettings(seq_len=config.context, batch=rows, seed=seed),
        steps=steps,
        store=store,
        optimizer=AdamW(Cosine(peak=min(4e-3, _PEAK / config.width), warmup=max(1, steps // 50))),
        step=StepSettings(precision=default_precision()),
        checkpoint=CheckpointSettings(every=max(1, -(-steps // _SAVES)), keep_last=1),
        log_every=max(1, steps // _LOGGED),
        seed=seed,
        unroll=True,
    )


def together(run: Run, params: int) -> int:
    """How many proxies of a size are trained together: what fits in memory and fills a device."""
    num = len(jax.devices())
    if jax.default_backend() == "cpu":
        return _TOGETHER_ON_CPU * max(1, num // _TOGETHER_ON_CPU)
    config = cast("DecoderConfig", run.model)
    of_a_token = _OF_A_WIDTH * config.layers * config.width + _OF_A_LOGIT * config.vocab_size
    fitting = _ACTIVATIONS // (run.batches[0] * run.seq_len * of_a_token)
    group = next(number for most, number in _TOGETHER if params <= most)
    return max(1, min(group, int(fitting))) * num
