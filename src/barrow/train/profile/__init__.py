"""Where the time and the memory of a training step go, and what to change."""

from __future__ import annotations

from barrow.train.profile.profiler import Profile, profiling
from barrow.train.profile.trace import UnreadableTrace, read_trace

__all__ = ["Profile", "UnreadableTrace", "profiling", "read_trace"]
