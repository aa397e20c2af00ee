"""How long a domain takes."""

from __future__ import annotations

from barrow.stream.order import Order


def first_epoch(order: Order, domain: str) -> int | None:
    """The number of steps after which all of a domain has been read once; None if never."""
    return order.steps_for(domain, order.sizes[domain])
