from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from barrow.archive import Document, Writer
from barrow.corpus.report.reject_samples import sample_rejects


def write(folder: Path, rejects: list[tuple[str, str, str]], **meta: str) -> Path:
    with Writer(folder, shard_size=4_000, frame_size=1_000) as writer:
        for reason, domain, text in rejects:
            told = {"pile_set_name": domain, "reason": reason, "stage": "read", "cause": "why"}
            writer.add(Document(text, told | meta))
    return folder


def test_the_first_few_of_every_reason(tmp_path: Path) -> None:
    rejects = [(f"r{n % 3}", "A", f"text {n}") for n in range(300)]
    samples = sample_rejects(write(tmp_path / "x", rejects))
    assert {key: [s.beginning for s in kept] for key, kept in samples.items()} == {
        ("read", "r0"): ["text 0", "text 3", "text 6"],
        ("read", "r1"): ["text 1", "text 4", "text 7"],
        ("read", "r2"): ["text 2", "text 5", "text 8"],
    }


def test_of_different_domains_where_there_are_several(tmp_path: Path) -> None:
    rejects = [("r", "A", f"a{n}") for n in range(50)]
    rejects += [("r", name, f"{name}{n}") for name in "BCD" for n in range(50)]
    (samples,) = sample_rejects(write(tmp_path / "x", rejects)).values()
    assert [s.beginning for s in samples] == ["a0", "B0", "C0"]
    (samples,) = sample_rejects(write(tmp_path / "y", rejects[:70])).values()
    assert [s.beginning for s in samples] == ["a0", "a1", "B0"]


def test_those_with_a_text_come_first(tmp_path: Path) -> None:
    rejects = [("r", "A", "")] * 10 + [("r", "A", "x"), ("r", "A", "y")]
    (samples,) = sample_rejects(write(tmp_path / "x", rejects)).values()
    assert [s.beginning for s in samples] == ["x", "y", ""]


def test_stages_are_told_apart(tmp_path: Path) -> None:
    with Writer(tmp_path / "x") as writer:
        for stage in ("read", "filter"):
            told = {"pile_set_name": "A", "reason": "empty", "stage": stage, "cause": ""}
            writer.add(Document(stage, told))
    assert set(sample_rejects(tmp_path / "x")) == {("read", "empty"), ("filter", "empty")}


def test_where_and_why(tmp_path: Path) -> None:
    folder = write(tmp_path / "x", [("r", "A", "t")], source="a/b.xml", member="7", cause="no\nway")
    (samples,) = sample_rejects(folder).values()
    (sample,) = samples
    assert (sample.domain, sample.place, sample.cause) == ("A", "a/b.xml 7", "no way")


@pytest.mark.parametrize(
    ("text", "begins", "most"),
    [
        ("é" * 2_000, "é" * 400 + "…", 401),
        ("👩" * 2_000, "👩" * 400 + "…", 401),
        ("\n".join("ab" * 100), "a\nb\n", 24),
        ("\n\n  x\n", "  x", 3),
        ("\x00\u202e", "␀\ufffd", 2),
    ],
)
def test_beginnings_are_short_and_safe(tmp_path: Path, text: str, begins: str, most: int) -> None:
    (samples,) = sample_rejects(write(tmp_path / "x", [("r", "A", text)])).values()
    assert samples[0].beginning.startswith(begins)
    assert len(samples[0].beginning) <= most


def test_no_rejects(tmp_path: Path) -> None:
    assert sample_rejects(tmp_path / "none") == {}
    assert sample_rejects(write(tmp_path / "x", [])) == {}


def test_memory_does_not_grow(tmp_path: Path) -> None:
    def peak(number: int) -> int:
        folder = tmp_path / str(number)
        with Writer(folder) as writer:
            told = {"pile_set_name": "A", "reason": "r", "stage": "read", "cause": "why"}
            for n in range(number):
                writer.add(Document(f"{n} " * 300, told))
        tracemalloc.start()
        sample_rejects(folder)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(12_000) < 1.3 * peak(4_000)
