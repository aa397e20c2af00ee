from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.github.languages import programming_language


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a/b.py", "", "Python"),
        ("B.PY", "", "Python"),
        ("x.tar.rs", "", "Rust"),
        ("src/x.c++", "", "C++"),
        ("Makefile", "", "Makefile"),
        ("deep/CMakeLists.txt", "", "CMake"),
        ("app.dockerfile", "", "Dockerfile"),
        ("run", "#!/usr/bin/env python3\n", "Python"),
        ("run", "#!/usr/bin/env -S node --x\n", "JavaScript"),
        ("run", "#! /bin/sh -e\n", "Shell"),
        ("run", "#!/usr/bin/perl5.30", "Perl"),
        ("run", "#!/usr/bin/env\n", None),
        ("run", "#!\n", None),
        ("run", "#!/opt/strange", None),
        ("run.sh", "#!/usr/bin/env python\n", "Shell"),
        (".py", "", None),
        ("LICENSE", "MIT", None),
        ("py", "", None),
        ("x.unheardof", "", None),
    ],
)
def test_language(name: str, text: str, language: str | None) -> None:
    assert programming_language(name, text) == language


@given(st.text(), st.text())
def test_anything(name: str, text: str) -> None:
    programming_language(name, "#!" + text)
