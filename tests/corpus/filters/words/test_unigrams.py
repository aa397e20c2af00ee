"""The mean log-probability of words (PILE-8)."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barrow.archive import Document, Writer
from barrow.config import from_json, to_json
from barrow.corpus.filters.texts import Texts
from barrow.corpus.filters.words.unigrams import Unigrams, count_unigrams
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError, NotFound

COUNTS = {"the": 700, "cat": 200, "don't": 50, "sat": 100}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    lines = ["word,count", *(f"{word},{count}" for word, count in COUNTS.items()), ""]
    path.write_text("\n".join(lines))
    return path


def means(rules: Unigrams, texts: list[str]) -> list[float]:
    return rules.means(Texts.of_strings(texts, [{}] * len(texts), Scratch())).tolist()


# don't is two words here, so there are 1,100 in all.
LOGS = {"the": 700, "cat": 200, "don": 50, "t": 50, "sat": 100}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.sampled_from([*LOGS, "The", "CAT", "dog", "don't"]), max_size=30), max_size=4
    )
)
def test_by_hand(table: Path, texts: list[list[str]]) -> None:
    rules = Unigrams(table)
    found = means(rules, [", ".join(words) for words in texts])
    for words, mean in zip(texts, found, strict=True):
        plain = re.findall(r"\w+", " ".join(words).lower())
        logs = [math.log(LOGS[word] / 1_100 if word in LOGS else 1e-9) for word in plain]
        assert mean == pytest.approx(math.fsum(logs) / max(len(logs), 1), abs=1e-12)


def test_bounds_and_causes(table: Path) -> None:
    rules = Unigrams(table, min_mean=-5.0, max_mean=-1.0)
    texts = ["the the", "the cat", "dog dog dog", "", "cat"]
    code, value = rules.decide(Texts.of_strings(texts, [{}] * 5, Scratch()))
    assert code.tolist() == [2, 0, 1, 2, 0]
    assert value[2] == pytest.approx(math.log(1e-9))
    assert rules.cause("uncommon-words", value[2]) == "mean log-probability -20.72, less than -5.0"
    assert rules.cause("common-words", -0.45) == "mean log-probability -0.45, more than -1.0"
    assert Unigrams(table).decide(Texts.of_strings([""], [{}], Scratch())).code.tolist() == [0]
    assert means(Unigrams(table, unseen=1e-3), ["dog"]) == [pytest.approx(math.log(1e-3))]


def test_a_table_made_from_a_corpus_gives_its_probabilities(tmp_path: Path) -> None:
    texts = ["The cat sat. The CAT!", "Café or cafe? 中文 中", "İstanbul, x²", "a" * 100 + " the"]
    with Writer(tmp_path / "a.jsonl.zst", frame_size=30) as writer:
        for text in texts:
            writer.add(Document(text, {}))
    path = tmp_path / "table.tsv"
    number = count_unigrams(tmp_path / "a.jsonl.zst", path)
    rows = dict(line.split("\t") for line in path.read_text().splitlines())
    assert len(rows) == number
    assert rows["the"] == "3"
    assert rows["cat"] == rows["café"] == rows["中"] == "2"
    assert rows["文"] == rows["a" * 100] == rows["sat"] == "1"
    assert list(rows.values()) == sorted(rows.values(), reverse=True)
    total = sum(map(int, rows.values()))
    found = means(Unigrams(path), ["the", "CAFE", "文", "istanbul", "other"])
    expected = [math.log(n / total) for n in (3, 2, 1, 1)]
    assert found == pytest.approx([*expected, math.log(1e-9)])
    # Every word finds itself.
    names = list(rows)
    logs = [math.log(int(rows[name]) / total) for name in names]
    assert means(Unigrams(path), names) == pytest.approx(logs)
    assert count_unigrams(tmp_path / "a.jsonl.zst", path, min_count=2) == 4
    assert Counter(path.read_text().split())["2"] == 3
    with pytest.raises(ConfigError, match="min_count must be ≥ 1, got 0"):
        count_unigrams(tmp_path / "a.jsonl.zst", path, min_count=0)


def test_an_edited_table_is_another_setting(table: Path) -> None:
    rules = Unigrams(table)
    resolved = rules.resolved()
    assert rules.resolved() == resolved != rules
    assert from_json(Unigrams, to_json(resolved)) == resolved
    table.write_text("the\t1\n")
    os.utime(table, ns=(1, 1))
    assert rules.resolved() != resolved
    with pytest.raises(ConfigError, match=r"table.csv has changed: expected sha256"):
        means(resolved, ["text"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("the\t5\ncat\n", r"line 2: expected a word and its count, got 'cat'"),
        ("the\t5\ncat\t-1\n", r"line 2: expected a word and its count"),
        ("", "has no words; expected lines such as"),
        ("word,count\n", "has no words"),
        ("the\t0\n", "has no words"),
        ("...\t5\n", "has no words"),
    ],
)
def test_bad_tables(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "bad.tsv").write_text(lines)
    with pytest.raises(ConfigError, match=message):
        Unigrams(tmp_path / "bad.tsv").resolved()


def test_bad_settings(table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unseen must be > 0 and < 1, got 0"):
        Unigrams(table, unseen=0)
    with pytest.raises(ConfigError, match="max_mean must be ≥ min_mean -10.0, got -11"):
        Unigrams(table, max_mean=-11)
    with pytest.raises(NotFound, match=r"none.tsv is not a file; expected a table"):
        Unigrams(tmp_path / "none.tsv").resolved()
