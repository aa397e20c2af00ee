from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.serve.pages import PAGE, Pages
from barrow.serve.schedule import Job, Plan, Scheduler


def next_token(tokens: Sequence[int]) -> int:
    return hashlib.blake2b(repr(list(tokens)).encode()).digest()[0] % 7


def alone(prompt: list[int], most: int) -> list[int]:
    tokens = list(prompt)
    while len(tokens) < most:
        tokens.append(next_token(tokens))
    return tokens


class Device:
    """Pages that hold, instead of keys, the token and whether it was computed in a part.

    Results of a step are read after the next one was planned, as the engine does.
    """

    def __init__(self, scheduler: Scheduler, *, exact: bool) -> None:
        self.scheduler = scheduler
        self.exact = exact
        self.pages: dict[tuple[int, int], tuple[int, bool]] = {}
        self.texts: dict[int, list[int]] = {}
        self.unread: list[tuple[Job, int]] = []

    def step(self) -> Plan:
        plan = self.scheduler.plan()
        self.scheduler.check()
        for job in plan.admitted:
            assert job.slot is not None
            self.texts[job.slot] = list(job.tokens)
        drawn = []
        rows = [(row, False) for row in plan.singles] + [(row, True) for row in plan.parts]
        for row, in_part in rows:
            text = self.texts[row.job.slot]
            for at in range(row.start, row.start + row.num):
                self.pages[row.job.pages[at // PAGE], at % PAGE] = (text[at], in_part)
        for row, in_part in rows:
            text = self.texts[row.job.slot]
            assert row.start % PAGE == 0 or not in_part
            for at in range(row.start + row.num):
                token, was_part = self.pages[row.job.pages[at // PAGE], at % PAGE]
                assert token == text[at]
                assert not self.exact or was_part == (at < row.job.num_prompt)
            if row.draws:
                assert row.start + row.num == len(text)
                text.append(next_token(text))
                drawn.append((row.job, text[-1]))
        for job, token in self.unread:
            if job in self.scheduler.running or job in self.scheduler.waiting:
                self.scheduler.record(job, token)
                if len(job.tokens) == job.most:
                    self.scheduler.remove(job)
        self.scheduler.check()
        self.unread = drawn
        return plan


def drain(device: Device) -> int:
    steps = 0
    while device.scheduler.running or device.scheduler.waiting:
        device.step()
        steps += 1
        assert steps < 5000, "it does not end"
    return steps


JOB = st.tuples(st.integers(0, 2), st.integers(1, 200), st.integers(1, 150))
ACTION = st.one_of(JOB, st.just("step"), st.just("step"), st.integers(0, 20))


@settings(max_examples=60, deadline=None)
@given(
    actions=st.lists(ACTION, max_size=40),
    num=st.integers(6, 14),
    slots=st.integers(1, 5),
    parts=st.integers(1, 3),
    exact=st.booleans(),
)
def test_no_page_is_lost_and_nobody_notices_the_others(
    actions: list[object], num: int, slots: int, parts: int, exact: bool
) -> None:
    """Submit, cancel and preempt at random: the text of each job is that of the job alone."""
    scheduler = Scheduler(Pages(num), slots=slots, parts=parts, exact=exact)
    device = Device(scheduler, exact=exact)
    jobs: list[Job] = []
    cancelled: set[int] = set()
    for action in actions:
        if action == "step":
            device.step()
        elif isinstance(action, tuple):
            kind, length, more = action
            prompt = [(kind + i // 100) % 7 for i in range(length)]
            jobs.append(Job(prompt, length, length + more, waits=length % 5 == 0))
            scheduler.add(jobs[-1])
        else:
            open_jobs = [*scheduler.running, *scheduler.waiting]
            if open_jobs:
                job = open_jobs[action % len(open_jobs)]
                scheduler.remove(job)
                cancelled.add(id(job))
        scheduler.check()
    drain(device)
    assert scheduler.pages.num_used == 0
    for job in jobs:
        if id(job) not in cancelled:
            assert job.tokens == alone(job.tokens[: job.num_prompt], job.most)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("lengths", [(60, 60), (64, 130), (62, 129), (3, 127)])
def test_the_youngest_gives_its_pages_and_is_computed_again(
    lengths: tuple[int, int], exact: bool
) -> None:
    scheduler = Scheduler(Pages(5), slots=2, parts=4, exact=exact)
    jobs = [Job([kind] * length, length, 270) for kind, length in enumerate(lengths)]
    for job in jobs:
        scheduler.add(job)
    drain(Device(scheduler, exact=exact))
    assert scheduler.num_preempted > 0
    for kind, (job, length) in enumerate(zip(jobs, lengths, strict=True)):
        assert job.tokens == alone([kind] * length, 270)


def test_a_common_prefix_is_computed_once() -> None:
    scheduler = Scheduler(Pages(20), slots=2, parts=8)
    device = Device(scheduler, exact=False)
    prefix = [i % 7 for i in range(2 * PAGE)]
    for end in (1, 2, 3):
        scheduler.add(Job([*prefix, end], len(prefix) + 1, len(prefix) + 5))
    plan = device.step()
    # The second finds pages that the first computes in the same step.
    assert [row.start for row in plan.parts] == [0, PAGE, 2 * PAGE, 2 * PAGE]
    drain(device)
    assert scheduler.num_shared == 4


def test_pages_of_an_answer_are_shared_unless_exact() -> None:
    for exact in (False, True):
        scheduler = Scheduler(Pages(20), slots=2, parts=8, exact=exact)
        device = Device(scheduler, exact=exact)
        first = Job([1] * 10, 10, 200)
        scheduler.add(first)
        drain(device)
        scheduler.add(Job([*first.tokens, 3], 201, 205))
        device.step()
        assert scheduler.num_shared == (0 if exact else 3)


def test_a_whole_prompt_in_the_cache_still_computes_its_last_part() -> None:
    scheduler = Scheduler(Pages(20), slots=2, parts=8)
    device = Device(scheduler, exact=False)
    prompt = [1] * (2 * PAGE)
    for _ in range(2):
        job = Job(list(prompt), len(prompt), len(prompt) + 3)
        scheduler.add(job)
        drain(device)
        assert job.tokens == alone(prompt, len(prompt) + 3)


def test_one_that_can_never_fit_is_refused() -> None:
    scheduler = Scheduler(Pages(2), slots=2, parts=1)
    with pytest.raises(ValueError, match="129 tokens need 3 pages of 64, but there are 2; shorten"):
        scheduler.add(Job([1], 1, 129))
    with pytest.raises(ValueError, match="slots and parts must be ≥ 1, got 0 and 1"):
        Scheduler(Pages(2), slots=0, parts=1)
