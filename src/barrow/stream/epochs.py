"""How long a domain takes."""

from __future__ import annotations

from bisect import bisect_left

from barrow.stream.order import Order

# A domain that was not read once in so many steps never will be.
_FOREVER = 1 << 40


def first_epoch(order: Order, domain: str) -> int | None:
    """The number of steps after which all of a domain has been read once; None if never."""
    last = _FOREVER if order.num_steps is None else order.num_steps

    def done(step: int) -> bool:
        return order.progress(step)[domain].epochs >= 1

    if not order.sizes[domain] or not done(last):
        return None
    return bisect_left(range(last), True, key=done)
