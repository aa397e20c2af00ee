"""PILE-9: EuroParl."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.europarl import EuroParl
from barrow.corpus.readers.reader import Reject

Save = Callable[..., Path]
LONG = "Honourable Members, the fishing of herring in these waters must be discussed again. " * 3
LONG = LONG.strip()
TAGGED = f"""<CHAPTER ID="007-17">
17. Herring (vote)
<P>
- Before the vote:
<SPEAKER ID=1 LANGUAGE="DE" NAME="Élodie Dupont " AFFILIATION="PSE">
rapporteur. - Mr President, R&amp;D &lt;3.
<P>
{LONG}
<SPEAKER ID="2" NAME="President">
Thank you<BRK>.
<SPEAKER ID="3" NAME="Élodie Dupont">
Yes.
"""
TAGGED_TEXT = f"""17. Herring (vote)

- Before the vote:

Élodie Dupont
rapporteur. - Mr President, R&D <3.
{LONG}

President
Thank you.

Élodie Dupont
Yes."""
XML = f"""<?xml version='1.0' encoding='utf-8'?>
<text id="20100505.DE" lang="de" date="2010-05-05">
  <section title="1. Eröffnung">
    <intervention role="Der Präsident" name="Jerzy BUZEK">
      <p sl="pl">Ich <i>erkläre</i>
         die Sitzung für eröffnet.</p>
      <a text="(Beifall)"/>
      <p>{LONG}</p>
    </intervention>
    <intervention name="Ann EXAMPLE"><p>R&amp;D.</p></intervention>
  </section>
  <section title="2. Protokoll"/>
</text>
"""
XML_TEXT = f"""1. Eröffnung

Jerzy BUZEK, Der Präsident
Ich erkläre die Sitzung für eröffnet.
(Beifall)
{LONG}

Ann EXAMPLE
R&D.

2. Protokoll"""


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(data: str | bytes, name: str = "chapter.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return save


def test_tagged_text(save: Save) -> None:
    [document] = EuroParl().read(save(TAGGED, "txt/en/ep-96-11-14.txt"))
    meta = {"title": "17. Herring (vote)", "date": "1996-11-14", "language": "en", "speakers": 2}
    assert document == Document(TAGGED_TEXT, meta)
    [document] = EuroParl().read(save(TAGGED.replace("\n", "\r\n")))
    assert isinstance(document, Document)
    assert document.text == TAGGED_TEXT


def test_xml(save: Save) -> None:
    [document] = EuroParl().read(save(XML, "x.xml"))
    meta = {"title": "1. Eröffnung", "date": "2010-05-05", "language": "de", "speakers": 2}
    assert document == Document(XML_TEXT, meta)


def test_plain_minutes(save: Save) -> None:
    heading = "14. Draft general budget for\n2007 (debate)"
    text = f"{heading}\n\n\n   Item  1 \n{LONG}\n"
    [document] = EuroParl().read(save(text, "min-2006-10-24-ch014-00.txt"))
    meta = {"title": "14. Draft general budget for 2007 (debate)", "date": "2006-10-24"}
    assert document == Document(f"{heading}\n\n   Item  1\n{LONG}", meta)


@pytest.mark.parametrize(
    ("name", "date", "language"),
    [
        ("en/ep-00-01-17.txt", "2000-01-17", "en"),
        ("en/ep-11-01-17-003.txt", "2011-01-17", "en"),
        ("20100707.FR.txt", "2010-07-07", "fr"),
        ("europarl-pl/ep-2008-01-17-ch011-03.txt", "2008-01-17", "pl"),
        ("sitting-sv.txt", None, "sv"),
        ("xx/ep-99-13-45.txt", None, None),
    ],
)
def test_what_the_path_says(save: Save, name: str, date: str, language: str) -> None:
    [document] = EuroParl().read(save(TAGGED, name))
    assert isinstance(document, Document)
    assert (document.meta.get("date"), document.meta.get("language")) == (date, language)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_encodings(save: Save, encoding: str) -> None:
    speech = (
        "Monsieur le Président, la pêche au hareng a été évoquée à plusieurs reprises.\n"
        "Les députés européens ont déjà débattu de la forêt, de l'été et de la santé ; il est\n"
        "nécessaire que la Commission présente enfin une stratégie cohérente à l'Assemblée."
    )
    [document] = EuroParl().read(
        save(f"<SPEAKER ID=1 NAME='Le Président'>\n{speech}\n".encode(encoding))
    )
    assert isinstance(document, Document)
    assert document.text.endswith(speech)


def reasons(path: Path, **options: int) -> list[str]:
    items = EuroParl(**options).read(path)
    return [item.reason if isinstance(item, Reject) else "" for item in items]


def test_bad_files(save: Save, tmp_path: Path) -> None:
    assert reasons(tmp_path) == ["not-a-file"]
    assert reasons(tmp_path / "none") == ["unreadable"]
    assert reasons(save("")) == ["empty"]
    assert reasons(save("\n \n")) == ["too-short"]
    assert reasons(save("x" * 199)) == ["too-short"]
    assert reasons(save("x" * 200)) == [""]
    assert reasons(save("<CHAPTER ID=1>\n" + "x" * 199)) == ["too-short"]
    assert reasons(save("short"), min_characters=5) == [""]
    assert reasons(save(bytes(range(32)) * 50)) in (["not-text"], ["unknown-encoding"])
    assert reasons(save(TAGGED), max_bytes=10) == ["too-large"]
    assert reasons(save(TAGGED, os.fsdecode(b"caf\xe9.txt"))) == [""]


def test_damaged_xml_keeps_what_precedes(save: Save) -> None:
    document, reject = EuroParl().read(save(XML[: XML.index('<section title="2')] + "</wrong>"))
    assert isinstance(document, Document)
    assert document.text == XML_TEXT.removesuffix("\n\n2. Protokoll")
    assert isinstance(reject, Reject)
    assert reject.reason == "bad-xml"
    assert reasons(save("<text>" * 10_000)) == ["bad-xml"]
    assert reasons(save('<!DOCTYPE t [<!ENTITY a "a">]><text>&a;</text>')) == ["bad-xml"]


def check(path: Path) -> None:
    items = list(EuroParl(min_characters=1).read(path))
    assert items
    assert items == list(EuroParl(min_characters=1).read(path))
    for item in items:
        assert isinstance(item, Document | Reject)
        texts = [item.text, str(item.meta)] if isinstance(item, Document) else []
        texts += [item.cause, item.excerpt] if isinstance(item, Reject) else []
        for text in texts:
            text.encode()


@given(data=st.binary(max_size=300), start=st.sampled_from([b"", b"<text>", b"<CHAPTER ID=1>\n"]))
def test_any_bytes(save: Save, data: bytes, start: bytes) -> None:
    check(save(start + data))


@given(seed=st.integers(0, 1 << 30))
def test_mutated_files(save: Save, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(rng.choice([TAGGED, XML]).encode())
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(3)] = rng.choices(b'\0\n\r<>/&;=" \xc3\xff', k=2)
    check(save(bytes(data)))


def test_the_reader() -> None:
    assert EuroParl.extractor == "europarl/2"
