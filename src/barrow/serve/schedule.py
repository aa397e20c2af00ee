"""Who computes next: parts of prompts, single tokens, and who gives its pages to older requests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from barrow.serve.pages import PAGE, Pages, chain


@dataclass(eq=False)
class Job:
    """A request as the scheduler sees it.

    `tokens` are those known: `num_prompt` of the prompt, then new ones, at most `most` in all.
    `total` also counts those being drawn on the device; `computed` is the number of positions whose
    keys and values are in `pages`. Positions below `target` are computed in parts of a page, the
    others one by one. A job that `waits` draws a token only when all before it are known. One that
    `reads` its prompt shares no pages: it needs to compute every position, by a program of its own.
    """

    tokens: list[int]
    num_prompt: int
    most: int
    waits: bool = False
    reads: bool = False
    total: int = 0
    computed: int = 0
    target: int = 0
    slot: int | None = None
    pages: list[int] = field(default_factory=list)
    num_registered: int = 0
    _names: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = len(self.tokens)

    @property
    def is_unread(self) -> bool:
        """Whether a drawn token is not known yet."""
        return self.total > len(self.tokens)

    @property
    def has_room(self) -> bool:
        """Whether the next position has a page."""
        return self.computed < len(self.pages) * PAGE

    @property
    def may_continue(self) -> bool:
        """Whether a single token may be computed."""
        return self.total < self.most and not (self.waits and self.is_unread)

    def name(self, number: int) -> bytes:
        """The name of a full page of known tokens."""
        while len(self._names) <= number:
            before = self._names[-1] if self._names else b""
            start = len(self._names) * PAGE
            self._names.append(chain(before, self.tokens[start : start + PAGE]))
        return self._names[number]


class Row(NamedTuple):
    """Positions `start` to `start + num` of a job; `draws`: the token after them is chosen."""

    job: Job
    start: int
    num: int
    draws: bool


@dataclass(frozen=True)
class Plan:
    """One step: jobs that got a slot, single tokens, and parts of prompts."""

    admitted: tuple[Job, ...]
    singles: tuple[Row, ...]
    parts: tuple[Row, ...]


class Scheduler:
    """Plans steps of up to `slots` single tokens and `parts` parts of prompts, oldest jobs first.

    A job that needs a page when there is none takes those of the youngest job, which waits and is
    computed again later. The oldest job is never stopped, so all of them end. With `exact`,
    positions of a prompt are always computed in parts and those after it one by one, also when they
    are computed again; otherwise all known tokens are then read like a prompt.
    """

    def __init__(self, pages: Pages, *, slots: int, parts: int, exact: bool = False) -> None:
        if slots < 1 or parts < 1:
            raise ValueError(f"slots and parts must be ≥ 1, got {slots} and {parts}")
        self.pages = pages
        self.waiting: deque[Job] = deque()
        self.running: list[Job] = []
        self.num_preempted = 0
        self.num_shared = 0
        self._free = list(range(slots - 1, -1, -1))
        self._num_parts = parts
        self._exact = exact

    def add(self, job: Job) -> None:
        """Queue a job."""
        if -(-job.most // PAGE) > self.pages.num:
            raise ValueError(
                f"{job.most} tokens need {-(-job.most // PAGE)} pages of {PAGE}, but there are "
                f"{self.pages.num}; shorten the prompt or lower max_tokens"
            )
        self.waiting.append(job)

    def remove(self, job: Job) -> None:
        """End a job; its pages are available at once."""
        if job.slot is None:
            self.waiting.remove(job)
        else:
            self._stop(job)

    def record(self, job: Job, token: int) -> None:
        """The next token of a job is known."""
        job.tokens.append(token)
        if job.slot is not None and job.computed // PAGE > job.num_registered:
            self._register(job)

    def plan(self) -> Plan:
        """The next step; its rows count as computed from now on, in the order of plans."""
        singles: list[Row] = []
        parts: list[Row] = []
        for job in tuple(self.running):
            if job.slot is None:  # an older one took its pages
                continue
            if job.computed < job.target:
                self._read(job, parts)
            elif job.may_continue and (job.has_room or self._grow(job)):
                singles.append(self._row(job, 1))
        admitted = []
        while self.waiting and self._free and len(parts) < self._num_parts:
            if not self._admit(self.waiting[0]):
                break
            job = self.waiting.popleft()
            admitted.append(job)
            self._read(job, parts)
        return Plan(tuple(admitted), tuple(singles), tuple(parts))

    def check(self) -> None:
        """Assert that no page is lost or has two owners."""
        users = [0] * self.pages.num
        for job in self.running:
            assert len(set(job.pages)) == len(job.pages)
            assert job.computed <= len(job.pages) * PAGE
            for page in job.pages:
                users[page] += 1
        self.pages.check(users)
        slots = [job.slot for job in self.running]
        assert len({*slots, *self._free}) == len(slots) + len(self._free)
        assert all(job.slot is None and not job.pages for job in self.waiting)

    def _admit(self, job: Job) -> bool:
        """Give a slot to a job if its known tokens fit without taking pages from others."""
        job.target = job.num_prompt if self._exact else len(job.tokens)
        # The last part is computed in any case: its logits choose the next token.
        for number in range(0 if job.reads else (job.target - 1) // PAGE):
            page = self.pages.share(job.name(number))
            if page is None:
                break
            job.pages.append(page)
        job.computed = len(job.pages) * PAGE
        needed = -(-len(job.tokens) // PAGE) - len(job.pages)
        # One page more, so that the first new page does not stop it again at once.
        if self.pages.num_available < needed + bool(self.running):
            self._give_back(job)
            return False
        # Of one stopped in this plan a token is unread; but it needs more pages than it left.
        assert not job.is_unread
        self.num_shared += len(job.pages)
        job.num_registered = len(job.pages)
        job.slot = self._free.pop()
        self.running.append(job)
        return True

    def _read(self, job: Job, parts: list[Row]) -> None:
        while job.computed < job.target and len(parts) < self._num_parts:
            if not self._grow(job):
                return
            parts.append(self._row(job, min(PAGE, job.target - job.computed)))
        self._register(job)

    def _row(self, job: Job, num: int) -> Row:
        row = Row(job, job.computed, num, job.computed + num == job.total)
        job.computed += num
        job.total += row.draws
        return row

    def _grow(self, job: Job) -> bool:
        """One page more, if need be that of a younger job."""
        page = self.pages.take()
        while page is None and self.running[-1] is not job:
            self._preempt(self.running[-1])
            page = self.pages.take()
        if page is None:
            return False
        job.pages.append(page)
        return True

    def _preempt(self, job: Job) -> None:
        self._stop(job)
        self.waiting.appendleft(job)
        self.num_preempted += 1

    def _stop(self, job: Job) -> None:
        assert job.slot is not None
        self.running.remove(job)
        self._free.append(job.slot)
        job.slot = None
        self._give_back(job)

    def _give_back(self, job: Job) -> None:
        # The end of a prefix first: it is of use only after its beginning.
        for page in reversed(job.pages):
            self.pages.release(page)
        job.pages = []
        job.computed = job.num_registered = 0

    def _register(self, job: Job) -> None:
        if job.reads:
            return
        known = job.num_prompt if self._exact else len(job.tokens)
        for number in range(job.num_registered, min(job.computed, known) // PAGE):
            self.pages.register(job.pages[number], job.name(number))
            job.num_registered = number + 1
