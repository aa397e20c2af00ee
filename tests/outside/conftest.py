"""What training tests have, for training from outside."""

from __future__ import annotations

from tests.train.conftest import store

__all__ = ["store"]
