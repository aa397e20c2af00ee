from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train import labelled_files

from barrow import tokens
from barrow.errors import ConfigError
from barrow.models import RobertaConfig
from barrow.models.roberta.labelled_rows import Limit
from barrow.train.finetune.data import Labelled, labelled_data
from barrow.train.finetune.settings import LabelledRows

CONFIG = RobertaConfig(330, 32, 2, 4, 48, 66)


@pytest.fixture(scope="module")
def tokenizer(roberta_folder: Callable[[str], Path]) -> Any:
    return tokens.load(roberta_folder("mlm"))


@pytest.fixture
def read(tmp_path: Path, tokenizer: Any) -> Callable[..., Labelled]:
    """The data of records, given as those to learn from and those to judge by, or a share."""

    def read(*records: Any, task: Any = "classify", held: Any = 0.5, **changes: Any) -> Labelled:
        places = []
        for name, rows in (("data.jsonl", records), ("held.jsonl", held)):
            if not isinstance(rows, float):
                (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
                places.append(str(tmp_path / name))
        validation = held if isinstance(held, float) else places[1]
        given = LabelledRows(places[0], task, validation)
        return labelled_data(replace(given, **changes), tokenizer, CONFIG)

    return read


def rows(*labels: Any) -> list[dict[str, Any]]:
    return [{"text": f"text {i}", "label": label} for i, label in enumerate(labels)]


def test_a_share_and_a_file(read: Callable[..., Labelled]) -> None:
    found = read(*rows(*"abcabcabc"))
    assert found.labels == ("a", "b", "c")
    assert len(found.train.rows) + len(found.validation.rows) == 9
    found = read(*rows("1", "0", 1), held=rows("0"))
    assert found.labels == ("0", "1")
    assert [int(one) for one in found.train.targets] == [1, 0, 1]
    assert found.validation.places[0].endswith("held.jsonl, line 1")


def test_batches_are_filled_up(tmp_path: Path, tokenizer: Any) -> None:
    path = labelled_files.tags(tmp_path / "tags.jsonl")
    found = labelled_data(LabelledRows(str(path), "tag"), tokenizer, CONFIG)
    data = found.train
    batch = data.batch([0, 3], 4, CONFIG)
    assert batch["tokens"].shape == batch["mask"].shape == batch["targets"].shape == (4, 16)
    assert batch["mask"].sum() == len(data.targets[0]) + len(data.targets[3])
    assert not batch["mask"][2:].any()
    # Only first pieces of words are learned.
    at = np.flatnonzero(batch["mask"][1])
    assert at.tolist() == data.first[3].tolist()
    assert batch["targets"][1][at].tolist() == data.targets[3].tolist()
    path = labelled_files.numbers(tmp_path / "numbers.csv")
    found = labelled_data(LabelledRows(str(path), "regress"), tokenizer, CONFIG)
    batch = found.train.batch([1], 2, CONFIG)
    assert (found.labels, batch["targets"].dtype) == ((), np.float32)
    assert batch["mask"].tolist() == [1, 0]


def test_words_that_are_cut_are_not_learned(read: Callable[..., Labelled]) -> None:
    long = {"tokens": ["stone"] * 30, "tags": ["O"] * 29 + ["B-X"]}
    found = read(long, {"tokens": ["fox"], "tags": ["B-X"]}, task="tag", held=[long],
                 limit=Limit(16, True))  # fmt: skip
    assert len(found.train.targets[0]) == len(found.train.first[0]) < 30
    assert (found.train.num_cut, found.validation.num_cut) == (1, 1)


def test_what_a_fingerprint_knows(read: Callable[..., Labelled]) -> None:
    first = read(*rows("a", "b"), held=rows("a")).train.fingerprint
    assert first == read(*rows("a", "b"), held=rows("b")).train.fingerprint
    assert first != read(*rows("b", "a"), held=rows("a")).train.fingerprint
    others = [{"text": "other", "label": "a"}, *rows("a", "b")[1:]]
    assert first != read(*others, held=rows("a")).train.fingerprint


def test_bad_data(read: Callable[..., Labelled]) -> None:
    with pytest.raises(
        ValueError, match="held.jsonl, line 2: the label 'c' is not in the training data: a, b"
    ):
        read(*rows("a", "b"), held=rows("a", "c"))
    with pytest.raises(ConfigError, match="all training examples have the label 'a'"):
        read(*rows("a", "a"), held=rows("a"))
    with pytest.raises(ConfigError, match=r"data.jsonl has no examples"):
        read()
    with pytest.raises(ConfigError, match="no examples are left for validation out of 2"):
        read(*rows("a", "b"), held=0.001)
    with pytest.raises(ConfigError, match="no examples are left for training out of 2"):
        read(*rows("a", "b"), held=0.999)
    with pytest.raises(ConfigError, match=r"held.jsonl has no examples"):
        read(*rows("a", "b"), held=[])
    long = [*rows("a", "b"), {"text": "stone " * 90, "label": "a"}]
    with pytest.raises(ValueError, match="data.jsonl, line 3: .* but the model takes 64"):
        read(*long, held=rows("a"))
