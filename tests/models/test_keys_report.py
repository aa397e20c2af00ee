from __future__ import annotations

from barrow.models.keys_report import KeysReport
from barrow.weights import Mismatch


def test_words() -> None:
    assert str(KeysReport(("a", "b"))) == "2 keys matched"
    report = KeysReport(("a",), ("b",), ("c", "d"), ("e",), (Mismatch("f", (2, 3), (4,)),))
    assert str(report) == (
        "1 keys matched; 1 missing: b; 2 unexpected: c, d; 1 ignored: e; "
        "1 mismatched: f: expected [2, 3], found [4]"
    )
    many = KeysReport(missing=tuple("abcdefgh"))
    assert str(many).endswith("8 missing: a, b, c, d, e, f, … and 2 more")


def test_what_is_ignored_does_not_count() -> None:
    assert KeysReport(("a",), ignored=("b",)).is_exact
    assert not KeysReport(missing=("a",)).is_exact
    assert not KeysReport(unexpected=("a",)).is_exact
    assert not KeysReport(mismatched=(Mismatch("a", (1,), (2,)),)).is_exact


def test_reasons_and_notes_are_said() -> None:
    report = KeysReport(("a",), ignored=("b", "c"), reasons={"b": "a again"}, notes=("no d",))
    assert str(report) == "1 keys matched; 2 ignored: b (a again), c; no d"
