from __future__ import annotations

from collections.abc import Callable


def test_faces(markdown: Callable[..., str]) -> None:
    assert markdown("{a \\bf b} c") == "a **b** c"
    assert markdown("\\emph{a\n\nb}") == "a\n\nb"
    assert markdown(r"\texttt{a $x$}") == "a $x$"
