from __future__ import annotations

import pytest

from barrow.corpus.filters.pii.number_groups import groups_of, is_alone, no_numbers_beside


def test_groups() -> None:
    groups = groups_of(b"x +44 (0)20-79 y", 2, 15)
    assert groups.digits == ["44", "0", "20", "79"]
    assert groups.marks == [b" (", b")", b"-"]
    assert groups.stops == [5, 8, 11, 14]
    assert groups.sizes == [2, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        *(
            (" 12 ", True),
            ("12", True),
            ("(12)", True),
            ("12.", True),
            ("12, 3", True),
            (":12;", True),
        ),
        *(("a12", False), ("12a", False), ("-12", False), ("12-3", False), ("3.12", False)),
        *(("12.3", False), ("#12", False), ("12%", False), ("£12", False), ("€12", False)),
        *(("12,3", False), ("12-x", True), ("x.12", True)),
    ],
)
def test_is_alone(text: str, alone: bool) -> None:
    data = text.encode()
    start = data.index(b"12")
    assert is_alone(data, start, start + 2) == alone


def test_numbers_beside() -> None:
    assert no_numbers_beside(b"a 12 b", 2, 4)
    assert not no_numbers_beside(b"3 12 b", 2, 4)
    assert not no_numbers_beside(b"a 12 3", 2, 4)
