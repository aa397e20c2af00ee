"""The engine: many requests at once, one step after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import numpy.typing as npt

from barrow.models.decoder.model import Decoder
from barrow.serve.pages import Pages
from barrow.serve.programs import EngineSettings, Programs
from barrow.serve.requests import Answer, Reason, Request, check
from barrow.serve.schedule import Job, Plan, Row, Scheduler
from barrow.serve.shown import Shown

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

_DEFAULT = EngineSettings()
# Rows, the tokens after them, and their log-probabilities.
_Result = tuple[Sequence[Row | None], jax.Array, jax.Array]


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
        if settings.exact and jax.default_backend() not in ("cpu", "gpu"):
            raise ValueError(
                f"exact is known to hold on CPUs and GPUs, got {jax.default_backend()}; leave "
                "exact out"
            )
        self.programs = Programs(model, params, settings=settings)
        self.settings = settings
        self._config = config
        self._tokenizer = tokenizer
        self.scheduler = Scheduler(
            Pages(self.programs.num_pages),
            slots=self.programs.num_slots,
            parts=self.programs.num_parts,
            exact=settings.exact,
        )
        self._open: dict[Job, _Open] = {}
        self._job_of: dict[Answer, Job] = {}
        self._unread: list[_Result] = []

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._open and not self._unread

    def submit(self, request: Request) -> Answer:
        """Queue a request; its answer grows with each `step`."""
        check(request, vocab=self._config.vocab_size, context=self._config.context)
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
            while is_left and len(self._open) < 2 * self.programs.num_slots:
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
            self.programs.admit(job, request.choice)
        before, self._unread = self._unread, self._start(plan)
        return self._read(before)

    def _start(self, plan: Plan) -> list[_Result]:
        """Steps on the device, which runs them one after another; results are not awaited."""
        groups = [(plan.singles, plan.parts)]
        if self.settings.exact:
            groups = [(plan.singles, ()), ((), plan.parts)]
        started: list[_Result] = []
        for singles, parts in groups:
            if not singles and not parts:
                continue
            rows = [*singles, *[None] * (self.programs.num_slots - len(singles)), *parts]
            rows += [None] * (self.programs.num_rows - len(rows))
            shape = len(singles), len(parts)
            chosen, logprobs = self.programs.run(rows, shape=shape, allowed=self._allowed(rows))
            started.append((rows, chosen, logprobs))
        return started

    def _allowed(self, rows: Sequence[Row | None]) -> npt.NDArray[np.uint32] | None:
        """The bits of tokens that rows may draw; None for all."""
        waiting = [
            (number, self._open[row.job].answer)
            for number, row in enumerate(rows)
            if row is not None and row.job.waits and row.draws
        ]
        if not waiting:
            return None
        bits = np.full((len(rows), -(-self._config.vocab_size // 32)), 2**32 - 1, np.uint32)
        for number, answer in waiting:
            bits[number] = self._bits(answer)
        return bits

    def _bits(self, answer: Answer) -> npt.NDArray[np.uint32]:
        assert answer.request.allowed is not None
        vocab = self._config.vocab_size
        allowed = np.asarray(answer.request.allowed(tuple(answer.tokens)))
        if allowed.shape != (vocab,) or allowed.dtype != np.bool_:
            raise ValueError(
                f"allowed must give {vocab} booleans, got {allowed.dtype} {allowed.shape}"
            )
        if not allowed.any():
            raise ValueError("allowed must leave at least one token")
        return np.packbits(np.pad(allowed, (0, -vocab % 32)), bitorder="little").view("<u4")

    def _read(self, results: list[_Result]) -> list[Answer]:
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
