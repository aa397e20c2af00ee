"""What fits: plans for a run, their memory and time, and the choice of one.

A plan is a mesh, the micro-batches of a step, and what the backward pass recomputes. Arrays are
counted from shapes and rules; activations by a formula, or by compiling the step.
"""

from __future__ import annotations

from barrow.plan.choice import Choice, Measured, advice, autotune, planned
from barrow.plan.layers import PlacedModel, place_layers
from barrow.plan.predict import Plan, Subject, predict_memory
from barrow.plan.search import (
    Candidate,
    candidate,
    choose,
    for_same_bits,
    no_fit,
    search,
    would_fit,
)
from barrow.plan.times import Hardware, Time, here, known, memory_of, predict_time
from barrow.plan.worker import Answer, Request, ask
from barrow.train.profile.memory import Memory

__all__ = [
    "Answer",
    "Candidate",
    "Choice",
    "Hardware",
    "Measured",
    "Memory",
    "PlacedModel",
    "Plan",
    "Request",
    "Subject",
    "Time",
    "advice",
    "ask",
    "autotune",
    "candidate",
    "choose",
    "for_same_bits",
    "here",
    "known",
    "memory_of",
    "no_fit",
    "place_layers",
    "planned",
    "predict_memory",
    "predict_time",
    "search",
    "would_fit",
]
