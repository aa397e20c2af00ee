from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from barrow.corpus import Domain, Epub, PlainText, Recipe
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.length import Length
from barrow.corpus.mixture import Mixture, Splits
from barrow.corpus.recipe import Decontamination


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two domains of plain text, with a file nobody reads, a link, and an empty file."""
    root = tmp_path / "raw"
    for domain, num in (("letters", 30), ("notes", 12)):
        (root / domain / "deep").mkdir(parents=True)
        for n in range(num):
            name = f"deep/{n:02d}.txt" if n % 3 else f"{n:02d}.txt"
            (root / domain / name).write_text(f"{domain} number {n}. " * (n + 1))
    (root / "letters" / "empty.txt").touch()
    (root / "letters" / "picture.png").write_bytes(b"\x89PNG")
    (root / "letters" / "link.txt").symlink_to(root / "notes" / "00.txt")
    return root


@pytest.fixture
def recipe() -> Recipe:
    return Recipe(
        name="test",
        domains={
            "letters": Domain("Letters", PlainText(), licence="CC0-1.0", retrieved="2024-05-06"),
            "notes": Domain("Notes", PlainText(), language="en"),
        },
        shard_size=5_000,
    )


# PDF ----------------------------------------------------------------------------------------------

SECRET = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def placed(text: str, x: float, y: float, *, size: float = 10, font: str = "F1") -> str:
    """One line of text for the content of a page. Letters of F1 are 0.6 of their size wide."""
    shown = text.encode("cp1252").hex()
    return f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm <{shown}> Tj ET\n"


def rc4(key: bytes, data: bytes) -> bytes:
    state, j, out = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def write_pdf(
    pages: Sequence[str | bytes],
    *,
    info: str = "",
    catalog: str = "",
    font: str = "/Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding",
    page: str = "",
    stream: str = "",
    password: bytes | None = None,
    extra: Sequence[bytes] = (),
) -> bytes:
    """A PDF with pages of 612 by 792 points; objects from number 10 on are those in `extra`."""
    identity = b"0123456789abcdef"
    owner = rc4(hashlib.md5(SECRET).digest()[:5], ((password or b"") + SECRET)[:32])
    permissions = b"\xfc\xff\xff\xff"
    key = hashlib.md5(((password or b"") + SECRET)[:32] + owner + permissions + identity)
    first = 10 + len(extra)
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    objects: dict[int, bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        3: f"<< {font} >>".encode(),
        4: f"<< {info} >>".encode(),
        5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
        **{10 + n: data for n, data in enumerate(extra)},
    }
    trailer = "/Root 1 0 R /Info 4 0 R"
    if password is not None:
        user = rc4(key.digest()[:5], SECRET)
        objects[6] = (
            f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{owner.hex()}> /U <{user.hex()}> >>".encode()
        )
        trailer += f" /Encrypt 6 0 R /ID [<{identity.hex()}> <{identity.hex()}>]"
    for n, content in enumerate(pages):
        number = first + 2 * n
        data = content.encode() if isinstance(content, str) else content
        if password is not None:
            salt = (number + 1).to_bytes(3, "little") + b"\0\0"
            data = rc4(hashlib.md5(key.digest()[:5] + salt).digest()[:10], data)
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R "
            f"/Resources << /Font << /F1 3 0 R /F2 5 0 R >> >> {page} >>"
        ).encode()
        length = f"<< /Length {len(data)} {stream} >>\nstream\n".encode()
        objects[number + 1] = length + data + b"\nendstream"
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(out)
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    at = len(out)
    size = max(objects) + 1
    rows = [
        f"{offsets[n]:010d} 00000 n \n" if n in offsets else "0000000000 65535 f \n"
        for n in range(size)
    ]
    out += f"xref\n0 {size}\n{''.join(rows)}trailer\n<< /Size {size} {trailer} >>\n".encode()
    return bytes(out + f"startxref\n{at}\n%%EOF\n".encode())


@pytest.fixture(name="placed")
def placed_fixture() -> Callable[..., str]:
    return placed


@pytest.fixture(name="write_pdf")
def write_pdf_fixture() -> Callable[..., bytes]:
    return write_pdf


# Manifests ----------------------------------------------------------------------------------------


def told_split(**domains: tuple[int, int]) -> dict[str, Any]:
    """A split of a manifest: documents of so many bytes each, by domain."""
    return {
        "shards": [
            {
                "name": f"0000{k}-abcdef01.jsonl.zst",
                "documents": sum(n for n, _ in domains.values()),
                "bytes": 1_000 + k,
                "content_bytes": 5_000 + k,
                "xxh64": "0" * 16,
                "sha256": hashlib.sha256(repr(domains).encode()).hexdigest(),
            }
            for k in range(1)
        ],
        "domains": {
            name: {
                "documents": number,
                "bytes": number * each,
                "licences": {
                    "CC0-1.0": {"documents": number - 1, "bytes": (number - 1) * each},
                    "None": {"documents": 1, "bytes": each},
                },
                "languages": {"en": {"documents": number, "bytes": number * each}},
                "lengths": {str(each.bit_length()): {"documents": number, "bytes": number * each}},
            }
            for name, (number, each) in domains.items()
        },
    }


def told_domain(read: int, each: int, kept: int, **costs: dict[str, int]) -> dict[str, Any]:
    """A domain in the stages of a manifest; `costs` are reasons by stage."""
    filtered = read - sum(costs.get("filter", {}).values())
    return {
        "documents": read,
        "bytes": read * each,
        "filter": {
            "documents": filtered,
            "bytes": filtered * each,
            "changed": 2,
            "rejects": costs.get("filter", {}),
            "found": costs.get("found", {}),
            "matches": costs.get("matches", {}),
        },
        "deduplicate": {
            "documents": kept,
            "bytes": kept * each,
            "rejects": costs.get("deduplicate", {}),
        },
        "mix": {"epochs": 1.5, "rejects": costs.get("mix", {})},
    }


def told_reading(name: str, documents: int, each: int, **rejects: int) -> dict[str, Any]:
    """A folder in the reading of a manifest."""
    return {
        "name": name,
        "extractor": "plain_text/2",
        "files": documents + 3,
        "documents": documents,
        "bytes": documents * each,
        "rejects": {reason.replace("_", "-"): number for reason, number in rejects.items()},
        "unread_files": 2,
        "unread_examples": ["letters/a.png", "letters/b|c`d.png"],
    }


@pytest.fixture
def told_manifest() -> dict[str, Any]:
    """Two domains, the first read from two folders, the second with two copies of every document.

    Letters: 100 read and 30 rejects; filters drop 10, duplicates are 20, the mixture leaves out 5.
    """
    return {
        "recipe": "made-up",
        "version": 3,
        "barrow": "0.1.0",
        "missing": {"books": "no files that the reader 'epub' reads"},
        "reading": {
            "letters": told_reading("Letters", 60, 1_000, empty=20, not_text=5),
            "more_letters": told_reading("Letters", 40, 1_000, empty=5),
            "notes": told_reading("Notes", 10, 50),
        },
        "stages": {
            "Letters": told_domain(
                100,
                1_000,
                70,
                filter={"too-few-bytes": 8, "contaminated": 2},
                deduplicate={"duplicate": 15, "near-duplicate": 5},
                mix={"not-drawn": 5},
                found={"email": 12, "ip": 3, "mojibake": 7},
                matches={"quiz.jsonl": 2},
            ),
            "Notes": told_domain(10, 50, 10),
        },
        "splits": {
            "train": told_split(Letters=(60, 1_000), Notes=(20, 50)),
            "validation": told_split(Letters=(2, 1_000)),
            "test": told_split(Letters=(3, 1_000)),
        },
    }


@pytest.fixture
def told_recipe() -> Recipe:
    """The recipe of `told_manifest`."""
    return Recipe(
        name="made-up",
        domains={
            "letters": Domain("Letters", PlainText(), filters=(Length(20),)),
            "more_letters": Domain("Letters", PlainText(), retrieved="2024-05-06"),
            "notes": Domain("Notes", PlainText()),
            "books": Domain("Books", Epub()),
        },
        deduplication=Deduplication(against=("/somewhere/else/older",)),
        decontamination=Decontamination(sets=("/somewhere/quiz.jsonl",)),
        splits=Splits(0.03, 0.04),
        mixture=Mixture(by="epochs"),
    )


@pytest.fixture
def empty_manifest() -> dict[str, Any]:
    """A corpus of which nothing is left."""
    split = {"shards": [], "domains": {}}
    told = {"recipe": "nothing", "version": 1, "barrow": "0.1.0", "missing": {}}
    return {**told, "reading": {}, "stages": {}, "splits": {"train": split}}


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</pre></details></style><b>",
    "[a](javascript:alert(1)) `b` **c** | d",
    "http://example.org www.example.org a@example.org",
    "\x00\x07\x1b[31m \x85\x9f\ud800",
    "\u202eright to left\u2066 \u05e9\u05dc\u05d5\u05dd",
    "W" * 5_000,
    "line\r\nline\rline\n\n# heading\n- item",
    "&lt;&amp;\\|",
    "",
]


@pytest.fixture(params=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> str:
    """Names and texts that try something."""
    return HOSTILE[request.param]


class Page(HTMLParser):
    """A page of HTML, checked as it is read: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.tables: dict[str, list[list[str]]] = {}
        self._cell = self._caption = self._value = ""
        self._rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        told = {key: value or "" for key, value in attributes}
        self.attributes += [(tag, key, value) for key, value in told.items()]
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell = self._value = ""
        elif tag == "data":
            self._value = told["value"]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in ("meta", "br")
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self._rows[-1].append(self._value or self._cell)
        elif tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        self.text += "" if "style" in self.open else data
        self._cell += data
        if "caption" in self.open:
            self._caption += data


@pytest.fixture
def read_page() -> Callable[[str], Page]:
    return Page


@pytest.fixture
def with_names() -> Callable[[dict[str, Any], str], dict[str, Any]]:
    """Write a name wherever a manifest has one that comes from outside."""

    def change(manifest: dict[str, Any], text: str) -> dict[str, Any]:
        told = json.loads(json.dumps(manifest))
        for reading in told["reading"].values():
            reading["name"] = text if reading["name"] == "Letters" else reading["name"]
            reading["unread_examples"] = [text]
            reading["rejects"] = {text: 5}
        told["missing"] = {text: text}
        told["recipe"] = text
        told["stages"][text] = told["stages"].pop("Letters")
        for kind in ("rejects", "found", "matches"):
            told["stages"][text]["filter"][kind] = {text: 10}
        told["stages"][text]["filter"]["found"]["email"] = 1
        for split in told["splits"].values():
            domain = split["domains"][text] = split["domains"].pop("Letters")
            for kind in ("licences", "languages"):
                domain[kind] = {text: {"documents": 1, "bytes": 1}}
        return told

    return change
