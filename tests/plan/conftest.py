from __future__ import annotations

import pytest
from tests.plan.small_run import small_run

from barrow.plan import Subject


@pytest.fixture(scope="session")
def subject() -> Subject:
    """The small run; what was traced of it is shared."""
    return Subject(small_run())
