"""PILE-9: subtitles of films and videos."""

from __future__ import annotations

import gzip
import json
import os
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.reader import Item, Reject
from barrow.corpus.readers.subtitles.reader import OpenSubtitles, YoutubeSubtitles

Save = Callable[..., Path]
SUBRIP = (
    "1\n00:00:09,209 --> 00:00:12,312\n<i>[door</i> closes]\n\n"
    "2\n00:00:58,000 --> 00:01:01,000\n{\\an8}Où est\nle café ?\n\n"
    "3\n00:01:02,000 --> 00:01:03,000\nLà.\n\n"
)
XML = '<?xml version="1.0"?><document><s id="1"><time value="00:00:01,0"/>Là.</s></document>'
JSON3 = json.dumps({"events": [{"tStartMs": 1, "segs": [{"utf8": "Là."}]}]})


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(data: str | bytes, name: str = "film.srt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return save


def film(path: Path) -> Item:
    [item] = OpenSubtitles().read(path)
    return item


def video(path: Path) -> Item:
    [item] = YoutubeSubtitles().read(path)
    return item


def test_a_film_is_lines_and_a_video_minutes(save: Save) -> None:
    path = save(SUBRIP)
    assert film(path) == Document("[door closes]\nOù est\nle café ?\nLà.", {"title": "film"})
    assert video(path) == Document("[door closes]\nOù est\nle café ?\n\nLà.", {"title": "film"})


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (XML, "a.xml"),
        (gzip.compress(XML.encode()), "a.xml.gz"),
        (XML.replace('"?>', '" encoding="iso-8859-1"?>', 1).encode("latin-1"), "a.xml"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000 line:0\nLà.\n", "a.vtt"),
        ("<tt><body><p begin='1s'>L&agrave;.</p></body></tt>", "a.ttml"),
        ("<SAMI><BODY><SYNC Start=1><P>L&agrave;.", "a.smi"),
        ("{1}{20}Là.", "a.sub"),
        (JSON3, "a.json3"),
    ],
)
def test_forms(save: Save, data: str | bytes, name: str) -> None:
    expected = Document("Là.", {"title": "a"})
    path = save(data, name)
    assert film(path) == expected
    assert video(path) == expected
    assert any(path.match(pattern) for pattern in YoutubeSubtitles().patterns)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be", "cp1252"])
def test_encodings(save: Save, encoding: str) -> None:
    speech = (
        "Le présentateur de la télévision régnait en maître à cette époque, et l'on croyait tout\n"
        "ce qu'il disait. Ces événements ont réellement existé, même si les noms ont été changés.\n"
        "Après la guerre, les deux frères décidèrent de s'établir à la campagne, près de la forêt."
    )
    long = SUBRIP + "4\n00:01:05,000 --> 00:01:06,000\n" + speech
    item = film(save(long.encode(encoding)))
    assert isinstance(item, Document)
    assert item.text == "[door closes]\nOù est\nle café ?\nLà.\n" + speech


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        ("chan/2019/windmills/german/auto_generated.srt", ("windmills", "de", "auto_generated")),
        ("chan/vectors/japanese/community_old.srt", ("vectors", "ja", "community")),
        ("chan/zeta/english/captions.srt", ("zeta", "en", "captions")),
        ("A talk.pt-BR.vtt", ("A talk", "pt", None)),
        ("OpenSubtitles/xml/fr/1994/110357/1234.xml", (None, "fr", None)),
        ("en/my film.srt", ("my film", None, None)),
    ],
)
def test_what_the_path_says(save: Save, name: str, meta: tuple[str | None, ...]) -> None:
    item = video(save(SUBRIP, name))
    assert isinstance(item, Document)
    assert tuple(map(item.meta.get, ("title", "language", "kind"))) == meta


def test_rolling_captions_are_machine_made(save: Save) -> None:
    rolling = "WEBVTT\nLanguage: en\n\n00:00.000 --> 00:02.000\n \nso<00:00:00.500><c> far</c>\n\n"
    rolling += "00:02.000 --> 00:02.010\nso far\n \n"
    meta = {"title": "x", "language": "en"}
    assert film(save(rolling, "x.vtt")) == Document("so far", meta)
    assert video(save(rolling, "x.vtt")) == Document("so far", meta | {"kind": "auto_generated"})


def reasons(path: Path, **options: int) -> list[str]:
    items = OpenSubtitles(**options).read(path)
    return [item.reason if isinstance(item, Reject) else "" for item in items]


def test_bad_files(save: Save, tmp_path: Path) -> None:
    assert reasons(tmp_path) == ["not-a-file"]
    assert reasons(tmp_path / "none") == ["unreadable"]
    assert reasons(save("")) == ["empty"]
    assert reasons(save("Just some text.\n")) == ["no-cues"]
    assert reasons(save("1\n00:00:01,0 --> 00:00:02,0\n<i></i>\n")) == ["no-cues"]
    assert reasons(save("Scenarist_SCC V1.0\n")) == ["scenarist"]
    assert reasons(save("{not json")) == ["bad-json"]
    assert reasons(save("<html>")) == ["bad-xml"]
    assert reasons(save(random.Random(0).randbytes(5000))) in (["no-cues"], ["unknown-encoding"])
    assert reasons(save(SUBRIP), max_bytes=10) == ["too-large"]
    item = film(save(SUBRIP, os.fsdecode(b"caf\xe9.srt")))
    assert isinstance(item, Document)
    assert item.meta == {"title": "caf\\xe9"}


def test_packed_files(save: Save) -> None:
    packed = gzip.compress(random.Random(0).randbytes(99).hex().encode() + XML.encode())
    assert reasons(save(packed[:10])) == ["bad-gzip"]
    assert reasons(save(b"\x1f\x8bnot gzip")) == ["bad-gzip"]
    bomb = gzip.compress(b"<document><s>" + b" " * 50_000_000)
    assert len(bomb) < 100_000
    path = save(bomb)
    tracemalloc.start()
    assert reasons(path, max_bytes=1_000_000) == ["too-large"]
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    cut = gzip.compress(SUBRIP.encode() * 500)[:-300]
    document, reject = OpenSubtitles().read(save(cut))
    assert isinstance(document, Document)
    assert document.text.startswith("[door closes]\nOù est")
    assert isinstance(reject, Reject)
    assert reject.reason == "bad-gzip"


def test_damaged_xml_keeps_what_precedes(save: Save) -> None:
    document, reject = OpenSubtitles().read(save("<document><s>kept</s><s>", "x.xml"))
    assert document == Document("kept", {"title": "x"})
    assert isinstance(reject, Reject)
    assert reject.reason == "bad-xml"


def check(path: Path) -> None:
    for reader in (OpenSubtitles(), YoutubeSubtitles()):
        items = list(reader.read(path))
        assert items
        assert items == list(reader.read(path))
        for item in items:
            assert isinstance(item, Document | Reject)
            texts = [item.text, *item.meta.values()] if isinstance(item, Document) else []
            texts += [item.cause, item.excerpt] if isinstance(item, Reject) else []
            for text in texts:
                text.encode()


@given(data=st.binary(max_size=300))
def test_any_bytes(save: Save, data: bytes) -> None:
    check(save(data))


@given(seed=st.integers(0, 1 << 30))
def test_mutated_files(save: Save, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(rng.choice([SUBRIP, XML, JSON3, f"WEBVTT\n\n{SUBRIP}"]).encode())
    if rng.random() < 0.2:
        data = bytearray(gzip.compress(data))
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(3)] = rng.choices(b'\0\n\r<>{}&;:-"\xc3\xff\\', k=2)
    check(save(bytes(data)))


def test_the_readers() -> None:
    assert (OpenSubtitles().extractor, YoutubeSubtitles().extractor) == (
        "opensubtitles/2",
        "youtube_subtitles/2",
    )
