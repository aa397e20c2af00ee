from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from barrow import errors


def test_an_archive_error_names_the_place() -> None:
    error = errors.BadRecord("no text", reason="no-text", shard="a.jsonl.zst", frame=3, document=7)
    assert str(error) == "a.jsonl.zst, frame 3, document 7: no text"
    assert isinstance(error, errors.ArchiveError)


def test_errors_are_also_what_python_would_raise() -> None:
    assert issubclass(errors.ConfigError, ValueError)
    assert issubclass(errors.NotFound, FileNotFoundError)
    assert issubclass(errors.WriteFailed, OSError)
    assert issubclass(errors.FetchFailed, OSError)
    with pytest.raises(ImportError, match=r"pip install '.\[torch\]'"):
        raise errors.MissingExtra("PyTorch", "torch", "archive.torch()")


def test_every_error_is_in_the_tree_that_is_drawn() -> None:
    names = [n for n, v in vars(errors).items() if isinstance(v, type) and issubclass(v, Exception)]
    assert names
    for name in names:
        assert name in (errors.__doc__ or "")


def test_an_archive_error_crosses_processes() -> None:
    error = errors.DamagedShard("cut", reason="truncated", shard="x", frame=1, num_documents=9)
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.reason, back.frame, back.num_documents) == (
        str(error),
        "truncated",
        1,
        9,
    )


def test_a_weights_error_names_file_and_tensor() -> None:
    error = errors.WeightsError("too short", path="m.safetensors", tensor="a.weight")
    assert str(error) == "m.safetensors, tensor 'a.weight': too short"
    assert str(errors.WeightsError("too short", path="m")) == "m: too short"
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.path, back.tensor) == (str(error), "m.safetensors", "a.weight")


def test_the_others_cross_processes_too() -> None:
    extra = errors.MissingExtra("PyTorch", "torch", "archive.torch()")
    assert str(pickle.loads(pickle.dumps(extra))) == str(extra)
    assert str(pickle.loads(pickle.dumps(errors.WriteFailed("full")))) == "full"


def test_a_store_error_names_the_file_and_crosses_processes() -> None:
    error = errors.StoreError("cut off", reason="wrong-size", file="x.safetensors")
    assert str(error) == "x.safetensors: cut off"
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.reason, back.file, back.cause) == (
        str(error),
        "wrong-size",
        "x.safetensors",
        "cut off",
    )


def test_divergence_names_the_step_and_crosses_processes() -> None:
    error = errors.Diverged("step 5: the loss is nan", step=5)
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.step) == ("step 5: the loss is nan", 5)


def test_the_nearest_path_is_one_that_exists(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / ".runn").mkdir()
    assert errors.nearest_path(tmp_path / "runn") == f"did you mean {tmp_path / 'run'}?"
    near = f"did you mean {tmp_path / 'run' / 'checkpoints'}?"
    assert errors.nearest_path(tmp_path / "runn" / "checkpoints") == near
    assert errors.nearest_path(str(tmp_path / "run" / "checkpoint")) == near
    for path in ("runn/nothing", "other", "rnu/chekpoints"):
        assert errors.nearest_path(tmp_path / path) == ""
    assert errors.nearest_path("") == ""
