from __future__ import annotations

from typing import Any

from barrow.corpus.report.totals import NOT_STATED, Amount, add_amounts, add_counts, survey


def test_a_domain_from_two_folders(told_manifest: dict[str, Any]) -> None:
    told = survey(told_manifest)
    letters, notes = told.domains
    assert (letters.name, notes.name) == ("Letters", "Notes")
    assert letters.files == 106
    assert letters.unread_files == 4
    assert letters.extractors == ("plain_text/2",)
    assert letters.found == 130
    assert letters.read == Amount(100, 100_000)
    assert letters.filtered == Amount(90, 90_000)
    assert letters.deduplicated == Amount(70, 70_000)
    assert letters.drawn == 65
    assert letters.total == Amount(65, 65_000)
    assert letters.written["test"] == Amount(3, 3_000)
    assert letters.licences == {"CC0-1.0": Amount(62, 62_000), NOT_STATED: Amount(3, 3_000)}
    assert letters.lengths == {10: Amount(65, 65_000)}
    assert letters.steps[0].rejects == {"empty": 25, "not-text": 5}
    assert (notes.total.documents, notes.drawn) == (20, 10)


def test_every_document_is_accounted_for(told_manifest: dict[str, Any]) -> None:
    told = survey(told_manifest)
    for domain in told.domains:
        for step, following in zip(domain.steps, domain.steps[1:], strict=False):
            assert step.stayed == following.came
        for step in domain.steps:
            assert step.came - sum(step.rejects.values()) == step.stayed
    assert [(step.came, step.stayed) for step in told.steps] == [
        *((140, 110), (110, 100), (100, 80)),
        (80, 75),
    ]
    assert told.total == sum(told.splits.values(), Amount()) == Amount(85, 66_000)


def test_a_domain_of_which_nothing_was_read(told_manifest: dict[str, Any]) -> None:
    told_manifest["reading"]["drawings"] = {
        **told_manifest["reading"]["notes"],
        "name": "Drawings",
        "documents": 0,
        "bytes": 0,
        "rejects": {"not-text": 4},
    }
    drawings = survey(told_manifest).domains[-1]
    assert drawings.name == "Drawings"
    assert (drawings.found, drawings.drawn, drawings.total) == (4, 0, Amount())


def test_nothing_at_all(empty_manifest: dict[str, Any]) -> None:
    told = survey(empty_manifest)
    assert told.domains == ()
    assert told.total == Amount()
    assert [step.came for step in told.steps] == [0, 0, 0, 0]
    assert told.lengths == {}


def test_sums_are_sorted() -> None:
    assert list(add_counts([{"b": 1, "a": 1}, {"c": 5}]).items()) == [("c", 5), ("a", 1), ("b", 1)]
    added = add_amounts([{"x": Amount(1, 2)}, {"y": Amount(1, 9), "x": Amount(1, 1)}])
    assert list(added.items()) == [("y", Amount(1, 9)), ("x", Amount(2, 3))]
