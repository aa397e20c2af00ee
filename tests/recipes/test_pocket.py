from __future__ import annotations

import hashlib
import importlib.util
import re
import sysconfig
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import barrow
from barrow.corpus import Pdf, build
from barrow.corpus.licences import is_spdx
from barrow.engine import Engine
from barrow.recipes import pocket
from barrow.recipes.pocket_samples.donors import Donor

SOME = 12  # articles of each sample


def digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pocket") / "raw"
    pocket.prepare(root, num_articles=SOME)
    return root


@pytest.fixture(scope="module")
def corpus(raw: Path) -> Path:
    out = raw.with_name("out")
    build(pocket.recipe(), root=raw, out=out, engine=Engine(num_workers=0))
    return out


def splits(out: Path) -> dict[str, Path]:
    return {"train": out, "validation": out / "validation", "test": out / "test"}


def paragraphs(text: str) -> set[str]:
    """Paragraphs but for headings and what is too short to be anybody's own."""
    found = ("".join(block.split()) for block in re.split(r"\n\s*\n", text))
    return {
        block for block in found if len(block) >= 60 and not re.search(r"\([\w.]+\)\W*$", block)
    }


def check(out: Path) -> None:
    """No paragraph is in two domains, and every document says what it has to."""
    where: dict[str, set[str]] = defaultdict(set)
    for path in splits(out).values():
        for document in barrow.archive.open(path) if path.exists() else ():
            assert document.text.strip()
            assert not document.meta["source"].startswith("/"), "no path of this machine"
            assert is_spdx(document.meta["licence"])
            assert document.meta["retrieved"], "PILE-5"
            for paragraph in paragraphs(document.text):
                where[paragraph].add(document.meta["pile_set_name"])
    assert {paragraph: names for paragraph, names in where.items() if len(names) > 1} == {}


def test_the_raw_files_are_the_same_each_time(raw: Path, tmp_path: Path) -> None:
    """Another time, in another place, over what was there, without a domain: the same bytes."""
    first = digests(raw)
    assert {name.split("/")[0] for name in first} == {*pocket.recipe().domains, ".pocket"}
    root = tmp_path / "raw"
    root.mkdir()
    (root / ".pocket").touch()
    (root / "left over").touch()
    pocket.prepare(root, num_articles=SOME, left_out=["printed_papers", "python_topics"])
    left = ("printed_papers/", "python_topics/")
    assert digests(root) == {k: v for k, v in first.items() if not k.startswith(left)}


def test_what_gives_code_gives_no_prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paragraph or a function of the sources is in no sample, even if another file has it."""

    def function(number: int, mark: str) -> str:
        said = (
            f"The {mark} of hill {number} has {number} stones, and nobody knows who put them there."
        )
        return f'def f{number}(a):\n    """{said}"""\n    b = a + {number}\n    return b\n\n\n'

    library = tmp_path / "library"
    library.mkdir()
    shared = "".join(function(number, "shared mound") for number in range(50))
    silent = "".join(f"def f{k}(a):\n    b = a + {k}\n    return b\n\n\n" for k in range(50, 64))
    (library / "a.py").write_text(shared + silent)
    own = "".join(function(number, "own mound") for number in range(50, 300))
    (tmp_path / "b.py").write_text(shared + own)
    found = [Donor("", "a", library / "a.py"), Donor("numpy", "numpy.b", tmp_path / "b.py")]
    monkeypatch.setattr(pocket, "donors", lambda: found)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(library))
    pocket.prepare(tmp_path / "raw", num_articles=1)
    (path,) = (tmp_path / "raw" / "manual").rglob("*.html")
    text = path.read_text()
    hills = {int(number) for number in re.findall(r"own mound of hill (\d+)", text)}
    shown = {int(number) for number in re.findall(r"b = a \+ (\d+)", text)}
    assert "shared mound" not in text
    assert min(hills) < 64 < max(hills)
    assert shown == {number for number in hills if number >= 64}


def test_the_corpus(corpus: Path) -> None:
    found = Counter(
        document.meta["pile_set_name"]
        for path in splits(corpus).values()
        for document in barrow.archive.open(path)
    )
    assert set(found) == {domain.name for domain in pocket.recipe().domains.values()}
    assert min(found.values()) >= SOME - 1
    check(corpus)


@pytest.mark.soak
def test_the_whole_corpus(tmp_path: Path) -> None:
    """Every domain has its share of text, and documents that are held out."""
    pocket.prepare(tmp_path / "raw")
    out = tmp_path / "out"
    build(pocket.recipe(), root=tmp_path / "raw", out=out, engine=Engine(num_workers=2))
    check(out)
    sizes: Counter[str] = Counter()
    for name, path in splits(out).items():
        found: Counter[str] = Counter()
        for document in barrow.archive.open(path):
            found[document.meta["pile_set_name"]] += 1
            sizes[document.meta["pile_set_name"]] += len(document.text.encode())
        if name != "validation":
            assert len(found) == 26
            assert min(found.values()) >= {"train": 150, "test": 2}[name]
    assert min(sizes.values()) > 100_000
    assert 11_000_000 < sum(sizes.values()) < 17_000_000


def test_a_missing_library_leaves_its_domain_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pocket.missing_extras() == {}
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pypdfium2" else find(name)
    )
    assert pocket.missing_extras() == {"printed_papers": "pdf"}
    recipe = pocket.recipe(left_out=pocket.missing_extras())
    assert Pdf() not in {domain.reader for domain in recipe.domains.values()}
    assert len(recipe.domains) == 25


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not made by the demo"):
        pocket.prepare(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
