from __future__ import annotations

from barrow.train.metrics_log import Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_step_and_pauses_do_not_count() -> None:
    clock = Clock()
    pace = Pace(clock)
    clock.now += 60  # the compilation
    assert pace.read() is None
    pace.add(1000)
    assert pace.read() is None
    for _ in range(4):
        clock.now += 2
        pace.add(1000)
    pace.pause()
    clock.now += 30
    pace.resume()
    assert pace.read() == (2.0, 500.0)
    assert pace.read() is None
    clock.now += 4
    pace.add(1000)
    assert pace.read() == (4.0, 250.0)


def test_a_pause_before_the_first_step_is_over() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.pause()
    clock.now += 5
    pace.resume()
    pace.add(10)
    clock.now += 1
    pace.add(10)
    assert pace.read() == (1.0, 10.0)


def test_a_clock_that_stands_still() -> None:
    pace = Pace(Clock())
    pace.add(10)
    pace.add(10)
    assert pace.read() is None
