"""FLAX-8, ROBERTA-4: an explicit report of missing, unexpected and mismatched keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.weights import LazyTensor, Tensors, match


def tensors(**shapes: tuple[int, ...]) -> Tensors:
    def read() -> np.ndarray:
        raise AssertionError("matching reads nothing")

    return Tensors({n: LazyTensor(s, np.dtype(np.float32), read) for n, s in shapes.items()})


def test_everything_in_its_place() -> None:
    found = match(tensors(a=(2, 3), b=()), {"b": (), "a": (2, 3)})
    assert found.is_exact
    assert found.source == {"a": "a", "b": "b"}
    assert found.report() == ("2 of 2 parameters found\nmissing: 0\nunexpected: 0\nmismatched: 0")


def test_each_kind_of_trouble() -> None:
    found = match(tensors(a=(2, 3), b=(4,), x=(1,)), {"a": (2, 3), "b": (5,), "c": (1,)})
    assert not found.is_exact
    assert found.source == {"a": "a"}
    assert found.missing == ("c",)
    assert found.unexpected == ("x",)
    assert [(m.name, m.expected, m.found) for m in found.mismatched] == [("b", (5,), (4,))]
    lines = found.report().splitlines()
    assert lines[0] == "1 of 3 parameters found"
    assert "  b: expected (5,), found (4,)" in lines
    assert lines.index("  c") == lines.index("missing: 1") + 1
    assert lines.index("  x") == lines.index("unexpected: 1") + 1


def test_names_of_another_architecture() -> None:
    names = {"roberta.a": "body.a", "position_ids": None}
    file = Tensors({n: LazyTensor((2,), np.dtype(np.float32), lambda: np.ones(2)) for n in names})
    found = match(file, {"body.a": (2,)}, rename=names.get)
    assert found.is_exact
    assert found.source == {"body.a": "roberta.a"}


def test_two_tensors_for_one_parameter() -> None:
    with pytest.raises(ValueError, match="'a' and 'b' both map to 'w'"):
        match(tensors(a=(1,), b=(1,)), {"w": (1,)}, rename=lambda _: "w")


def test_long_lists_are_cut() -> None:
    found = match(tensors(), {f"p{i}": (1,) for i in range(12)})
    assert "  … and 2 more" in found.report()
    assert "  p9" in found.report()
    assert "  p10" not in found.report()


names = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([(1,), (2,)]))


@given(names, names)
def test_every_name_is_accounted_for_once(
    file: dict[str, tuple[int, ...]], expected: dict[str, tuple[int, ...]]
) -> None:
    found = match(tensors(**file), expected)
    mismatched = {m.name for m in found.mismatched}
    assert sorted([*found.source, *found.missing, *mismatched]) == sorted(expected)
    assert sorted([*found.source.values(), *found.unexpected, *mismatched]) == sorted(file)
    assert found.is_exact == (file == expected)
