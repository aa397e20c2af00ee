from __future__ import annotations

import warnings

import pytest

from barrow.cli.terminal import warnings_in_words


def test_warnings_are_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings_in_words():
        warnings.warn("two texts were cut", stacklevel=1)
        assert capsys.readouterr().err == "barrow: two texts were cut\n"
    with pytest.warns(RuntimeWarning, match="to developers"), warnings_in_words():
        warnings.warn("to developers", RuntimeWarning, stacklevel=1)
    with pytest.warns(UserWarning, match="as ever"):
        warnings.warn("as ever", stacklevel=1)
    assert not capsys.readouterr().err
