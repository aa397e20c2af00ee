"""PILE-6: a formula of a web page is TeX, once, in every form that pages have."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from barrow.corpus.text.html.formulas import with_tex
from barrow.corpus.text.html.page import page_text, whole_text

SQUARE = "<msup><mi>x</mi><mn>2</mn></msup><mo>&lt;</mo><mi>y</mi>"
TEX = "<annotation encoding='application/x-tex'>x^2 &lt; y</annotation>"
MATHML = f"<math><semantics><mrow>{SQUARE}</mrow>{TEX}</semantics></math>"
LONG = "where the people of the valley heaped up earth and stones over the graves of their dead."


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (MATHML, "$x^2 < y$"),
        ("<m:math alttext='x^2&lt;y'><m:mi>x</m:mi></m:math>", "$x^2<y$"),
        (f"<math alttext='x squared'>{SQUARE}</math>", "$x^2 < y$"),
        ("<math display='block'><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", r"$$\frac{a}{b}$$"),
        # KaTeX: MathML and a rendering that screen readers do not see.
        (
            (
                f"<span class='katex'><span class='katex-mathml'>{MATHML}</span><span "
                "class='katex-html' aria-hidden='true'><span class='mord'>x2</span></span></span>"
            ),
            "$x^2 < y$",
        ),
        # MathJax 2: a preview, a rendering, and the script.
        (
            (
                "<span class='MathJax_Preview'>x^2 &lt; y</span><span class='MathJax'><nobr>x2"
                "</nobr></span><script type='math/tex'>x^2 < y</script>"
            ),
            "$x^2 < y$",
        ),
        (
            "<script type='math/tex; mode=display'>% <![CDATA[\na &= b %]]></script>",
            "$$a &= b$$",
        ),
        # Wikipedia: MathML that is not shown, and a picture.
        (
            (
                "<span class='mwe-math-element'><span class='mwe-math-mathml-inline' "
                f"style='display: none;'>{MATHML}</span><img src='//w/math/x' "
                r"class='mwe-math-fallback-image-inline' alt='{\displaystyle x^{2}&lt;y}'></span>"
            ),
            "$x^{2}<y$",
        ),
        ("<img class='latex' alt='$x^2 &lt; y$' src='x.png'>", "$x^2 < y$"),
        ('<img src="_images/math/0a.png" alt="x > y"/>', "$x > y$"),
    ],
)
def test_once_as_tex(formula: str, text: str) -> None:
    page = f"<article><p>It is {formula} {LONG}</p></article>"
    assert page_text(page).text == whole_text(page).text == f"It is {text} {LONG}"


def test_what_is_no_formula_is_unchanged() -> None:
    for markup in ("<img class=photo alt='x^2'>", "<math>", "<script>'<math>'</script></math>"):
        assert with_tex(markup) == markup


@pytest.mark.parametrize(
    "piece",
    ["<math>", "<math a='", "<script type='math/tex'>", "<script math/tex", "<img '\"", "<mi>"],
)
def test_repetition_costs_no_more_than_its_length(piece: str) -> None:
    check_linear(lambda n: with_tex(piece * n), 3_000)
    check_linear(lambda n: with_tex(f"<math>{piece * n}</math>"), 3_000)
