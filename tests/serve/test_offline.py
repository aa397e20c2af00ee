from __future__ import annotations

from pathlib import Path

import pytest

from barrow.errors import ConfigError
from barrow.serve.offline import AnswersFile


def test_answers_are_kept_until_all_are_known(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = AnswersFile(path, {"seed": 1})
    first.add({"text": "é"})
    assert not path.exists()
    again = AnswersFile(path, {"seed": 1})
    assert again.num == 1
    again.add({"text": "b"})
    again.publish()
    assert path.read_text() == '{"text": "é"}\n{"text": "b"}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_only_began_may_be_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    AnswersFile(path, {"seed": 1})
    file = AnswersFile(path, {"seed": 2})
    file.add({})
    with pytest.raises(ConfigError, match=r"a\.jsonl\.partial was begun with other prompts"):
        AnswersFile(path, {"seed": 1})
    assert AnswersFile(path, {"seed": 2}).num == 1


def test_answers_that_are_in_no_other_file_stay(tmp_path: Path) -> None:
    """Of what was there before, or was copied there; those of a run killed at its end go."""
    path = tmp_path / "answers.jsonl"
    file = AnswersFile(path, {"seed": 1})
    file.add({"text": "a"})
    partial = tmp_path / "answers.jsonl.partial"
    for data in (b"", partial.read_bytes()):
        path.write_bytes(data)
        with pytest.raises(ConfigError, match="exists; pass another file"):
            AnswersFile(path, {"seed": 1})
        assert partial.exists()
    path.unlink()
    whole = partial.read_bytes()
    file.publish()
    partial.write_bytes(whole)
    with pytest.raises(ConfigError, match="exists; pass another file"):
        AnswersFile(path, {"seed": 1})
    assert not partial.exists()
