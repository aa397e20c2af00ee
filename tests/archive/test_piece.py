from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.archive.piece import count_lines


@given(st.lists(st.sampled_from([b"{}", b"", b" ", b"\t", b"\r", b"x", b"\n"])))
def test_lines_with_something_on_them(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert count_lines(data) == sum(1 for line in data.split(b"\n") if line.strip())
    assert count_lines(memoryview(data)) == count_lines(data)
