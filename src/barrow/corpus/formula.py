"""A formula in a text, in one of the forms it was given in."""

from __future__ import annotations

from dataclasses import dataclass, field

MISSING = "[formula]"


@dataclass
class Formula:
    """What an element for a formula holds; it begins at `start` of the line being written."""

    name: str
    start: int
    label: str = ""
    has_picture: bool = False
    tex: dict[str, str] = field(default_factory=dict)  # ``tex``: the author's; ``mathml``: made

    def is_missing(self, letters: str) -> bool:
        """Whether there is nothing but a picture of it."""
        return self.has_picture and not any(self.tex.values()) and not letters.strip()

    def text(self, letters: str, *, is_display: bool) -> str:
        """TeX between dollars if there is any, else the letters it was written in."""
        marks = "$$" if is_display else "$"
        tex = self.tex.get("tex") or self.tex.get("mathml")
        text = f"{marks}{tex}{marks}" if tex else letters
        text = MISSING if self.is_missing(letters) else text
        return f"{text} {self.label}" if self.label else text
