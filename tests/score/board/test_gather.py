from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.score.board.made_results import paired, result, write

from barrow.errors import NotFound
from barrow.score.board.gather import gather
from barrow.score.result import write_result


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    write(tmp_path, {"good": result("good", 1.0)})
    data: dict[str, Any] = json.loads((tmp_path / "good.json").read_text())
    return data


def without(data: dict[str, Any], key: str) -> str:
    return json.dumps({name: value for name, value in data.items() if name != key})


def changed(**new: Any) -> Callable[[dict[str, Any]], str]:
    return lambda data: json.dumps({**data, **new})


def in_overall(**new: Any) -> Callable[[dict[str, Any]], str]:
    return lambda data: json.dumps({**data, "overall": {**data["overall"], **new}})


BAD = {
    "empty": (lambda data: "", "is not JSON"),
    "torn": (lambda data: json.dumps(data)[:-100], "is not JSON"),
    "binary": (lambda data: "\x00\x01", "is not JSON"),
    "foreign": (
        lambda data: '{"recipe": 1}',
        "is not a result of `barrow score`: expected the format",
    ),
    "list": (lambda data: "[]", "is not a result"),
    "later": (changed(format="barrow-score-2"), "got 'barrow-score-2'"),
    "lacks": (lambda data: without(data, "card"), "lacks 'card'"),
    "no model": (changed(model={"name": 3}), "was not written by `barrow score`"),
    "forged": (in_overall(bpb=0.5), "which does not match its nats and bytes"),
    "endless": (
        in_overall(low=float("-inf")),
        "overall has a figure that is negative or not finite",
    ),
    "not a number": (in_overall(high=float("nan")), "negative or not finite"),
    "swapped": (in_overall(low=2.0, high=1.0), "whose ends are swapped"),
    "settings": (changed(settings=[1]), "expected a JSON object as settings, got list"),
    "deep": (lambda data: "[" * 100_000, "nested too deeply"),
    "weighted": (changed(weighted={"bpb": float("nan"), "weights": {}}), "weighted mean"),
    "twins": (
        lambda data: json.dumps({**data, "domains": [data["domains"][0]] * 2}),
        "two domains have the same displayed name",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_result_is_named_and_not_shown(
    kind: str, good: dict[str, Any], tmp_path: Path
) -> None:
    make, words = BAD[kind]
    (tmp_path / "bad.json").write_text(make(good))
    gathered = gather([tmp_path])
    assert [one.file for one in gathered.found] == ["good.json"]
    (left_out,) = gathered.left_out
    assert left_out.file == "bad.json"
    assert words in left_out.reason
    assert str(tmp_path) not in left_out.reason
    assert not left_out.named
    assert gather([tmp_path / "bad.json"]).left_out[0].named


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda held: {"nats": held.nats * 1.01}, "does not add up to"),
        (lambda held: {"nats": held.nats * np.nan}, "does not add up to"),
        (lambda held: {"domain": held.domain + 2}, "does not add up to"),
        (lambda held: {"text": held.text[:, :8]}, "does not add up to"),
        (lambda held: {"bytes": held.bytes[:-1]}, "does not add up to"),
    ],
)
def test_documents_that_are_not_those_of_the_result(
    change: Callable[[Any], dict[str, Any]], words: str, tmp_path: Path
) -> None:
    made = paired(result("one", 2.0))
    held = made.documents
    assert held is not None
    write_result(tmp_path / "one", replace(made, documents=replace(held, **change(held))))
    (left_out,) = gather([tmp_path]).left_out
    assert left_out.file == "one"
    assert words in left_out.reason
    file = tmp_path / "one" / "documents.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    assert [left.file for left in gather([tmp_path]).left_out] == ["one"]
    write_result(tmp_path / "one", replace(made, model=replace(made.model, identity="2" * 64)))
    (tmp_path / "one" / "scores.json").write_text(json.dumps(made.as_dict()))
    assert "does not belong to" in gather([tmp_path]).left_out[0].reason


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    os.symlink(tmp_path / "loop.json", tmp_path / "loop.json")
    (tmp_path / "folder.json").mkdir()
    assert gather([tmp_path]).left_out == ()
    with pytest.raises(NotFound, match="none.json does not exist; pass results"):
        gather([tmp_path / "none.json"])


def test_files_and_folders_each_once(good: dict[str, Any], tmp_path: Path) -> None:
    shutil.copy(tmp_path / "good.json", tmp_path / "same.json")
    write(tmp_path, {"other": result("other", 2.0)})
    (tmp_path / "good.part").write_text("x")
    (tmp_path / ".good.json.writing").write_text("x")
    (tmp_path / ".hidden.json").write_text("x")
    gathered = gather([tmp_path / "other.json", tmp_path, tmp_path / "good.json"])
    assert [one.file for one in gathered.found] == ["other.json", "good.json"]
    assert gathered.left_out == ()
    assert len({one.identity for one in gathered.found}) == 2


def test_the_folder_of_a_result_has_its_name(tmp_path: Path) -> None:
    """A result by its folder, its file, or the folder that holds its folder."""
    one = write_result(tmp_path / "one", result("one", 2.0))
    write_result(tmp_path / ".part", result("two", 2.0))
    for path in (tmp_path, one.parent, one):
        assert [found.file for found in gather([path]).found] == ["one"]
    one.write_text("{")
    assert [left.file for left in gather([tmp_path]).left_out] == ["one"]
    assert gather([one.parent]).left_out[0].named
