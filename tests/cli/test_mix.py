"""`barrow mix`, as typed (BEYOND-6)."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.mix.conftest import make_store, write_corpus
from tests.mix.planted import planted_law, planted_runs

from barrow.cli.main import run
from barrow.errors import ConfigError
from barrow.mix import read_mixture
from barrow.mix.runs import table_of


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    planted = planted_runs(planted_law(3, seed=0), 12, noise=0.005, seed=0)
    columns: dict[str, list[object]] = {"run": list(planted.names), "params": [1e6] * 12}
    columns |= {f"weight:{n}": list(planted.weights[:, i]) for i, n in enumerate("abc")}
    columns |= {f"loss:{n}": list(planted.losses[:, i]) for i, n in enumerate("abc")}
    path = tmp_path / "runs.csv"
    path.write_text(table_of(columns))
    return path


def test_fit_predicts(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixtures, out = tmp_path / "mixtures.csv", tmp_path / "predicted.csv"
    mixtures.write_text("weight:a,weight:b,weight:c\n0.2,0.3,0.5\n0.6,0.4,0\n")
    assert run(["mix", "fit", str(runs), "--predict", str(mixtures), "--out", str(out)]) == 0
    assert "12 runs of 3 domains; for models of 1,000,000 parameters" in capsys.readouterr().out
    with out.open() as file:
        rows = list(csv.DictReader(file))
    true = planted_law(3, seed=0).predict(np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]))[0]
    assert len(rows) == 2
    for row, losses in zip(rows, true, strict=True):
        assert [float(row[f"loss:{name}"]) for name in "abc"] == pytest.approx(losses, abs=0.05)
        assert float(row["mean"]) == pytest.approx(losses.mean(), abs=0.03)


def test_fit_prints_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mix", "fit", str(runs), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["domains"]["a"]["transfer"]["a"][0] == 1
    assert found["domains"]["a"]["error"] < 0.02


def test_bad_usage(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mix", "fit", str(runs), "--predict", str(runs)]) == 2
    assert "give --predict MIXTURES and --out FILE together" in capsys.readouterr().err
    assert run(["mix", "fit", str(tmp_path / "none.csv")]) == 1
    assert "none.csv: no such file" in capsys.readouterr().err


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and a whole search, of proxies of some thousand parameters."""
    import jax

    folder = tmp_path_factory.mktemp("search")
    write_corpus(folder / "corpus")
    make_store(folder / "corpus", folder / "store")
    (folder / "target.json").write_text('{"Code": 3, "Numbers": 1}')
    first = jax.devices()[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "devices", lambda: first)
        assert run([*search_of(folder), "--target", str(folder / "target.json")]) == 0
    return folder


def search_of(folder: Path) -> list[str]:
    options = "--proxies 7x12k --tokens-per-param 1 --seq-len 32 --confirm 12k"
    return ["mix", "search", str(folder / "store"), "--out", str(folder / "out"), *options.split()]


def test_search_trains_fits_recommends_and_confirms(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = searched / "out"
    weights = read_mixture(out)
    assert sum(weights.values()) == pytest.approx(1)
    # What counts gets more than it has.
    assert weights["Code"] > weights["Barrows"]
    page = tmp_path / "page.html"
    assert run(["mix", "show", str(out), "--out", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "expected against uniform" in shown
    assert "measured against current" in shown
    assert "<script" not in page.read_text()
    assert run(["mix", "show", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"Barrows": 0.0, "Code": 0.75, "Numbers": 0.25}
    assert found["verdict"]["answer"] in ("yes", "no", "not shown")
    assert set(found["verdict"]["domains"]) == {"Barrows", "Code", "Numbers"}
    assert run(["mix", "fit", str(out)]) == 0
    assert "7 runs of 3 domains; for models of 12,000 parameters" in capsys.readouterr().out


@pytest.mark.usefixtures("one_device")
def test_another_question_trains_nothing(
    searched: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("nothing is trained again")

    monkeypatch.setattr("barrow.mix.search.train_swarm", never)
    asked = ["--confirm", "none", "--floor", "Numbers=0.4", "--max-loss", "0.5"]
    assert run([*search_of(searched), *asked]) == 0
    assert read_mixture(searched / "out")["Numbers"] >= 0.399
    assert "Next: barrow train" in capsys.readouterr().out


def test_a_search_that_cannot_be_is_refused_in_words(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target.json"
    asked = search_of(searched)
    for content, message in (
        ('{"Poems": 1}', "target 'Poems' has no validation text"),
        ('["Code"]', "a target must be"),
    ):
        target.write_text(content)
        assert run([*asked, "--target", str(target)]) == 1
        assert message in capsys.readouterr().err
    assert run([*asked, "--floor", "Numbers"]) == 2
    assert "--floor must be DOMAIN=WEIGHT, got 'Numbers'" in capsys.readouterr().err
    elsewhere = [*asked, "--out", str(tmp_path / "new")]
    assert run([*elsewhere, "--floor", "Numbers=0.55", "--floor", "Code=0.55"]) == 1
    assert "floors must sum to ≤ 1, got 1.1" in capsys.readouterr().err
    assert run([*elsewhere, "--proxies", "5x12k"]) == 1
    assert "needs 6 runs, got 5: ask for more --proxies" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_train_stream_and_build_accept_a_mixture(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixture = tmp_path / "mixture.json"
    mixture.write_text('{"weights": {"Code": 0.75, "Numbers": 0.25}}')
    store, planned = str(searched / "store"), tmp_path / "stream.json"
    given = ["tokens", "stream", store, "seq_len=16", "batch=4", "--mixture", str(mixture)]
    assert run([*given, "--out", str(planned)]) == 0
    assert json.loads(planned.read_text())["settings"]["schedule"]["phases"][0]["mixture"][
        "weights"
    ] == {"Code": 0.75, "Numbers": 0.25}
    assert run([*given, 'weights={"Code":1}']) == 2
    tiny = "steps=1 data.seq_len=16 data.batch=8 model.context=16 model.width=16 model.hidden=16"
    trained = ["train", "gpt2.tiny", *tiny.split(), "model.layers=1", "evaluation.batches=1"]
    trained += ["--store", store, "--out", str(tmp_path / "run"), "--mixture", str(mixture)]
    capsys.readouterr()
    assert run([*trained, 'data.weights={"Code":1}']) == 2
    assert "pass --mixture or data.weights, not both" in capsys.readouterr().err
    assert run(trained) == 0
    made = json.loads((tmp_path / "run" / "run.json").read_text())
    assert made["data"]["weights"] == {"Code": 0.75, "Numbers": 0.25}


def test_a_recipe_takes_the_weights_of_a_mixture(tmp_path: Path) -> None:
    from barrow.cli.recipe import load_recipe, with_mixture

    made = load_recipe("pocket")
    names = [domain.name for domain in made.domains.values()]
    mixture = tmp_path / "mixture.json"
    mixture.write_text(json.dumps({names[0]: 0.75, names[1]: 0.25}))
    weighted = with_mixture(made, mixture)
    assert weighted.mixture.by == "weight"
    assert [domain.weight for domain in weighted.domains.values()][:3] == [75, 25, 0]
    mixture.write_text('{"Poems": 1}')
    with pytest.raises(ConfigError, match="the recipe has no domain 'Poems'"):
        with_mixture(made, mixture)
