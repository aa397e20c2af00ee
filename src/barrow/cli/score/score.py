"""`barrow score`, and `barrow score diff`."""

from __future__ import annotations

from barrow.cli.default_command import with_verbs
from barrow.cli.score.diff import diff
from barrow.cli.score.run import score

__all__ = ["Score", "score"]

Score = with_verbs({"diff": diff})
