"""MathML to TeX."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from barrow.corpus.text.jats.mathml import MathWriter, bare_tex


def tex(mathml: str) -> str:
    writer = MathWriter()
    for event, element in ElementTree.iterparse(_File(f"<math>{mathml}</math>"), ("start", "end")):
        if event == "start":
            writer.start(element.tag, dict(element.attrib))
        else:
            writer.text(element.text or "")
            writer.end(element.tag)
    return writer.finish()


class _File:
    def __init__(self, text: str) -> None:
        self._data = text.encode()

    def read(self, _size: int) -> bytes:
        data, self._data = self._data, b""
        return data


@pytest.mark.parametrize(
    ("mathml", "expected"),
    [
        ("<mi>x</mi><mo>=</mo><mn>1.5</mn>", "x = 1.5"),
        ("<msup><mi>x</mi><mn>2</mn></msup>", "x^2"),
        ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>10</mn></msup>", "{a + b}^{10}"),
        ("<msub><mi>x</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>", "x_{ij}"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_i^2"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>i</mi>", "∑_i^ni"),
        ("<mfrac><mi>a</mi><mi>b</mi></mfrac>", r"\frac{a}{b}"),
        ("<msqrt><mi>a</mi><mi>b</mi></msqrt>", r"\sqrt{ab}"),
        ("<mroot><mi>a</mi><mn>3</mn></mroot>", r"\sqrt[3]{a}"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", r"\bar{x}"),
        ("<mover><mi>x</mi><mi>k</mi></mover>", "x^k"),
        ("<msup><mi>f</mi><mo>′</mo></msup>", "f′"),
        ("<mfenced open='{' close='}'><mi>a</mi><mi>b</mi></mfenced>", r"\{a, b\}"),
        ("<mfenced separators=''><mi>a</mi><mi>b</mi></mfenced>", "(ab)"),
        (("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>2</mn></mtd>"
         "</mtr></mtable>"), r"1 & 0 \\ 2"),
        ("<mi>sin</mi><mi>x</mi>", r"\sin x"),
        ("<mover><mo>←</mo><mo>$</mo></mover><mi>x</mi>", r"←^{\$}x"),
        ("<mtext>if  so</mtext>", r"\text{if so}"),
        ("<mmultiscripts><mi>C</mi><mprescripts/><none/><mn>13</mn></mmultiscripts>", "^{13}C"),
        ("<mmultiscripts><mi>R</mi><mi>i</mi><mi>j</mi></mmultiscripts>", "R_i^j"),
        (("<semantics><mi>x</mi><annotation encoding='application/x-tex'>$\\xi$</annotation>"
         "<annotation-xml><ci>x</ci></annotation-xml></semantics>"), r"\xi"),
        ("<semantics><mi>x</mi><annotation encoding='MathType-MTEF'>QxY</annotation></semantics>",
         "x"),
        ("<mi>f</mi><mo>\u2061</mo><mo>(</mo><mi>x</mi><mo>,</mo><mi>y</mi><mo>)</mo>", "f(x, y)"),
    ],
)  # fmt: skip
def test_forms(mathml: str, expected: str) -> None:
    assert tex(mathml) == expected


def test_prefixes_are_stripped() -> None:
    writer = MathWriter()
    writer.start("mml:msqrt", {})
    writer.start("mml:mi", {})
    writer.text("x")
    writer.end("mml:mi")
    writer.end("mml:msqrt")
    assert writer.finish() == r"\sqrt{x}"


def test_what_is_too_deep_is_written_plainly() -> None:
    writer = MathWriter()
    for _ in range(50_000):
        writer.start("msqrt", {})
    for _ in range(50_000):
        writer.end("msqrt")
    assert len(writer.finish()) < 1000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (r"\documentclass{a}\begin{document}$$x$$\end{document}", "x"),
        (r"\[ x \]", "x"),
        (r"\(x\)", "x"),
        ("$ x\n y $", "x y"),
        ("$", "$"),
        ("x", "x"),
    ],
)
def test_bare_tex(given: str, expected: str) -> None:
    assert bare_tex(given) == expected
