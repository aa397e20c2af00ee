"""`barrow score`: bits per byte of a model on a corpus, comparisons, and the self-test."""

from __future__ import annotations

from barrow.cli.default_command import with_verbs
from barrow.cli.score.diff import diff
from barrow.cli.score.run import score
from barrow.cli.score.self_test import self_test

__all__ = ["Score", "score"]

Score = with_verbs({"diff": diff, "self-test": self_test})
