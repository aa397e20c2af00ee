from __future__ import annotations

from barrow.corpus.text.latex.output import Output


def test_blanks_and_code() -> None:
    output = Output()
    for text in ("  a ", " b", "\n"):
        output.text(text)
    output.code_block("\tx\n\n\ny ")
    output.text(" c")
    assert output.finished() == "a b\n\n```\n    x\n\n\ny\n```\n\nc"
