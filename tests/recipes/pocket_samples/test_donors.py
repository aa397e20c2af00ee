from __future__ import annotations

import sys
from pathlib import Path

from barrow.recipes.pocket_samples.donors import Donor, divided, donors


def test_the_library_and_the_packages() -> None:
    found = donors()
    modules = {donor.module for donor in found}
    assert {"argparse", "email", "email.utils", "numpy", "numpy.linalg._linalg"} <= modules
    assert not any("tests" in module.split(".") for module in modules)
    assert len(modules) == len(found)
    assert found == donors()
    first = [donor.package for donor in found[:300]]
    assert first.count("") > 20
    assert first.count("numpy") > 5


def test_importing_nothing() -> None:
    """Text is taken from files; none of these packages is run."""
    before = set(sys.modules)
    donors()
    assert not {"jax", "numba", "pip"} & (set(sys.modules) - before)


def test_who_gives_code_gives_no_prose(tmp_path: Path) -> None:
    def donor(name: str, size: int, package: str = "") -> Donor:
        path = tmp_path / f"{name}.py"
        path.write_bytes(b"#" * size)
        return Donor(package, name, path)

    found = [donor("a", 40), donor("b", 40, "numpy"), donor("c", 100_000), donor("d", 50)]
    found += [donor("e", 40), donor("f", 10)]
    code, prose = divided(found, num_bytes=100)
    assert [one.module for one in code] == ["a", "d", "f"]
    assert [one.module for one in prose] == ["b", "c", "e"]


def test_text_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# \xff")
    assert Donor("", "a", path).text() == ""
    assert Donor("", "b", tmp_path / "b.py").text() == ""
