"""C4's rules for documents, for texts whose lines `C4Lines` has chosen."""

from __future__ import annotations

from dataclasses import dataclass

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.statistics.phrases import find_phrases
from barrow.corpus.filters.statistics.sentences import num_sentences
from barrow.corpus.filters.texts import Texts


@dataclass(frozen=True)
class C4(Filter):
    """C4's page rules: no lorem ipsum, no braces of code, at least `min_sentences` sentences.

    - `lorem_ipsum`, `curly_bracket`: keep pages that have one
    - `min_sentences`: sentences of a page


    Defaults: Raffel et al. 2020, https://jmlr.org/papers/v21/20-074.html.
    """

    lorem_ipsum: bool = False
    curly_bracket: bool = False
    min_sentences: int = 5

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("c4-lorem-ipsum", "c4-curly-bracket", "c4-too-few-sentences")

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        if not self.lorem_ipsum:
            filler = find_phrases(texts.text, texts.offsets, ("lorem ipsum",))
            decisions.reject(1, filler, filler)
        if not self.curly_bracket:
            brackets = texts.statistics.characters.curly_brackets
            decisions.reject(2, brackets > 0, brackets)
        sentences = num_sentences(
            texts.text, texts.offsets, self.min_sentences, unspaced=texts.unspaced
        )
        decisions.reject(3, sentences < self.min_sentences, sentences)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        if reason == "c4-too-few-sentences":
            return f"{value:.0f} sentences, fewer than {self.min_sentences}"
        if reason == "c4-curly-bracket":
            return f"{value:,.0f} curly brackets"
        return "has lorem ipsum"
