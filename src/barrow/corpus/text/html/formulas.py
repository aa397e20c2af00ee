"""Mathematics of web pages as TeX between dollars, each formula once.

Pages hold a formula as MathML, perhaps with the author's TeX (``alttext``, ``annotation``), as a
picture with TeX for its description, or as a script for MathJax, often beside a rendering for the
screen. Every expression below stops at the next tag of its kind, so that time is linear.
"""

from __future__ import annotations

import html
import re

from barrow.corpus.text.html.tokens import attribute, html_tokens
from barrow.corpus.text.jats.mathml import MathWriter, bare_tex

_ATTRIBUTES = r"""((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)"""
_FORMULA = re.compile(
    rf"""
      <(?:[a-z]{{1,9}}:)?math\b{_ATTRIBUTES}>
       ((?:[^<]++|<(?!/?+(?:(?:[a-z]{{1,9}}:)?math|script|style)\b))*+)
      </(?:[a-z]{{1,9}}:)?math\s*+>
    | <script\b([^<>]*?\bmath/tex[^<>]*+)>((?:[^<]++|<(?!/?+script\b))*+)</script\s*+>
    | <img\b{_ATTRIBUTES}>
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PICTURE = re.compile(
    r"""class\s*+=\s*+["']?[^"'>]*?(?<![\w-])(?:latex|tex|math|mwe-math[\w-]*+)(?![\w-])
    | src\s*+=\s*+["']?[^"'\s>]*?(?:/math/|latex|mimetex|mathtex|cht=tx)""",
    re.IGNORECASE | re.VERBOSE,
)
# What MathJax 2 draws beside its script.
_DRAWN = re.compile(r"""\bclass\s*+=\s*+["']?(?:MathJax|mjx-chtml\b|MJXc-display\b)""")
_BLOCK = re.compile(r"\b(?:block|display)\b", re.IGNORECASE)
_TEX = re.compile(r"[\\^_{]")
_STYLE = re.compile(r"\{\\(?:display|text|script)style\s(.*)\}", re.DOTALL)
_CDATA = re.compile(r"%?\s*+(?:<!\[CDATA\[|\]\]>)")


def with_tex(markup: str) -> str:
    """A page whose formulas are text; one without any is unchanged."""
    if "math/tex" in markup:
        markup = _DRAWN.sub(r"hidden \g<0>", markup)
    # Wikipedia has each formula in MathML, not shown, and as a picture.
    has_pictures = "mwe-math-fallback" in markup

    def text(found: re.Match[str]) -> str:
        mathml, content, script, tex, picture = found.groups()
        if script is not None:
            return _dollars(_CDATA.sub("", tex), script)
        if picture is not None:
            described = _PICTURE.search(picture) and attribute(picture, "alt")
            return _dollars(described, picture) if described else found[0]
        return "" if has_pictures else _dollars(_tex(mathml, content), mathml)

    return _FORMULA.sub(text, markup)


def _dollars(tex: str, attributes: str) -> str:
    tex = bare_tex(tex)
    if found := _STYLE.fullmatch(tex):
        tex = found[1].strip()
    marks = "$$" if _BLOCK.search(attributes) else "$"
    return html.escape(f"{marks}{tex}{marks}", quote=False) if tex else ""


def _tex(attributes: str, content: str) -> str:
    """The author's TeX, else what the MathML is in TeX."""
    described = attribute(attributes, "alttext")
    if _TEX.search(described) and "<annotation" not in content:
        return described
    writer = MathWriter()
    parts = html_tokens(content)
    for text, tag, values in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if text:
            writer.text(html.unescape(text))
        if tag is None:
            continue
        name = tag.lower().rpartition(":")[2]
        if tag[0] == "/":
            writer.end(name.lstrip("/"))
        else:
            names = ("encoding", "open", "close", "separators")
            given = {key: attribute(values or "", key) for key in names if key in (values or "")}
            writer.start(name, given)
            if (values or "").endswith("/"):
                writer.end(name)
    return writer.finish()
