"""Evaluation data is found in documents however it was typed (PILE-12)."""

from __future__ import annotations

import json
import random
import re
import tempfile
import textwrap
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.build.decontaminate import (
    Item,
    Match,
    find_matches,
    load_index,
    ngram_index,
    read_items,
    save_index,
)
from barrow.errors import ConfigError

LEAK = (
    "It isn’t the well-known baker’s naïve daughter, said Zoë, who crossed the river at dawn; "
    "nobody else could have known where the old bridge had been before the flood of 1953."
)


def texts(*texts: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return np.frombuffer(b"".join(data), np.uint8), offsets


def padding(seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(
        rng.choices(
            ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "elit", "sed", "do"], k=60
        )
    )


ROOT = Path(__file__).parents[3]
WORDS = str.split(
    "the of and a to in is was he for it with as his on be at by had not are but from or have an "
    "they which one you were her all she there would their we him been has when who will more no "
    "if out so said what up its about into than them can only other new some could time these two "
    "may then do first any my now such like our over man me even most made after also did many "
    "before must through back years where much your way well down should because each just those "
    "people how too little state good very make world still own see men work long get here between "
    "both life being under never day same another know while last might us great old year off come "
    "don't won't it's isn't they're baker's naïve café Zoë state-of-the-art well-known twenty-one "
    "1,000,000 1953 COVID-19 3.5 examination international misunderstanding"
)
ARABIC = str.split(
    "كان الولد يلعب في الحديقة عندما سمع صوت الطائر الجميل فوق الشجرة الكبيرة ثم ركض إلى البيت "
    "وقال لأمه إنه رأى طائرا لم يره من قبل في حياته كلها فابتسمت الأم وسألته عن لونه وشكله"
)


def passage(seed: int) -> list[str]:
    """60 words, with marks after some of them."""
    rng = random.Random(seed)
    return [word + rng.choice(("", "", "", "", ",", ";", ".")) for word in rng.choices(WORDS, k=60)]


def each(change: Callable[[str], str], every: int = 1) -> Callable[[str], str]:
    """Change every so many words."""
    return lambda text: " ".join(
        change(word) if k % every == every // 2 else word for k, word in enumerate(text.split(" "))
    )


def inside(mark: str, word: str) -> str:
    """A mark after the third letter of long words."""
    return word[:3] + mark + word[3:] if len(word) > 5 else word


def numbered(text: str) -> str:
    lines = textwrap.wrap(text, 30)
    return "\n".join(f"{k:3} {line}" for k, line in enumerate(lines, 41))


LOOK_ALIKES = str.maketrans("aceopxyijs", "асеорхуіјѕ")

# The rows of the table in docs/stages/decontamination.md.
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "wrapped at 20 columns": lambda text: textwrap.fill(text, 20),
    "one word a line": lambda text: "\n".join(text.split()),
    "all capitals": str.upper,
    "all small letters": str.lower,
    "accents decomposed": lambda text: unicodedata.normalize("NFD", text),
    "accents dropped": lambda text: "".join(
        c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
    ),
    "wide letters": lambda text: "".join(
        chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text
    ),
    "all marks dropped": lambda text: re.sub(r"[^\w\s]", "", text),
    "all marks as blanks": lambda text: re.sub(r"[^\w\s]", " ", text),
    "other marks": lambda text: re.sub(r"[,;.]", " — ", text),
    "curly apostrophes": lambda text: text.replace("'", "’"),
    "apostrophes dropped": lambda text: text.replace("'", ""),
    "hyphens as blanks": lambda text: text.replace("-", " "),
    "hyphens dropped": lambda text: text.replace("-", ""),
    "thousands without commas": lambda text: text.replace("1,000,000", "1000000"),
    "words broken at line ends": lambda text: re.sub(r"(\w{3})(\w{3})", r"\1-\n\2", text),
    "markup inside words": each(lambda word: f"**{word[:2]}**{word[2:]}"),
    "emphasis": each(lambda word: f"_{word}_", 3),
    "footnotes: word1": each(lambda word: f"{word}7", 5),
    "footnotes: word¹": each(lambda word: f"{word}³", 5),
    "footnotes: word[1]": each(lambda word: f"{word}[12]", 5),
    "line numbers": numbered,
    "&nbsp; for blanks": lambda text: text.replace(" ", "&nbsp;"),
    "&#39; for apostrophes": lambda text: text.replace("'", "&#39;"),
    "zero-width spaces for blanks": lambda text: text.replace(" ", "\u200b"),
    "zero-width spaces in words": each(lambda word: inside("\u200b", word)),
    "soft hyphens in words": each(lambda word: inside("\u00ad", word)),
    "dotless ı for i": lambda text: text.replace("i", "ı"),
    "Cyrillic look-alikes": lambda text: text.translate(LOOK_ALIKES),
    "every sixth blank dropped": lambda text: re.sub(r"((?:\S+ ){5}\S+) ", r"\1", text),
    "tatweel (Arabic)": each(lambda word: word[:1] + "\u0640" + word[1:]),
    "tags inside words": each(lambda word: f"<b>{word[:2]}</b>{word[2:]}"),
    "0 for o": lambda text: text.replace("o", "0"),
    "a word added after every tenth": each(lambda word: f"{word} indeed", 10),
    "every tenth word another": each(lambda word: "indeed", 10),
}


def recall(form: str, size: int, number: int = 40) -> float:
    """Of leaks of `size` words, each from a passage of 60, the share that is found."""
    passages = [
        [*rng.sample(ARABIC, k=30), *rng.sample(ARABIC, k=30)] if "Arabic" in form else passage(k)
        for k, rng in enumerate(map(random.Random, range(number)))
    ]
    index = ngram_index([Item("set", k, " ".join(words)) for k, words in enumerate(passages)])
    documents = [
        f"{padding(k)}\n{FORMS[form](' '.join(words[k % 20 : k % 20 + size]))}\n{padding(k + 1)}"
        for k, words in enumerate(passages)
    ]
    found = {(match.document, match.number) for match in find_matches(*texts(*documents), index)}
    assert all(document == item for document, item in found)
    return len(found) / number


def documented() -> dict[str, tuple[str, str]]:
    page = (ROOT / "docs" / "stages" / "decontamination.md").read_text()
    rows = re.findall(r"^\| ([^|]+?) \| (\d+%) \| (\d+%) \|$", page, re.MULTILINE)
    return {form: (thirteen, forty) for form, thirteen, forty in rows}


def test_the_page_names_every_form() -> None:
    assert list(documented()) == list(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_recall_is_what_the_page_says(form: str) -> None:
    assert documented()[form] == (f"{recall(form, 13):.0%}", f"{recall(form, 40):.0%}")


@pytest.mark.parametrize("form", list(FORMS)[:15])
def test_any_wrapping_case_and_marks_are_found(form: str) -> None:
    assert documented()[form] == ("100%", "100%")


def test_a_leak_is_found_in_its_document_alone() -> None:
    index = ngram_index([Item("quiz", 3, LEAK), Item("quiz", 4, padding(9))])
    document = f"{padding(1)}\n{LEAK.upper()}\n{padding(2)}"
    assert [
        (m.document, m.name, m.number) for m in find_matches(*texts(padding(5), document), index)
    ] == [(1, "quiz", 3)]


def test_nothing_is_found_in_unrelated_texts() -> None:
    """Passages of the same hundred and fifty words, in another order; also without their gaps."""
    index = ngram_index([Item("set", k, " ".join(passage(k))) for k in range(300)])
    others = [" ".join(passage(k)) for k in range(1_000, 1_300)]
    assert find_matches(*texts(*others, *(text.replace(" ", "") for text in others)), index) == []
    numbers = [" ".join(str(random.Random(k).random())[2:14]) for k in range(300)]
    index = ngram_index(
        [Item("set", k, f"pi {text} or so {text[::-1]}") for k, text in enumerate(numbers)]
    )
    others = [" ".join(str(random.Random(k).random())[2:14]) for k in range(900, 1_200)]
    assert find_matches(*texts(*(f"pi {text} or so {text}" for text in others)), index) == []


def test_numbers_in_a_row() -> None:
    numbers = [str(random.Random(k).randrange(10**4)) for k in range(40)]
    index = ngram_index([Item("set", 0, " ".join(numbers))])
    run = numbers[10:23]
    assert find_matches(*texts(f"see {', '.join(run)} there"), index)
    assert find_matches(*texts(f"see {'; '.join([*run[:6], '77', *run[7:]])} there"), index) == []
    assert find_matches(*texts(" ".join(run[:-1])), index) == []


def test_a_question_with_any_of_its_answers() -> None:
    """Also where the right one is not the first, and comes before the question in the record."""
    answers = ["a small grey mouse", "the old baker of Leiden", "nobody at all did", "both of them"]
    question = "Who was it that crossed the river at dawn"
    for record in (
        {"question": question, "choices": answers, "answer": 1},
        {"distractor": answers[0], "correct": answers[1], "question": question},
        {"q": question, "choices": {"text": answers, "label": ["A", "B", "C", "D"]}},
    ):
        (item,) = items_of(record)
        index = ngram_index([item])
        for answer in answers[:2]:
            document = texts(f"{padding(1)} {question}? {answer}. {padding(2)}")
            assert find_matches(*document, index), (record, answer)
        assert find_matches(*texts(f"{question}? The mayor and his wife."), index) == []


def items_of(record: object) -> list[Item]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.jsonl"
        path.write_text(json.dumps(record))
        return list(read_items(path))


def test_twelve_words_are_not_thirteen() -> None:
    twelve, thirteen = " ".join(LEAK.split()[:9]), " ".join(LEAK.split()[:13])
    index = ngram_index([Item("quiz", 0, LEAK)])
    # Twelve, as it isn t, well known and baker s are two each.
    assert find_matches(*texts(twelve), index) == []
    assert find_matches(*texts(thirteen), index)


def test_matches_are_counted_by_item() -> None:
    first, second = " ".join(f"a{k}" for k in range(20)), " ".join(f"b{k}" for k in range(14))
    index = ngram_index([Item("x", 0, first), Item("y", 7, second), Item("z", 1, "too short")])
    assert index.num_too_short == 1
    found = find_matches(*texts("", f"{second} and {first}", "nothing"), index)
    assert found == [Match(1, "x", 0, 8), Match(1, "y", 7, 2)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 15), st.integers(0, 80))
def test_found_if_and_only_if_there(seed: int, ngram: int, size: int) -> None:
    rng = random.Random(seed)
    items = [[rng.choice("abcde") + str(rng.randint(0, 3)) for _ in range(size)] for _ in range(3)]
    document = [rng.choice("abcde") + str(rng.randint(0, 3)) for _ in range(60)]
    grams = {tuple(item[k : k + ngram]) for item in items for k in range(len(item) - ngram + 1)}
    expected = any(tuple(document[k : k + ngram]) in grams for k in range(60 - ngram + 1))
    index = ngram_index([Item("s", k, " ".join(item)) for k, item in enumerate(items)], ngram=ngram)
    assert bool(find_matches(*texts(" ".join(document)), index)) == expected


def test_sets_of_every_kind(tmp_path: Path) -> None:
    records = [{"q": "one two", "choices": ["three", {"x": "four"}], "n": 5}, {"q": ""}]
    lines = "\n".join(json.dumps(record) for record in records)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(lines.encode()))
    (tmp_path / "c.txt").write_text("one\ntwo\n\nthree\n")
    expected = ["one two\nthree\nfour", ""]
    assert [item.text for item in read_items(tmp_path / "a.jsonl")] == expected
    assert [item.text for item in read_items(tmp_path / "b.jsonl.zst")] == expected
    assert [item.text for item in read_items(tmp_path / "c.txt")] == ["one\ntwo", "three\n"]


def test_bad_sets(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"q": "fine"}\n{"q": \n')
    with pytest.raises(ConfigError, match="a.jsonl, line 2"):
        list(read_items(tmp_path / "a.jsonl"))
    (tmp_path / "b.jsonl").write_text("")
    with pytest.raises(ConfigError, match="the file is empty"):
        list(read_items(tmp_path / "b.jsonl"))
    with pytest.raises(ConfigError, match="ngram must be ≥ 1, got 0"):
        ngram_index([], ngram=0)


def test_an_empty_index_finds_nothing() -> None:
    assert find_matches(*texts(LEAK, "", "x"), ngram_index([])) == []


def test_an_index_is_saved_and_read_back(tmp_path: Path) -> None:
    index = ngram_index([Item("quiz", 3, LEAK), Item("quiz", 4, "short")], ngram=5)
    save_index(index, tmp_path / "i.safetensors")
    again = load_index(tmp_path / "i.safetensors")
    assert find_matches(*texts(LEAK), again) == find_matches(*texts(LEAK), index) != []
    assert (again.ngram, again.num_too_short, again.items) == (5, 1, [("quiz", 3)])
