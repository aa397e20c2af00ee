r"""MathML to readable TeX: ``\frac{a}{b}``, ``x_{ij}^2``, ``\sqrt{n}``.

Characters stay as they are (α, ≤, ∑); only structure becomes TeX. The author's TeX is used where
it is given as an annotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

_LEAVES = frozenset(["mi", "mn", "mo", "mtext", "ms"])
_ACCENTS = {
    **dict.fromkeys(("¯", "‾", "ˉ", "\u0304", "\u0305", "_", "―", "─"), r"\bar"),
    **dict.fromkeys(("^", "ˆ", "\u0302"), r"\hat"),
    **dict.fromkeys(("~", "˜", "∼", "\u0303"), r"\tilde"),
    **dict.fromkeys(("→", "⃗", "⇀"), r"\vec"),
    **dict.fromkeys(("˙", "·", ".", "\u0307"), r"\dot"),
    **dict.fromkeys(("¨", "..", "\u0308"), r"\ddot"),
}
_FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sinh",
        "cosh",
        "tanh",
        "log",
        "ln",
        "exp",
        "min",
        "max",
        "lim",
        "sup",
        "inf",
        "det",
        "dim",
        "ker",
        "arg",
        "gcd",
        "sec",
        "csc",
        "arcsin",
        "arccos",
        "arctan",
    ]
)
_INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064\u200b\u2060\ufeff"))
_BINARY = frozenset("=<>≤≥≈≠≡∝→←↔⇒⇔∈∉⊂⊆∪∩±×+−-⩽⩾≪≫∧∨")
# Deeper elements are written without structure, or nesting would take quadratic time.
_MAX_DEPTH = 100
_SHORT = 8
_PRESCRIPTS = "\0"  # never in XML


class MathWriter:
    """TeX from the events of a formula in MathML, without dollars.

    `on_end` is called for the end of an element that did not begin: that of the formula.
    """

    def __init__(self, on_end: Callable[[], object] = lambda: None) -> None:
        self._on_end = on_end
        self._text: list[str] = []
        # Of each open element: its name, its attributes, the output of its children.
        self._open: list[tuple[str, dict[str, str], list[str]]] = [("", {}, [])]
        self._num_deeper = 0
        self.text = self._text.append

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if len(self._open) > _MAX_DEPTH:
            self._num_deeper += 1
        else:
            self._text.clear()  # blanks between elements
            self._open.append((name, attributes, []))

    def end(self, _name: str) -> None:
        """An element ends."""
        if self._num_deeper:
            self._num_deeper -= 1
            return
        if len(self._open) == 1:
            self._on_end()
            return
        name, attributes, parts = self._open.pop()
        name = name.rpartition(":")[2]
        outer, _, siblings = self._open[-1]
        if name in _LEAVES:
            text = "".join(self._text)
            tex = (_leaf if len(text) > _SHORT else _short_leaf)(name, text)
        elif name == "annotation":
            is_tex = "tex" in attributes.get("encoding", "").lower()
            tex = bare_tex("".join(self._text)) if is_tex else ""
        else:
            tex = _rendered(name, attributes, parts)
        self._text.clear()
        if not name.startswith("annotation") or not outer.endswith("semantics"):
            siblings.append(tex)
        elif tex:
            siblings[:] = [tex]

    def finish(self) -> str:
        """The formula, on one line."""
        return " ".join("".join(self._open[0][2]).split())


def _rendered(name: str, attributes: dict[str, str], parts: list[str]) -> str:
    if name == "mrow" or name == "mstyle":
        return "".join(parts)
    if render := _FORMS.get((name, len(parts))):
        return render(*(part.strip() for part in parts))
    if name == "mfenced":
        return _fenced(attributes, parts)
    if name == "mmultiscripts":
        return _multiscripts(parts)
    if name == "mspace":
        return " "
    if name in ("mtr", "mtable"):
        return (" & " if name == "mtr" else r" \\ ").join(part.strip() for part in parts)
    if name == "mlabeledtr":
        return " & ".join(part.strip() for part in parts[1:])
    if name == "msqrt":
        content = "".join(parts).strip()
        return rf"\sqrt{{{content}}}"
    if name == "mprescripts":
        return _PRESCRIPTS
    return "" if name in ("annotation-xml", "none") else "".join(parts)


def _multiscripts(parts: list[str]) -> str:
    """A base, pairs of sub- and superscripts after it, and such pairs before it: ^{13}C."""
    parts = [part.strip() for part in parts] or [""]
    at = parts.index(_PRESCRIPTS) if _PRESCRIPTS in parts else len(parts)
    return _pairs(parts[at + 1 :]) + parts[0] + _pairs(parts[1:at])


def _pairs(scripts: list[str]) -> str:
    marked = zip("_^" * len(scripts), scripts, strict=False)
    return "".join(f"{mark}{_script(script)}" for mark, script in marked if script)


def _over(base: str, mark: str) -> str:
    accent = _ACCENTS.get(mark)
    return f"{accent}{{{base}}}" if accent else _power(base, mark)


def _below(base: str, index: str) -> str:
    return f"{_base(base)}_{_script(index)}"


def _below_and_above(base: str, index: str, power: str) -> str:
    return f"{_base(base)}_{_script(index)}^{_script(power)}"


def _leaf(name: str, text: str) -> str:
    text = text.translate(_INVISIBLE)
    text = text if len(text) < 2 else " ".join(text.split())
    if name == "mtext" and len(text) > 1 and not text.isdigit():
        return rf"\text{{{text}}}"
    if name == "mi" and text in _FUNCTIONS:
        return rf"\{text} "
    if name == "mo" and text in _BINARY:
        return f" {text} "
    if name == "mo" and text in (",", ";"):
        return f"{text} "
    if text in ("{", "}", "$", "%", "#", "&"):
        return rf"\{text}"
    return text


_short_leaf = lru_cache(maxsize=4096)(_leaf)  # letters and signs repeat


def _base(tex: str) -> str:
    return tex if len(tex) < 2 or tex.isalnum() or tex[0] == "\\" else f"{{{tex}}}"


def _script(tex: str) -> str:
    return tex if len(tex) == 1 else f"{{{tex}}}"


def _power(base: str, power: str) -> str:
    if power and not power.strip("'′″"):  # primes
        return base + power
    return f"{_base(base)}^{_script(power)}"


def _fenced(attributes: dict[str, str], parts: list[str]) -> str:
    begin, end = attributes.get("open", "(").strip(), attributes.get("close", ")").strip()
    begin, end = (rf"\{mark}" if mark in ("{", "}") else mark for mark in (begin, end))
    separator = attributes.get("separators", ",").strip()[:1]
    separator = f"{separator} " if separator else ""
    return begin + separator.join(part.strip() for part in parts) + end


_FORMS: dict[tuple[str, int], Callable[..., str]] = {
    ("mfrac", 2): lambda over, under: rf"\frac{{{over}}}{{{under}}}",
    ("mroot", 2): lambda content, degree: rf"\sqrt[{degree}]{{{content}}}",
    ("msup", 2): _power,
    ("mover", 2): _over,
    ("msub", 2): _below,
    ("munder", 2): _below,
    ("msubsup", 3): _below_and_above,
    ("munderover", 3): _below_and_above,
}

_DOCUMENT = re.compile(r"\\begin\s{0,9}\{document\}(.*?)\\end\s{0,9}\{document\}", re.DOTALL)


def bare_tex(tex: str) -> str:
    r"""TeX without dollars, and without the document that some publishers wrap it in."""
    if found := _DOCUMENT.search(tex):
        tex = found[1]
    tex = " ".join(tex.split())
    for begin, end in (("$$", "$$"), ("$", "$"), ("\\[", "\\]"), ("\\(", "\\)")):
        if tex.startswith(begin) and tex.endswith(end) and len(tex) >= len(begin + end):
            return tex[len(begin) : len(tex) - len(end)].strip()
    return tex


MISSING = "[formula]"


@dataclass
class Formula:
    """A formula while it is read; it begins at `start` of the line being written."""

    name: str
    start: int
    label: str = ""
    has_picture: bool = False
    tex: dict[str, str] = field(default_factory=dict)  # ``tex``: the author's; ``mathml``: ours

    def is_missing(self, letters: str) -> bool:
        """Whether there is only a picture of it."""
        return self.has_picture and not any(self.tex.values()) and not letters.strip()

    def text(self, letters: str, *, is_display: bool) -> str:
        """TeX between dollars if there is any, else its characters."""
        marks = "$$" if is_display else "$"
        tex = self.tex.get("tex") or self.tex.get("mathml")
        text = f"{marks}{tex}{marks}" if tex else letters
        text = MISSING if self.is_missing(letters) else text
        return f"{text} {self.label}" if self.label else text
