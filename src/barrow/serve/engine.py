"""The engine: many requests at once, one step after another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.decoder.generate import for_decoding
from barrow.models.decoder.model import Decoder
from barrow.serve.pages import PAGE, Pages
from barrow.serve.requests import Answer, Reason, Request, check
from barrow.serve.schedule import Job, Plan, Row, Scheduler
from barrow.serve.shown import Shown
from barrow.serve.step import admit, empty_pool, empty_slots, packed, slot_of, step

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

# Of the free memory of a CPU, pages get this share; an accelerator's they get but for this one.
_SHARE_OF_CPU = 0.25
_LEFT = 0.05


@dataclass(frozen=True)
class EngineSettings:
    """What is compiled at start.

    - `slots`: requests that are computed at a time; 8 on a CPU, 256 elsewhere.
    - `parts`: parts of prompts, of 64 tokens, in one step; a program for each number.
    - `max_tokens_in_flight`: room for keys and values, in tokens; None for what memory allows.
    - `exact`: the bits of an answer depend on its request alone.
    - `cache_dtype`: of keys and values; None for the model's, or int8.
    """

    slots: int | None = None
    parts: tuple[int, ...] | None = None
    max_tokens_in_flight: int | None = None
    exact: bool = False
    cache_dtype: str | None = None

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


_DEFAULT = EngineSettings()


@dataclass(eq=False)
class _Open:
    """A request that is being answered."""

    answer: Answer
    text: Shown | None


class Engine:
    """Answers requests with a decoder; all programs are compiled here, none later.

    `step` computes one step of all requests and returns the answers that grew. The host plans a
    step while the device computes the one before it, and reads results one step late. Not for
    several threads at a time.
    """

    def __init__(
        self,
        model: Decoder,
        params: Mapping[str, Any],
        *,
        settings: EngineSettings = _DEFAULT,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        config = model.config
        if config.sparse is not None:
            raise ValueError("sparse attention cannot be served: its blocks are not pages")
        if settings.exact and config.experts is not None:
            raise ValueError(
                "exact cannot be promised with experts: how many tokens an expert gets depends on "
                "other requests; leave exact out"
            )
        is_cpu = jax.default_backend() == "cpu"
        self.settings = settings
        self.model = replace(model, unroll=True, remat=None)
        self._params = for_decoding(params)
        self._tokenizer = tokenizer
        self._slots_num = settings.slots or (8 if is_cpu else 256)
        parts = sorted(settings.parts or ((1, 4) if is_cpu else (4, 12)))
        self._shapes = _shapes(self._slots_num, parts, exact=settings.exact)
        self._cache_dtype = settings.cache_dtype or model.dtype
        self._width = -(-config.context // PAGE)
        num = self._num_pages()
        self._slots = empty_slots(config, self._slots_num)
        self._pool = empty_pool(config, num, self._cache_dtype)
        self._programs = {shape: self._compiled(shape, num) for shape in self._shapes}
        one = slot_of(config, [], 0, Request((), 1).choice)
        self._admit = (
            jax.jit(admit, donate_argnums=0).lower(self._slots, np.int32(0), one).compile()
        )
        self._all = {
            shape: jnp.full((sum(shape), -(-config.vocab_size // 32)), 2**32 - 1, jnp.uint32)
            for shape in self._shapes
        }
        most = parts[0] if settings.exact else parts[-1]
        self.scheduler = Scheduler(
            Pages(num), slots=self._slots_num, parts=most, exact=settings.exact
        )
        self._open: dict[Job, _Open] = {}
        self._job_of: dict[Answer, Job] = {}
        self._unread: list[tuple[Sequence[Row | None], jax.Array, jax.Array]] = []

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._open and not self._unread

    def submit(self, request: Request) -> Answer:
        """Queue a request; its answer grows with each `step`."""
        config = self.model.config
        check(request, vocab=config.vocab_size, context=config.context)
        if request.stop_texts and self._tokenizer is None:
            raise ValueError("stop_texts need a tokenizer; pass one to the engine")
        prompt = [int(token) for token in request.prompt]
        most = len(prompt) + request.max_tokens
        job = Job(list(prompt), len(prompt), most, waits=request.allowed is not None)
        self.scheduler.add(job)
        answer = Answer(request)
        text = None
        if self._tokenizer is not None:
            text = Shown(self._tokenizer, prompt, stops=request.stop_texts)
        self._open[job] = _Open(answer, text)
        self._job_of[answer] = job
        return answer

    def cancel(self, answer: Answer) -> None:
        """End an answer; its pages are available for the next step."""
        if answer.reason is None:
            self._end(self._job_of[answer], "cancelled")

    def run(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Answers in the order in which they end; requests are taken as there is room."""
        left = iter(requests)
        is_left = True
        while is_left or not self.is_idle:
            while is_left and len(self._open) < 2 * self._slots_num:
                request = next(left, None)
                if request is None:
                    is_left = False
                else:
                    self.submit(request)
            yield from (answer for answer in self.step() if answer.reason is not None)

    def step(self) -> list[Answer]:
        """Start the next step on the device, and read the results of the one before it."""
        plan = self.scheduler.plan()
        for job in plan.admitted:
            request = self._open[job].answer.request
            one = slot_of(self.model.config, job.tokens, job.num_prompt, request.choice)
            self._slots = self._admit(self._slots, np.int32(job.slot or 0), one)
        before, self._unread = self._unread, self._start(plan)
        return self._read(before)

    def _start(self, plan: Plan) -> list[tuple[Sequence[Row | None], jax.Array, jax.Array]]:
        """Steps on the device, which runs them one after another; results are not awaited."""
        groups = [(plan.singles, plan.parts)]
        if self.settings.exact:
            groups = [(plan.singles, ()), ((), plan.parts)]
        started = []
        for singles, parts in groups:
            if not singles and not parts:
                continue
            shape = self._shape(len(singles), len(parts))
            rows: list[Row | None] = [*singles, *[None] * (shape[0] - len(singles)), *parts]
            rows += [None] * (sum(shape) - len(rows))
            self._pool, self._slots, chosen, logprobs = self._programs[shape](
                self._params,
                self._pool,
                self._slots,
                packed(rows, width=self._width),
                self._allowed(shape, rows),
            )
            started.append((rows, chosen, logprobs))
        return started

    def _shape(self, singles: int, parts: int) -> tuple[int, int]:
        """The smallest program for so many rows."""
        return min(
            (shape for shape in self._shapes if shape[0] >= singles and shape[1] >= parts),
            key=lambda shape: shape[0] + PAGE * shape[1],
        )

    def _allowed(self, shape: tuple[int, int], rows: Sequence[Row | None]) -> Any:
        if not any(row is not None and row.job.waits and row.draws for row in rows):
            return self._all[shape]
        bits = np.full(self._all[shape].shape, 2**32 - 1, np.uint32)
        for line, row in zip(bits, rows, strict=True):
            if row is not None and row.job.waits and row.draws:
                line[:] = self._bits(self._open[row.job].answer)
        return bits

    def _bits(self, answer: Answer) -> npt.NDArray[np.uint32]:
        assert answer.request.allowed is not None
        vocab = self.model.config.vocab_size
        allowed = np.asarray(answer.request.allowed(tuple(answer.tokens)))
        if allowed.shape != (vocab,) or allowed.dtype != np.bool_:
            raise ValueError(
                f"allowed must give {vocab} booleans, got {allowed.dtype} {allowed.shape}"
            )
        if not allowed.any():
            raise ValueError("allowed must leave at least one token")
        return np.packbits(np.pad(allowed, (0, -vocab % 32)), bitorder="little").view("<u4")

    def _read(
        self, results: list[tuple[Sequence[Row | None], jax.Array, jax.Array]]
    ) -> list[Answer]:
        grown: dict[Answer, None] = {}
        for rows, chosen, logprobs in results:
            tokens, numbers = np.asarray(chosen), np.asarray(logprobs)
            for row, token, number in zip(rows, tokens.tolist(), numbers.tolist(), strict=True):
                # One that has ended since then drew a token too many.
                if row is not None and row.draws and row.job in self._open:
                    answer = self._open[row.job].answer
                    self._take(row.job, token, number)
                    grown[answer] = None
        return list(grown)

    def _take(self, job: Job, token: int, logprob: float) -> None:
        answer, text = self._open[job].answer, self._open[job].text
        request = answer.request
        if token in request.stops:
            self._end(job, "stop")
            return
        self.scheduler.record(job, token)
        answer.tokens.append(token)
        answer.logprobs.append(logprob)
        is_over = text is not None and text.add(token)
        if text is not None:
            answer.text = text.shown
        if is_over or len(job.tokens) == job.most:
            self._end(job, "stop" if is_over else "length")

    def _end(self, job: Job, reason: Reason) -> None:
        self.scheduler.remove(job)
        done = self._open.pop(job)
        del self._job_of[done.answer]
        done.answer.reason = reason
        if done.text is not None:
            done.answer.text = done.text.end()

    def _compiled(self, shape: tuple[int, int], num_pages: int) -> Any:
        config = self.model.config
        rows = jax.ShapeDtypeStruct((sum(shape), 4 + self._width), jnp.int32)
        allowed = jax.ShapeDtypeStruct((sum(shape), -(-config.vocab_size // 32)), jnp.uint32)
        pool = jax.eval_shape(partial(empty_pool, config, num_pages, self._cache_dtype))
        slots = jax.eval_shape(partial(empty_slots, config, self._slots_num))
        run = jax.jit(partial(step, self.model, num_singles=shape[0]), donate_argnums=(1, 2))
        return run.lower(self._params, pool, slots, rows, allowed).compile()

    def _num_pages(self) -> int:
        """Pages that fit into memory, at most those that all slots can use, twice."""
        asked = self.settings.max_tokens_in_flight
        if asked is not None:
            return asked // PAGE
        pool = jax.eval_shape(partial(empty_pool, self.model.config, 1, self._cache_dtype))
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(pool))
        most = 2 * self._slots_num * self._width
        device = jax.local_devices()[0]
        if device.platform == "cpu":
            free = _SHARE_OF_CPU * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        else:
            known = device.memory_stats()
            used = self._compiled(self._shapes[-1], self._width).memory_analysis()
            free = (1 - _LEFT) * known["bytes_limit"] - known["bytes_in_use"]
            free -= used.temp_size_in_bytes
        num = min(most, int(free / size))
        if num < self._width:
            raise MemoryError(
                f"keys and values of {self.model.config.context} tokens need "
                f"{self._width * size / 1e9:.1f} GB, but {max(free, 0) / 1e9:.1f} GB are free"
            )
        # Few different sizes, so that programs in the compilation cache fit again.
        step = 1 << max(num.bit_length() - 3, 0)
        return max(num // step * step, self._width)


def _shapes(slots: int, parts: Sequence[int], *, exact: bool) -> tuple[tuple[int, int], ...]:
    """Numbers of single tokens and of parts for which there are programs.

    With `exact`, one for single tokens and one for parts. Otherwise slots, a quarter of them, and
    so on for single tokens alone; and all slots with each number of parts.
    """
    if exact:
        return (slots, 0), (0, parts[0])
    singles = [slots]
    while singles[-1] > 4:
        singles.append(-(-singles[-1] // 4))
    return *((num, 0) for num in reversed(singles)), *((slots, num) for num in parts)
