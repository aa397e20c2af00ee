"""The engine: many requests at once, one step after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import numpy.typing as npt

from barrow.interrupt import check_interrupt
from barrow.models.decoder.model import Decoder
from barrow.serve.pages import Pages
from barrow.serve.programs import Drawn, EngineSettings, Programs
from barrow.serve.requests import Answer, Likeliest, Reason, Request, check, level_of
from barrow.serve.schedule import Job, Plan, Row, Scheduler
from barrow.serve.shown import Shown
from barrow.serve.step import Top

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

_DEFAULT = EngineSettings()
_Result = tuple[Sequence[Row | None], Future[Drawn]]


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
        self.scheduler = self._scheduler()
        self._open: dict[Job, _Open] = {}
        self._job_of: dict[Answer, Job] = {}
        self._unread: list[_Result] = []
        self._failed: list[Answer] = []

    def use(self, params: Mapping[str, Any]) -> None:
        """Compute with other parameters of the same kind; as if the engine were new."""
        if not self.is_idle:
            raise ValueError("parameters cannot change while requests are answered")
        self.programs.use(params)
        # Keys and values of known prefixes are those of other parameters.
        self.scheduler = self._scheduler()

    def _scheduler(self) -> Scheduler:
        return Scheduler(
            Pages(self.programs.num_pages),
            slots=self.programs.num_slots,
            parts=self.programs.num_parts,
            exact=self.settings.exact,
        )

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._open and not self._unread and not self._failed

    def submit(self, request: Request) -> Answer:
        """Queue a request; its answer grows with each `step`."""
        check(request, vocab=self._config.vocab_size, context=self._config.context)
        if request.stop_texts and self._tokenizer is None:
            raise ValueError("stop_texts need a tokenizer; pass one to the engine")
        if request.reads_prompt and not self.settings.reads_prompts:
            raise ValueError("log-probabilities of prompts need EngineSettings(reads_prompts=True)")
        if self.settings.plain and (request.allowed is not None or not request.choice.is_plain):
            raise ValueError("these settings of a request need EngineSettings(plain=False)")
        prompt = [int(token) for token in request.prompt]
        most = len(prompt) + request.max_tokens
        waits, reads = request.allowed is not None, request.reads_prompt
        job = Job(list(prompt), len(prompt), most, waits=waits, reads=reads)
        self.scheduler.add(job)
        answer = Answer(request)
        if reads:
            answer.prompt_logprobs = [0.0] * (len(prompt) - 1)
            answer.prompt_top = [()] * (len(prompt) - 1)
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
            check_interrupt()
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
            self.programs.admit(job, self._open[job].answer.request)
        before, self._unread = self._unread, self._start(plan)
        return self._read(before)

    def _start(self, plan: Plan) -> list[_Result]:
        """Steps on the device, which runs them one after another; results are not awaited."""
        plain = tuple(row for row in plan.parts if not row.job.reads)
        groups = [(plan.singles, plain, False)]
        if self.settings.exact:
            groups = [(plan.singles, (), False), ((), plain, False)]
        groups += [((), (row,), True) for row in plan.parts if row.job.reads]
        started: list[_Result] = []
        for singles, parts, reads in groups:
            if not singles and not parts:
                continue
            rows = [*singles, *[None] * (self.programs.num_slots - len(singles)), *parts]
            rows += [None] * (self.programs.num_rows - len(rows))
            shape = len(singles), len(parts)
            allowed = self._allowed(rows)
            needed = [
                held.answer.request
                for row in rows
                if row is not None and row.draws and (held := self._open.get(row.job))
            ]
            level = "all" if allowed is not None else level_of(needed)
            has_top = any(request.num_top for request in needed)
            drawn = self.programs.run(rows, shape, level, allowed, has_top=has_top, reads=reads)
            started.append((rows, drawn))
        return started

    def _allowed(self, rows: list[Row | None]) -> npt.NDArray[np.uint32] | None:
        """The bits of tokens that rows may draw; None for all. A row that fails is taken out."""
        waiting = [
            (number, row)
            for number, row in enumerate(rows)
            if row is not None and row.job.waits and row.draws
        ]
        if not waiting:
            return None
        bits = np.full((len(rows), -(-self._config.vocab_size // 32)), 2**32 - 1, np.uint32)
        for number, row in waiting:
            answer = self._open[row.job].answer
            try:
                bits[number] = self._bits(answer)
            except Exception as error:  # noqa: BLE001 - of this request alone, whatever it is
                answer.failure = f"{type(error).__name__}: {error}"
                self._end(row.job, "failed")
                self._failed.append(answer)
                rows[:] = [None if other and other.job is row.job else other for other in rows]
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
        grown: dict[Answer, None] = dict.fromkeys(self._failed)
        self._failed = []
        for rows, started in results:
            drawn = started.result()
            tokens, numbers = np.asarray(drawn.tokens), np.asarray(drawn.logprobs)
            for place, (row, token, number) in enumerate(
                zip(rows, tokens.tolist(), numbers.tolist(), strict=True)
            ):
                held = None if row is None else self._open.get(row.job)
                # One that has ended since then drew a token too many.
                if row is None or held is None:
                    continue
                answer = held.answer
                if drawn.read is not None:
                    _read_part(answer, row, drawn)
                if row.draws:
                    num = answer.request.num_top
                    top = _likeliest(drawn.top, place, num) if drawn.top and num else None
                    self._take(row.job, held, token, number, top)
                    grown[answer] = None
        return list(grown)

    def _take(
        self, job: Job, held: _Open, token: int, logprob: float, top: Likeliest | None
    ) -> None:
        answer, text, request = held.answer, held.text, held.answer.request
        if token in request.stops or not request.max_tokens:
            if request.max_tokens:
                answer.stop = token, logprob
            self._end(job, "stop" if request.max_tokens else "length")
            return
        self.scheduler.record(job, token)
        answer.tokens.append(token)
        answer.logprobs.append(logprob)
        if top is not None:
            answer.top.append(top)
        is_over = False
        if text is not None:
            is_over = text.add(token)
            answer.text = text.shown
        if request.is_over is not None:
            is_over |= request.is_over(answer.tokens)
        if is_over or len(job.tokens) == job.most:
            self._end(job, "stop" if is_over else "length")

    def _end(self, job: Job, reason: Reason) -> None:
        self.scheduler.remove(job)
        done = self._open.pop(job)
        del self._job_of[done.answer]
        done.answer.reason = reason
        if done.text is not None:
            done.answer.text = done.text.end()


def _likeliest(top: Top, place: int, num: int) -> Likeliest:
    ids, logprobs = (np.asarray(each)[place, :num].tolist() for each in top)
    return tuple(zip(ids, logprobs, strict=True))


def _read_part(answer: Answer, row: Row, drawn: Drawn) -> None:
    """Log-probabilities of a part of the prompt: of the tokens after each of its positions."""
    assert drawn.read is not None
    logprobs, top = drawn.read
    num = min(row.num, len(answer.prompt_logprobs) - row.start)
    if num > 0:
        where = slice(row.start, row.start + num)
        answer.prompt_logprobs[where] = np.asarray(logprobs)[:num].tolist()
        asked = answer.request.num_top
        answer.prompt_top[where] = [_likeliest(top, place, asked) for place in range(num)]
