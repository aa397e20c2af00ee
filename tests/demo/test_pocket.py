from __future__ import annotations

import hashlib
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from tests.killed import killed_at

import barrow
from barrow.corpus import build
from barrow.corpus.licences.detect import is_spdx
from barrow.demo import pocket
from barrow.engine import Engine
from barrow.score.contamination import contamination

SHARE = 0.1


def digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw files with manual pages, whether this machine has some or not."""
    top = tmp_path_factory.mktemp("pocket")
    pages = top / "man" / "man1"
    pages.mkdir(parents=True)
    for number in range(30):
        text = f".TH MOUND{number} 1\n.SH NAME\nmound{number} \\- raise hill {number}\n" * 40
        (pages / f"mound{number}.1").write_text(text)
    (pages / "other.1").write_text(".so man1/mound1.1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pocket, "MANUAL", top / "man")
        assert pocket.prepare(top / "raw", share=SHARE) == {}
    return top / "raw"


def test_each_domain_is_what_its_name_says(raw: Path) -> None:
    found = {path.relative_to(raw).parts[0] for path in raw.rglob("*")} - {".pocket"}
    assert found == set(pocket.recipe().domains)
    assert len(found) == 8
    endings = {
        folder: {path.suffix for path in (raw / folder).rglob("*") if path.is_file()}
        for folder in found
    }
    assert endings["python_code"] == {".py"}
    assert endings["c_code"] <= {".c", ".h"}
    assert endings["package_descriptions"] <= {".md", ".rst"}
    licences = "".join(path.read_text() for path in (raw / "licences").iterdir()).lower()
    assert licences.count("copyright") > 10
    pages = [path.read_text() for path in (raw / "manual_pages").iterdir()]
    assert len(pages) > 10
    assert all(page.startswith(".TH MOUND") for page in pages)


def test_a_domain_that_is_missing_here_is_left_out_and_named(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without /usr/share all other raw files are the same bytes, over what was there before."""
    root = tmp_path / "raw"
    root.mkdir()
    (root / ".pocket").touch()
    (root / "left over").touch()
    monkeypatch.setattr(pocket, "MANUAL", tmp_path / "absent")
    imported = set(sys.modules)
    assert pocket.prepare(root, share=SHARE) == {"manual_pages": "0 kB here, at least 12"}
    assert not {"jax", "numba", "rich"} & (set(sys.modules) - imported), "text is read, not run"
    assert digests(root) == {
        name: digest
        for name, digest in digests(raw).items()
        if not name.startswith("manual_pages/")
    }
    out = tmp_path / "out"
    report = build(pocket.recipe(), root=root, out=out, engine=Engine(num_workers=0))
    assert list(report["missing"]) == ["manual_pages"]
    found = Counter(document.meta["pile_set_name"] for document in barrow.archive.open(out))
    expected = {domain.name for domain in pocket.recipe().domains.values()}
    assert set(found) == expected - {"Manual Pages (roff)"}
    for document in barrow.archive.open(out):
        assert not document.meta["source"].startswith("/"), "no path of this machine"
        assert is_spdx(document.meta["licence"])
        assert document.meta["retrieved"], "PILE-5"


@pytest.mark.soak
def test_the_whole_corpus(tmp_path: Path) -> None:
    """Every domain has documents in the test split, which shares next to nothing with training."""
    left_out = pocket.prepare(tmp_path / "raw")
    out = tmp_path / "out"
    build(pocket.recipe(), root=tmp_path / "raw", out=out, engine=Engine(num_workers=2))
    train = barrow.archive.open(out)
    test = [(d.meta["pile_set_name"], d.text) for d in barrow.archive.open(out / "test")]
    for split in (Counter(d.meta["pile_set_name"] for d in train), Counter(n for n, _ in test)):
        assert len(split) == 8 - len(left_out)
        assert min(split.values()) >= 2
    assert 3_000_000 < sum(len(document.text.encode()) for document in train) < 6_000_000
    shared = contamination(test, train.blocks, name="train")
    assert shared["documents"] < 0.03 * len(test)
    assert shared["share"] < 0.001


def test_docstrings_have_their_dotted_names() -> None:
    source = '''"""A file."""
class Mound:
    """A mound."""
    async def raise_it(self):
        """Raise it."""
    def silent(self):
        x = 1
'''
    assert sorted(pocket.docstrings(source, "hills")) == [
        ("hills", "A file."),
        ("hills.Mound", "A mound."),
        ("hills.Mound.raise_it", "Raise it."),
    ]
    assert list(pocket.docstrings("print 'old Python'", "a")) == []
    assert list(pocket.docstrings("\0", "a")) == []


def test_the_demo_goes_on_wherever_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each change of the disk in turn, over the files of an earlier call."""
    source = pocket._Source(pocket.recipe().domains["licences"], lambda: iter([("a", b"a")]), 1e-6)
    monkeypatch.setattr(pocket, "_sources", lambda: {"licences": source})
    number, is_killed = 0, True
    while is_killed:
        number += 1
        root = tmp_path / str(number) / "raw"
        pocket.prepare(root)
        is_killed = killed_at(number, partial(pocket.prepare, root))
        pocket.prepare(root)
        assert sorted(digests(root.parent)) == ["raw/.pocket", "raw/licences/a"]
    assert number > 8


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="was not created by the demo"):
        pocket.prepare(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
