"""What to change, each with the number that is the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Shares of a step from which a part is worth a change, and the words.
_PARTS = {
    "input": (0.05, "waits for batches: raise prefetch"),
    "host": (0.10, "waits for the host (dispatch, logging): use larger batches, raise log_every"),
    "communication": (
        0.10,
        "is communication that no compute hides: use more rows a device, or a lower mesh.zero",
    ),
}
_UPDATE, _LOW, _RECOMPUTED, _TRACED = 0.25, 0.35, 1.15, 1.10
_ROOM, _FULL = 0.5, 0.92


def advise(report: dict[str, Any]) -> list[str]:
    """Advice on a profile, the most important first."""
    found = sorted(_found(report), reverse=True)
    if found:
        return [words for _, words in found]
    share = report["split"]["compute"] / report["step_seconds"]
    return [f"{share:.0%} of the step computes, and no other part is large: nothing to change."]


def _found(report: dict[str, Any]) -> Iterator[tuple[float, str]]:
    """Weights and words."""
    whole = report["step_seconds"]
    shares = {kind: seconds / whole for kind, seconds in report["split"].items()}
    for kind, (limit, words) in _PARTS.items():
        if shares[kind] > limit:
            yield shares[kind], f"{shares[kind]:.0%} of the step {words}"
    update = sum(one["share"] for one in report["modules"] if one["part"] == "update")
    if update > _UPDATE:
        words = "outside of the forward and backward pass (the optimizer): use larger batches or"
        yield (
            update * shares["compute"],
            f"{update:.0%} of the operations' time is {words} step.accumulate",
        )
    reached = report["speed"]["share"]
    if reached is not None and reached < _LOW and shares["compute"] > 0.5:
        words = "use larger batches, or unroll=true"
        if report["precision"] == "fp32":
            words = "use step.precision.name=bf16"
        yield 1 - reached, f"the devices reach {reached:.0%} of the FLOP/s they can: {words}"
    counted, model = report["flops"]["counted"], report["flops"]["model"]
    if counted is not None and counted > _RECOMPUTED * model:
        more = 1 - model / counted
        words = "such as recomputation: remat=attention or none is faster where memory permits"
        yield more, f"{more:.0%} of the operations are beyond the model's own, {words}"
    memory = report["memory"]
    if memory["limit"]:
        used = memory["peak"] / memory["limit"]
        if used > _FULL:
            yield used, f"{used:.0%} of a device's memory is in use: use remat or mesh.zero"
        elif used < _ROOM:
            yield 0.0, f"only {used:.0%} of a device's memory is in use: a larger batch fits"
    is_slower = report["untraced_step_seconds"] * _TRACED < whole
    if is_slower and shares["input"] < _PARTS["input"][0]:  # else batches were ready before
        slower = whole / report["untraced_step_seconds"] - 1
        yield -1.0, f"tracing made the step {slower:.0%} slower; small operations look longer"
