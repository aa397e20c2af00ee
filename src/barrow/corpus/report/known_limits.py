"""Known limits of a corpus, in sentences, from its manifest and recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barrow.corpus.filters.pii.pii import RedactPii, RejectPii
from barrow.corpus.licences.detect import RESERVED, UNKNOWN
from barrow.corpus.recipe import Recipe
from barrow.corpus.report.totals import NOT_STATED, Amount, Survey
from barrow.pages.escape import one_line
from barrow.pages.numbers import readable_count, readable_share, readable_size

_NAMED = 12


def known_limits(totals: Survey, recipe: Recipe) -> list[str]:
    """Sentences of plain text; names in them may hold anything that is safe to show."""
    return [
        *_left_out(totals),
        *_licences(totals),
        *_languages(totals),
        *_duplicates(recipe),
        *_evaluation_sets(recipe),
        *_filters(totals, recipe),
        *_validation_and_test(totals, recipe),
        *_repeats(totals),
    ]


def _left_out(totals: Survey) -> Iterable[str]:
    if totals.missing:
        reasons = (
            f"{one_line(folder)} ({one_line(why)})" for folder, why in totals.missing.items()
        )
        yield f"Named in the recipe but not here: {_listed(reasons)}."
    empty = [
        domain.name for domain in totals.domains if domain.files and not domain.total.documents
    ]
    if empty:
        yield f"Files were there, but no document is left, of {_listed(map(one_line, empty))}."
    unread = sum(domain.unread_files for domain in totals.domains)
    if unread:
        yield (
            f"{readable_count(unread)} raw files were not read, for no reader's pattern "
            "matches their names; the manifest has examples."
        )


def _licences(totals: Survey) -> Iterable[str]:
    yield "Licences are as the documents or the recipe state them; nobody has verified them."
    unknown = _sum(totals.licences, lambda name: name in (NOT_STATED, UNKNOWN))
    if unknown.documents:
        yield f"The licence of {_of(unknown, totals)} is unknown."
    reserved = _sum(totals.licences, lambda name: name == RESERVED)
    if reserved.documents:
        yield (
            f"All rights are reserved in {_of(reserved, totals)}: to pass the corpus on you need "
            "the right to do so."
        )


def _languages(totals: Survey) -> Iterable[str]:
    yield "Languages are as the files or the recipe state them, one for each document."
    unknown = totals.languages.get(NOT_STATED, Amount())
    if unknown.documents:
        yield f"No language is stated for {_of(unknown, totals)}."


def _duplicates(recipe: Recipe) -> Iterable[str]:
    settings = recipe.deduplication
    if settings is None:
        yield "Nobody looked for duplicates: documents may be there many times."
    elif not settings.near:
        yield "Only exact duplicates were looked for: copies with small changes are still there."
    else:
        passages = settings.passages
        shared = "passages" if passages is None else f"passages under {passages.min_words} words"
        yield (
            f"Documents that share fewer than {settings.similarity:.0%} of their shingles are not "
            f"duplicates here; {shared} that longer documents share stay. Candidates are found by "
            "hashing, which misses some pairs near the threshold."
        )


def _evaluation_sets(recipe: Recipe) -> Iterable[str]:
    if recipe.decontamination is None:
        yield "No evaluation set was given: benchmarks' questions and answers may be in the text."
    else:
        yield (
            f"Evaluation data is found where {recipe.decontamination.ngram} words in a row are the "
            "same, case and punctuation apart; translations and paraphrases are not."
        )


def _filters(totals: Survey, recipe: Recipe) -> Iterable[str]:
    here = {domain.name for domain in totals.domains}
    chosen = [domain for domain in recipe.domains.values() if domain.name in here]
    filtered = {domain.name for domain in chosen if domain.filters}
    plain = [domain.name for domain in chosen if domain.name not in filtered]
    if plain:
        yield f"No filter is set for {_listed(map(one_line, dict.fromkeys(plain)), len(here))}."
    private = [
        domain.name
        for domain in chosen
        if not any(isinstance(step, RedactPii | RejectPii) for step in domain.filters)
    ]
    if private:
        yield (
            "Nobody looked for personal data, which stays as in the sources, in "
            f"{_listed(map(one_line, dict.fromkeys(private)), len(here))}."
        )
    if len(private) < len(chosen):
        yield "Personal data is found by patterns (addresses, numbers, keys); names of people stay."
    undated = [domain.name for domain in chosen if domain.retrieved is None]
    if undated:
        names = _listed(map(one_line, dict.fromkeys(undated)), len(here))
        yield (
            f"The recipe does not state when the raw files of {names} were fetched: there, "
            "`retrieved` is the day of the file."
        )


def _validation_and_test(totals: Survey, recipe: Recipe) -> Iterable[str]:
    asked = {"validation": recipe.splits.validation, "test": recipe.splits.test}
    if not any(asked.values()):
        yield "There is no validation or test split."
    for split, share in asked.items():
        without = [
            domain.name
            for domain in totals.domains
            if domain.total.documents and split not in domain.written
        ]
        if share and without:
            yield f"The {split} split has no document of {_listed(map(one_line, without))}."


def _repeats(totals: Survey) -> Iterable[str]:
    repeated = [
        f"{one_line(domain.name)} ({domain.epochs:g} times)"
        for domain in totals.domains
        if domain.epochs > 1
    ]
    if repeated:
        yield f"Documents are repeated, as the mixture asks, of {_listed(repeated)}."


def _of(part: Amount, totals: Survey) -> str:
    share = readable_share(part.bytes, totals.total.bytes)
    return (
        f"{readable_count(part.documents)} documents, {readable_size(part.bytes)} "
        f"({share} of the text)"
    )


def _sum(amounts: dict[str, Amount], wanted: Callable[[str], bool]) -> Amount:
    return sum((amount for name, amount in amounts.items() if wanted(name)), Amount())


def _listed(names: Iterable[str], of: int = 0) -> str:
    """Names in a sentence, up to a limit."""
    listed = list(names)
    if of > 1 and len(listed) == of:
        return f"all {of} domains"
    if len(listed) > _NAMED:
        return f"{', '.join(listed[:_NAMED])} and {len(listed) - _NAMED} more"
    return ", ".join(listed[:-1]) + " and " + listed[-1] if len(listed) > 1 else listed[0]
