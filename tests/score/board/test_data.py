from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.score.board.made_results import result, row, several, write

from barrow.score.board.data import board_data, showable
from barrow.score.board.gather import Gathered, gather


def test_results_and_rankings(tmp_path: Path) -> None:
    data = board_data(gather([write(tmp_path, several())]))
    assert data["summary"] == "9 results of 8 models on 2 texts."
    by_id = {one["id"]: one for one in data["results"]}
    first, second, third = data["groups"]
    names = [by_id[identity]["name"] for identity in first["results"]]
    assert sorted(names) == [
        *("large", "medium", "pythia-70m", "small", "uniform", "xz", "zstd:19"),
    ]
    assert len(second["results"]) == 4  # the wide one and what has no windows
    assert len(third["results"]) == 1
    assert first["label"].startswith("pocket, test · context 1,024, stride 512 · ")
    assert third["label"].startswith("stories, test · ")
    assert first["id"] == by_id[first["results"][0]]["card"]
    assert first["domains"] == ["ArXiv", "Code", "Law"]
    places = {by_id[key]["name"]: place for key, place in first["places"][""].items()}
    # 300 documents settle neither 1.04 and 1.06 nor 2.31 and 2.40.
    assert places == {
        "large": (1, 2),
        "medium": (1, 2),
        "small": (3, 3),
        "pythia-70m": (4, 4),
        "xz": (5, 6),
        "zstd:19": (5, 6),
        "uniform": (7, 7),
    }
    assert set(first["places"]) == {"", "ArXiv", "Code", "Law"}
    assert all(one["is_paired"] for one in data["results"])
    from_best = {by_id[key]["name"]: values for key, values in first["from_best"][""].items()}
    assert set(from_best) == {*places} - {"large"}
    difference, low, high = from_best["medium"]
    assert difference == pytest.approx(0.02)
    assert low < 0 < high


def test_a_result_without_documents_settles_no_rank(tmp_path: Path) -> None:
    """Figures that were published or shared without documents.safetensors."""
    folder = write(tmp_path, {key: several()[key] for key in ("large", "small", "uniform")})
    (folder / "uniform" / "documents.safetensors").unlink()
    data = board_data(gather([folder]))
    ids = {one["name"]: one["id"] for one in data["results"]}
    assert [one["name"] for one in data["results"] if not one["is_paired"]] == ["uniform"]
    for domain in ("", "Code"):
        places = data["groups"][0]["places"][domain]
        assert places[ids["uniform"]] == (1, 3)
        assert sorted(places.values()) == [(1, 2), (1, 3), (2, 3)]
        assert ids["uniform"] not in data["groups"][0]["from_best"][domain]


def test_figures_are_those_of_the_file(tmp_path: Path) -> None:
    made = several()["medium"]
    data = board_data(gather([write(tmp_path, {"medium": made})]))
    (one,) = data["results"]
    saved = json.loads((tmp_path / "medium" / "scores.json").read_text())
    for key in ("bpb", "low", "high", "documents", "bytes", "tokens", "token_perplexity"):
        assert one["overall"][key] == saved["overall"][key]
        assert one["domains"]["Code"][key] == saved["domains"][1][key]
    assert one["params"] == 40_000_000
    assert one["overlap"] == 0.0123
    assert one["weighted"] == saved["weighted"]["bpb"]
    assert one["detail"]["card"] == {k: v for k, v in saved["card"].items() if k != "hash"}


def test_the_version_names_the_contents(tmp_path: Path) -> None:
    folder = write(tmp_path, {"one": result("one", 1.0)})
    before = board_data(gather([folder]))["version"]
    assert board_data(gather([folder]))["version"] == before
    (folder / "bad.json").write_text("")
    after = board_data(gather([folder]))["version"]
    assert after != before
    write(folder, {"two": result("two", 1.0)})
    assert board_data(gather([folder]))["version"] not in (before, after)


def test_nothing_at_all() -> None:
    data = board_data(Gathered((), ()))
    assert (data["summary"], data["results"], data["groups"]) == ("No result yet.", [], [])


def test_what_has_no_figure_has_no_place(tmp_path: Path) -> None:
    """A domain of empty texts has no bits per byte; a single document has no interval."""
    empty = row("Law", 0.0, num_bytes=1, spread=None)
    empty = type(empty)(**{**vars(empty), "bytes": 0, "nats": 0.0, "bpb": None})
    single = result("single", 1.0, spread=None)
    hollow = result("hollow", 2.0, domains=("Law",), spread=0.1)
    hollow = type(hollow)(**{**vars(hollow), "domains": (empty,)})
    data = board_data(gather([write(tmp_path, {"single": single, "hollow": hollow})]))
    ids = {one["name"]: one["id"] for one in data["results"]}
    (group,) = data["groups"]
    assert group["places"]["Law"] == {ids["single"]: (1, 1)}
    assert group["places"][""] == {ids["single"]: (1, 2), ids["hollow"]: (1, 2)}


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        ("a\u202eb\x1b", "a\ufffdb␛"),
        ({"k\u2066": ["\ud800", 1, None, True]}, {"k\ufffd": ["\ufffd", 1, None, True]}),
        (float("nan"), "nan"),
    ],
)
def test_showable(value: object, safe: object) -> None:
    assert showable(value) == safe
