from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barrow.stream.labelled.examples import Example, Keys, class_names, read_examples, split


def written(folder: Path, *records: Any) -> str:
    path = folder / "x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_every_kind(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"text": "a", "label": "x"},
        {"text": "b", "text_pair": "c", "label": 1},
        {"text": "d", "label": True},
    )
    found = list(read_examples(path, "classify"))
    assert [(one.text, one.pair, one.label) for one in found] == [
        ("a", None, "x"),
        ("b", "c", "1"),
        ("d", None, "True"),
    ]
    path = written(tmp_path, {"q": "a", "score": "0.5"}, {"q": "b", "score": 2})
    found = list(read_examples(path, "regress", keys=Keys("q", "score")))
    assert [one.label for one in found] == [0.5, 2.0]
    path = written(tmp_path, {"tokens": ["a", "b"], "tags": ["O", "B-X"]})
    (one,) = read_examples(path, "tag")
    assert (one.words, one.label) == (("a", "b"), ("O", "B-X"))


def test_labels_may_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": "a"}, {"text": "b", "label": "x"})
    assert [one.label for one in read_examples(path, "classify", need_labels=False)] == [None, "x"]
    keys = Keys(label="")
    assert [one.label for one in read_examples(path, "classify", keys=keys)] == [None, None]


@pytest.mark.parametrize(
    ("kind", "record", "words"),
    [
        (
            "classify",
            {"label": "x"},
            "line 2: no 'text', but 'label'; name the key of the text",
        ),
        (
            "classify",
            {"text": "b"},
            "line 2: no 'label', but 'text'; name the key of the label",
        ),
        ("classify", {"text": "b", "label": None}, "line 2: 'label' is null; leave the row out"),
        ("classify", {"text": " ", "label": "x"}, "line 2: 'text' is empty"),
        ("classify", {"text": "b", "text_pair": "", "label": "x"}, "2: 'text_pair' is empty"),
        ("classify", {"text": 5, "label": "x"}, "line 2: 'text' must be a string, got int"),
        ("classify", {"text": "\ud800", "label": "x"}, "line 2: half of a surrogate pair"),
        ("classify", {"text": "b", "label": 0.5}, "an integer, got 0.5; .* --task regress"),
        ("classify", {"text": "b", "label": ""}, "line 2: a class must be a string"),
        (
            "regress",
            {"text": "b", "label": float("nan")},
            "line 2: the target must be a finite number",
        ),
        (
            "regress",
            {"text": "b", "label": float("inf")},
            "line 2: the target must be a finite number",
        ),
        ("regress", {"text": "b", "label": "high"}, "a finite number, got 'high'"),
        ("regress", {"text": "b", "label": True}, "a finite number, got True"),
        ("tag", {"tokens": "a b", "tags": ["O"]}, "line 2: expected a list of words, found str"),
        ("tag", {"tokens": [], "tags": []}, "line 2: expected a list of tags, found list"),
        (
            "tag",
            {"tokens": ["a", ""], "tags": ["O", "O"]},
            "line 2: word 1 must be a non-empty string",
        ),
        ("tag", {"tokens": ["a"], "tags": ["O", "O"]}, "line 2: 1 words and 2 tags"),
        ("tag", {"tokens": ["a"], "tags": [1]}, "line 2: tag 0 must be a non-empty string"),
    ],
)
def test_bad_input(tmp_path: Path, kind: Any, record: Any, words: str) -> None:
    good = {"tokens": ["a"], "tags": ["O"]} if kind == "tag" else {"text": "a", "label": 1}
    with pytest.raises(ValueError, match=words):
        list(read_examples(written(tmp_path, good, record), kind))


def test_an_unknown_task(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="the task must be one of classify, tag, regress, got 'rank'"
    ):
        list(read_examples(written(tmp_path), "rank"))  # type: ignore[arg-type]


def test_names_in_their_order() -> None:
    assert class_names(["10", "9", "-1", "9"]) == ("-1", "9", "10")
    assert class_names(["b", "10", "a"]) == ("10", "a", "b")
    assert class_names(["I-A", "O", "B-A"]) == ("O", "B-A", "I-A")


def test_a_share_by_text() -> None:
    """Equal texts stay together; others coming or going moves nothing."""
    examples = [Example("x", f"text {i % 500}", label="x") for i in range(1000)]
    rest, taken = split(examples, 0.2, seed=0)
    assert len(rest) + len(taken) == 1000
    assert not {one.text for one in rest} & {one.text for one in taken}
    assert 0.14 < len(taken) / 1000 < 0.26
    fewer = split(examples[:700], 0.2, seed=0)[1]
    assert fewer == [one for one in examples[:700] if one in taken]
    assert split(examples, 0.2, seed=1)[1] != taken
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        split(examples, 1.0, seed=0)
