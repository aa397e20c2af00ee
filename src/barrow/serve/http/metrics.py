"""What `/metrics` says, in Prometheus' text format."""

from __future__ import annotations

import time
from itertools import accumulate

from barrow.serve.http.service import WAITS, Service


def metrics(service: Service) -> str:
    """Totals since the start, and what is so now."""
    scheduler, counts = service.engine.scheduler, service.counts
    totals = {
        "requests": counts.requests,
        "requests_refused": counts.refused,
        "requests_cancelled": counts.cancelled,
        "tokens": counts.tokens,
        "preemptions": scheduler.num_preempted,
        "shared_pages": scheduler.num_shared,
    }
    now: dict[str, float] = {
        "running": len(scheduler.running),
        "waiting": len(scheduler.waiting),
        "pages": scheduler.pages.num,
        "pages_used": scheduler.pages.num_used,
        "up_seconds": time.monotonic() - counts.started,
    }
    lines = []
    for name, value in totals.items():
        lines += [f"# TYPE barrow_{name}_total counter", f"barrow_{name}_total {value}"]
    for name, number in now.items():
        lines += [f"# TYPE barrow_{name} gauge", f"barrow_{name} {number}"]
    name = "barrow_first_token_seconds"
    lines.append(f"# TYPE {name} histogram")
    sums = list(accumulate(counts.waits))
    for bound, num in zip((*WAITS, "+Inf"), sums, strict=True):
        lines.append(f'{name}_bucket{{le="{bound}"}} {num}')
    lines += [f"{name}_sum {counts.seconds_to_first}", f"{name}_count {sums[-1]}"]
    return "\n".join(lines) + "\n"
