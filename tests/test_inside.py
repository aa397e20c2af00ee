"""Names of what lies inside a folder, which a stranger may have made, never lead out of it.

The first table has the folders whose files name other files inside, each with a name planted that
leads to a sound file outside: opening raises one line, and nothing outside is opened or changed.
The second has the settings that point elsewhere by design: what they name is opened as its kind,
and never changed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.earlier.folders import _signed, earlier_folders

import barrow.archive
from barrow import config
from barrow.checkpoint import open_checkpoint
from barrow.corpus import Recipe
from barrow.corpus.build.dry_run import dry_run
from barrow.corpus.build.parts import known_parts
from barrow.corpus.takedown.commit import complete_before_build
from barrow.errors import BarrowError
from barrow.mix.plan import Design, Plan, PlannedRun, read_plan
from barrow.mix.proxies import Proxies
from barrow.models.open_model import open_model
from barrow.stream.pairs import index_pairs, open_index
from barrow.stream.saved import Saved
from barrow.tokens import open_store
from barrow.train import Run
from barrow.train.tasks.task import task_of

_watched: list[Path] = []
_opened: list[Path] = []


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | bytes):
        path = Path(os.path.realpath(os.fsdecode(arguments[0])))
        _opened.extend(path for outside in _watched if path.is_relative_to(outside))


sys.addaudithook(_on_event)  # for good: it does nothing where nothing is watched


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return earlier_folders(tmp_path_factory.mktemp("earlier"))


@pytest.fixture
def watched() -> Iterator[Callable[[Path], None]]:
    yield _watched.append
    _watched.clear()
    _opened.clear()


def _state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def _edit(file: Path, change: Callable[[Any], None]) -> None:
    table = json.loads(file.read_bytes())
    change(table)
    file.write_text(json.dumps(table))


def _recipe(**changes: Any) -> Callable[[Path], object]:
    """A recipe whose one domain has another folder or other patterns."""

    def open_it(folder: Path) -> object:
        table = json.loads((folder / "recipe.json").read_bytes())
        ((_, domain), *_) = table["domains"].items()
        key = changes.get("key", ".").format(outside=folder.parent / "outside")
        paths = [one.format(outside=folder.parent / "outside") for one in changes.get("paths", ())]
        table["domains"] = {key: {**domain, "paths": paths}}
        made = config.from_json(Recipe, json.dumps(table))
        return dry_run(made, root=folder / "raw", out=folder / "made")

    return open_it


def _shard(folder: Path) -> object:
    def change(table: Any) -> None:
        table["shards"][0]["name"] = "../outside/" + table["shards"][0]["name"]

    _edit(folder / "archive.json", change)
    return list(barrow.archive.open(folder))


def _takedown(folder: Path) -> object:
    (folder / ".takedown").mkdir()
    archive = {"folder": "", "shards": [], "removed": ["../outside/manifest.json"]}
    plan = {"archives": [archive], "takedown_list": "", "manifest": "", "record": ""}
    (folder / ".takedown/plan.json").write_text(json.dumps({**plan, "records_size": 0}))
    return complete_before_build(folder)


def _store(change: Callable[[Any], Any]) -> Callable[[Path], object]:
    def open_it(folder: Path) -> object:
        def plant(table: Any) -> None:
            entry = change(table)
            entry["name"] = "../outside/" + entry["name"]

        _edit(folder / "store.json", plant)
        return open_store(folder)

    return open_it


def _leaves(folder: Path) -> object:
    index = folder / "checkpoints/step-000000004/index.json"
    text = index.read_text().replace('"arrays-', '"../../../outside/arrays-')
    index.write_text(_signed(text))
    return open_checkpoint(index.parent)


def _weights(folder: Path) -> object:
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "np") as file:
        table = dict.fromkeys(file.keys(), "../outside/model.safetensors")
    (folder / "model.safetensors").unlink()
    text = json.dumps({"metadata": {}, "weight_map": table})
    (folder / "model.safetensors.index.json").write_text(text)
    return open_model(folder)


def _graph(folder: Path) -> object:
    """The tokenizer's files, which are written to a temporary folder."""
    import onnx

    from barrow.models.onnx.metadata import FAMILY, FORMAT, FORMAT_KEY, IDS, TOKENIZER

    value = onnx.helper.make_tensor_value_info("x", 1, [1])
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    out = onnx.helper.make_tensor_value_info("y", 1, [1])
    operators = [onnx.helper.make_opsetid("", 17)]
    graph = onnx.helper.make_graph([node], "g", [value], [out])
    model = onnx.helper.make_model(graph, opset_imports=operators, ir_version=8)
    about = {
        FORMAT_KEY: FORMAT,
        IDS: json.dumps({"begin": 0, "stops": []}),
        FAMILY: json.dumps(json.loads((folder / "run.json").read_bytes())["model"]),
        TOKENIZER: json.dumps({str(folder.parent / "outside/log.jsonl"): "x"}),
    }
    onnx.helper.set_model_props(model, about)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return open_model(folder / "model.onnx")


def _search(folder: Path) -> object:
    run = PlannedRun("a", 1000, "../../outside/tokenizer", {"x": 1.0})
    plan = Plan("", "", {"x": 1}, "", Design((Proxies(1, 1000),)), (run,))
    (folder / "search.json").write_text(config.to_json(plan))
    return read_plan(folder)


def _pictures(folder: Path) -> object:
    """The index has the name of a picture, which becomes another of as many letters."""
    from PIL import Image

    source = folder / "pictures"
    (source / "inside/folder").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(source / "inside/folder/0.png")
    (source / "inside/folder/0.txt").write_text("A picture.")
    index_pairs(source, folder / "pairs")
    for file in (folder / "pairs").glob("*.safetensors"):
        changed = file.read_bytes().replace(b"inside/folder/0.png", b"../../outside/0.png")
        file.write_bytes(changed)
    return open_index(folder / "pairs").read(0)


_INSIDE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "the folder of a recipe's domain": ("", _recipe(key="../../outside/notes")),
    "the same, absolute": ("", _recipe(key="{outside}/notes")),
    "a recipe's pattern": ("", _recipe(paths=["../../outside/notes/*.txt"])),
    "a pattern with .. inside": ("", _recipe(paths=["notes/../../../outside/notes/*.txt"])),
    "an absolute pattern": ("", _recipe(paths=["{outside}/notes/*.txt"])),
    "the shards of an archive": ("corpus", _shard),
    "a takedown's removed shards": ("corpus", _takedown),
    "a store's index": ("store", _store(lambda table: table["domains"][0]["index"])),
    "a store's shards": ("store", _store(lambda table: table["domains"][0]["shards"][0]["file"])),
    "a store's tokenizer": ("store", _store(lambda table: table["tokenizer"]["files"][0])),
    "the arrays of a checkpoint": ("run", _leaves),
    "the shards of weights": ("hf", _weights),
    "the tokenizer in a graph": ("run", _graph),
    "the runs of a search": ("store", _search),
    "the pictures of pairs": ("tok", _pictures),
}


@pytest.mark.parametrize("kind", _INSIDE)
def test_names_inside_a_folder(kind: str, earlier: Path, tmp_path: Path, watched: Any) -> None:
    name, open_it = _INSIDE[kind]
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    if name:
        shutil.copytree(earlier / name, folder)
        shutil.copytree(folder, outside)
    else:
        shutil.copytree(earlier / "raw", folder / "raw")
        shutil.copytree(earlier / "raw", outside)
        shutil.copy(earlier / "recipe.json", folder)
    if name == "run":  # beside the arrays of the step
        for path in outside.glob("checkpoints/step-000000004/*"):
            shutil.copy(path, outside)
    before = _state(outside)
    watched(outside)
    with pytest.raises((BarrowError, ValueError)) as caught:
        open_it(folder)
    assert "\n" not in str(caught.value)
    assert not _opened
    assert _state(outside) == before


def _saved_run(folder: Path) -> object:
    run = config.from_json(Run, (folder / "run/run.json").read_text())
    assert Path(run.store).parent == Path(str(run.validation)).parent == folder
    return task_of(run).data()


def _against(folder: Path) -> object:
    """Another corpus that documents are deduplicated against."""
    return known_parts(folder / "corpus")


def _linked(folder: Path) -> object:
    root = folder.parent / "root"
    root.mkdir()
    (root / "letters").symlink_to(folder / "raw/notes")
    (root / "one.txt").symlink_to(folder / "raw/notes/00.txt")
    table = json.loads((folder / "recipe.json").read_bytes())
    domain = next(iter(table["domains"].values()))
    table["domains"] = {"letters": domain, ".": {**domain, "paths": ["one.txt"]}}
    plan = dry_run(
        config.from_json(Recipe, json.dumps(table)), root=root, out=folder.parent / "made"
    )
    assert plan["files"] == 25
    return plan


_ELSEWHERE: dict[str, Callable[[Path], object]] = {
    "a run's store and validation": _saved_run,
    "a stream's store": lambda folder: open_store(Saved.read(folder / "run").folder),
    "a run's init, the base of adapters": lambda folder: open_model(folder / "sft"),
    "a recipe's other corpora": _against,
    "a link under the root": _linked,
}


@pytest.mark.parametrize("kind", _ELSEWHERE)
@pytest.mark.usefixtures("one_device")
def test_what_points_elsewhere_by_design(kind: str, tmp_path: Path) -> None:
    folder = earlier_folders(tmp_path / "earlier")
    before = _state(folder)
    assert _ELSEWHERE[kind](folder) is not None
    assert _state(folder) == before
