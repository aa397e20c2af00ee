"""The programs of an engine, compiled at start, and what they keep on the device."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.decoder.generate import for_decoding
from barrow.models.decoder.model import Decoder
from barrow.nn.compiled import NO_TRITON
from barrow.nn.weights.kernels import with_int8
from barrow.nn.weights.turned import turned
from barrow.serve.pages import PAGE
from barrow.serve.requests import LEVELS, Level, Request
from barrow.serve.sampling import known, likeliest
from barrow.serve.schedule import Job, Row
from barrow.serve.step import (
    Packing,
    Slots,
    Top,
    admit,
    draw,
    empty_pool,
    empty_slots,
    forward,
    slot_of,
)

# Of the free memory of a CPU, pages get this share; an accelerator's they get but for this one.
_SHARE_OF_CPU = 0.25
_LEFT = 0.05
# By whether it is a CPU, and exact.
_PARTS = {(True, False): (1, 4), (True, True): (1,), (False, False): (4, 32), (False, True): (16,)}


@dataclass(frozen=True)
class EngineSettings:
    """What is compiled at start.

    - `slots`: requests that are computed at a time; 8 on a CPU, 256 elsewhere.
    - `parts`: parts of prompts, of 64 tokens, in one step; a program for each number.
    - `max_tokens_in_flight`: room for keys and values, in tokens; None for what memory allows.
    - `exact`: the bits of an answer depend on its request alone.
    - `cache_dtype`: of keys and values; None for the model's, or int8.
    - `int8_weights`: kernels and embeddings in 8 bits, with a scale for each output channel.
    - `reads_prompts`: requests may ask for log-probabilities of prompts; one program more.
    - `plain`: requests take the likeliest token or draw from all as the model has them; two
      programs less.
    - `wide_logits`: in float32. In bfloat16 the probabilities of a trained model are off by some
      percent.
    """

    slots: int | None = None
    parts: tuple[int, ...] | None = None
    max_tokens_in_flight: int | None = None
    exact: bool = False
    cache_dtype: str | None = None
    int8_weights: bool = False
    reads_prompts: bool = False
    plain: bool = False
    wide_logits: bool = False

    def __post_init__(self) -> None:
        if self.slots is not None and self.slots < 1:
            raise ValueError(f"slots must be ≥ 1, got {self.slots}")
        if self.parts is not None and (not self.parts or min(self.parts) < 1):
            raise ValueError(f"parts must be numbers ≥ 1, got {self.parts}")
        if self.max_tokens_in_flight is not None and self.max_tokens_in_flight < PAGE:
            raise ValueError(
                f"max_tokens_in_flight must be ≥ {PAGE}, got {self.max_tokens_in_flight}"
            )
        if self.cache_dtype not in (None, "float32", "bfloat16", "float16", "int8"):
            raise ValueError(
                f"cache_dtype must be float32, bfloat16, float16 or int8, got {self.cache_dtype!r}"
            )


@dataclass(frozen=True)
class Drawn:
    """Tokens after rows, their log-probabilities, the likeliest if asked; all on the device.

    `read` are log-probabilities of the tokens of a part of a prompt, and the likeliest there.
    """

    tokens: jax.Array
    logprobs: jax.Array
    top: Top | None
    read: tuple[jax.Array, Top] | None


class Programs:
    """A model's programs, its parameters, the pages of keys and values, and the slots.

    Rows of a step are `num_slots` single tokens, then `num_parts` parts of prompts.
    """

    def __init__(
        self, model: Decoder, params: Mapping[str, Any], *, settings: EngineSettings
    ) -> None:
        config = model.config
        is_cpu = jax.default_backend() == "cpu"
        self.num_slots = settings.slots or (8 if is_cpu else 256)
        parts = sorted(settings.parts or _PARTS[is_cpu, settings.exact])
        self._shapes = _shapes(self.num_slots, parts, exact=settings.exact)
        self.num_parts = self._shapes[-1][1]
        self.num_rows = self.num_slots + self.num_parts
        self._model = replace(model, unroll=True, remat=None)
        self._int8, self._wide = settings.int8_weights, settings.wide_logits
        self.use(params)
        self._dtype = settings.cache_dtype or model.dtype
        self._width = -(-config.context // PAGE)
        self.num_pages = self._num_pages(settings.max_tokens_in_flight)
        self._slots = empty_slots(config, self.num_slots)
        self._admitted: list[tuple[np.int32, Slots]] = []
        self._packing = Packing(self.num_slots, self._width)
        # To start hundreds of kernels takes as long as to plan the next step: a thread does it,
        # which must not wait for the interpreter's lock for long (5 ms are usual).
        self._starting = ThreadPoolExecutor(1, "barrow-engine")
        if not is_cpu:
            sys.setswitchinterval(min(sys.getswitchinterval(), 2e-4))
        self._pool = empty_pool(config, self.num_pages, self._dtype)
        self._all = jnp.full((self.num_rows, -(-config.vocab_size // 32)), 2**32 - 1, jnp.uint32)
        # A row that draws is exact if one program draws it, whatever the others need.
        self._levels: tuple[Level, ...] = ("greedy", "all") if settings.exact else LEVELS
        if settings.plain:
            self._levels = ("drawn",)
        kind = "float32" if settings.wide_logits else model.dtype
        logits = _shaped(self.num_rows, config.vocab_size, dtype=kind)
        drawn = self._slots, logits, self._rows, self._all
        ones = _stacked([(np.int32(0), slot_of(config, [], Request([], 0)))] * self.num_parts)
        lowered: dict[Any, Any] = {
            "admit": jax.jit(admit, donate_argnums=0).lower(self._slots, *ones),
            "known": jax.jit(known).lower(logits, _shaped(self.num_rows)),
            "likeliest": jax.jit(likeliest).lower(logits),
        }
        for shape in self._shapes:
            lowered[shape] = self._lowered(shape, self.num_pages)
        if settings.reads_prompts:
            lowered["reads"] = self._lowered((0, 1), self.num_pages, reads=True)
        for level in self._levels:
            drawing = jax.jit(partial(draw, level=level), donate_argnums=0)
            lowered[level] = drawing.lower(*drawn)
        with ThreadPoolExecutor() as pool:  # XLA compiles without the interpreter's lock
            compiled = pool.map(_compiled, lowered.values())
            self._programs = dict(zip(lowered, compiled, strict=True))

    def use(self, params: Mapping[str, Any]) -> None:
        """Compute with these parameters from now on; except on CPUs, layers are not copied."""
        apart = for_decoding(params)
        if self._int8:
            self._params = with_int8(apart)
        else:
            self._params = turned(apart) if jax.default_backend() == "cpu" else apart

    def admit(self, job: Job, request: Request) -> None:
        """Write a request into its slot, before the next step."""
        assert job.slot is not None
        one = slot_of(self._model.config, job.tokens, request)
        self._admitted.append((np.int32(job.slot), one))

    def run(
        self,
        rows: Sequence[Row | None],
        shape: tuple[int, int],
        level: Level,
        allowed: npt.NDArray[np.uint32] | None,
        *,
        has_top: bool = False,
        reads: bool = False,
    ) -> Future[Drawn]:
        """Start a step of `shape` single tokens and parts; `reads`: one part of a prompt."""
        # The least that is there and does it.
        level = next(one for one in self._levels if LEVELS.index(one) >= LEVELS.index(level))
        lines = self._packing(rows)
        best = min(
            (has for has in self._shapes if has[0] >= shape[0] and has[1] >= shape[1]),
            key=lambda has: has[0] + PAGE * has[1],
        )
        run = self._programs["reads" if reads else best]

        admitted, self._admitted = self._admitted, []

        def start() -> Drawn:
            for first in range(0, len(admitted), self.num_parts):
                self._admit(admitted[first : first + self.num_parts])
            self._pool, logits, read = run(self._params, self._pool, self._slots.tokens, lines)
            self._slots, chosen = self._programs[level](
                self._slots, logits, lines, self._all if allowed is None else allowed
            )
            top = self._programs["likeliest"](logits) if has_top else None
            return Drawn(chosen, self._programs["known"](logits, chosen), top, read)

        return self._starting.submit(start)

    def _admit(self, some: list[tuple[np.int32, Slots]]) -> None:
        # Filled up with a slot that is not there, which is not written.
        some = some + [(np.int32(self.num_slots), some[0][1])] * (self.num_parts - len(some))
        places, ones = _stacked(some)
        self._slots = self._programs["admit"](self._slots, places, ones)

    @property
    def _rows(self) -> Any:
        return _shaped(self.num_rows, 4 + self._width)

    def _lowered(self, shape: tuple[int, int], num_pages: int, *, reads: bool = False) -> Any:
        pool = jax.eval_shape(partial(empty_pool, self._model.config, num_pages, self._dtype))
        tokens = _shaped(self.num_slots, self._model.config.context)
        how: dict[str, Any] = {"shape": shape, "slots": self.num_slots, "reads": reads}
        step = partial(forward, self._model, wide=self._wide, **how)
        run = jax.jit(step, donate_argnums=1)
        return run.lower(self._params, pool, tokens, self._rows)

    def _num_pages(self, asked: int | None) -> int:
        """Pages that fit into memory, at most those that all slots can use, twice."""
        if asked is not None:
            return asked // PAGE
        pool = jax.eval_shape(partial(empty_pool, self._model.config, 1, self._dtype))
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(pool))
        most = 2 * self.num_slots * self._width
        device = jax.local_devices()[0]
        if device.platform == "cpu":
            free = _SHARE_OF_CPU * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        else:
            known = device.memory_stats()
            used = _compiled(self._lowered(self._shapes[-1], self._width)).memory_analysis()
            free = (1 - _LEFT) * known["bytes_limit"] - known["bytes_in_use"]
            free -= used.temp_size_in_bytes
        num = min(most, int(free / size))
        if num < self._width:
            raise MemoryError(
                f"keys and values of {self._model.config.context} tokens need "
                f"{self._width * size / 1e9:.1f} GB, but {max(free, 0) / 1e9:.1f} GB are free"
            )
        # Few different sizes, so that programs in the compilation cache fit again.
        step = 1 << max(num.bit_length() - 3, 0)
        return max(num // step * step, self._width)


def _compiled(lowered: Any) -> Any:
    # Trying Triton's products for each shape takes long; a step was 3 % slower without them.
    is_gpu = jax.default_backend() == "gpu"
    return lowered.compile(NO_TRITON if is_gpu else None)


def _stacked(some: Sequence[tuple[np.int32, Slots]]) -> Any:
    return jax.tree.map(lambda *each: np.stack(each), *some)


def _shaped(*shape: int, dtype: str = "int32") -> Any:
    return jax.eval_shape(partial(jnp.zeros, shape, dtype))


def _shapes(slots: int, parts: Sequence[int], *, exact: bool) -> tuple[tuple[int, int], ...]:
    """Numbers of single tokens and of parts for which there are programs.

    With `exact`, one for single tokens and one for parts. Otherwise slots, an eighth of them, and
    so on for single tokens alone; and all slots with each number of parts.
    """
    if exact:
        return (slots, 0), (0, parts[0])
    singles = [slots]
    while singles[-1] > 4:
        singles.append(-(-singles[-1] // 8))
    return *((num, 0) for num in reversed(singles)), *((slots, num) for num in parts)
