"""The USPTO reader beside the pipelines people write by hand, on the same patents, in one run.

    python benchmarks/bench_uspto.py [--data FOLDER] [--mb 12] [--passes 3]

A week of XML and a week of the Greenbook, each written into one file: patents made up here, or
those of a folder, repeated to the wanted size. Peers are what is commonly done: split the week at
``<?xml``, parse each patent with BeautifulSoup (``lxml``, or ``html.parser``) or ElementTree, and
take the text between a heading with background and the next with summary, drawings or
detailed; for the Greenbook a loop over its lines. They resolve no codes, drop no tables, and stop
at the first broken patent. Speeds are MB (10^6 bytes) of input a second of CPU time, best of
several passes.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import tempfile
import time
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

from barrow import Document
from barrow.corpus.readers.uspto.reader import Uspto

WORDS = re.findall(
    r"\w+",
    "the of a said pump valve housing wherein first second member device system is to and in for "
    "with fluid pressure known which that signal circuit invention provided by from surface layer",
)
ENDS = ("summary", "drawing", "detailed", "object")
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*(?:\[[^\]]*\])?\s*>")


# Data ---------------------------------------------------------------------------------------------


def sentences(rng: random.Random, *, marked: bool) -> str:
    words = rng.choices(WORDS, k=rng.randint(60, 160))
    if marked:
        for at in range(0, len(words), 15):
            words[at] = f"{words[at]} <b>{at}</b>"
    return " ".join(words).capitalize() + "."


def made_grant(rng: random.Random, number: int) -> str:
    cited = "".join(
        f'<us-citation><patcit num="{k}"><document-id><country>US</country><doc-number>{k}'
        "</doc-number><kind>A</kind><name>Barrow</name><date>19930400</date></document-id></patcit>"
        "<category>cited by examiner</category></us-citation>"
        for k in range(30)
    )

    def paragraphs(count: int) -> str:
        return "\n".join(f"<p>{sentences(rng, marked=True)}</p>" for _ in range(count))

    return (
        f'{DECLARATION}<!DOCTYPE us-patent-grant SYSTEM "us-patent-grant-v45-2014-04-03.dtd" [ ]>\n'
        '<us-patent-grant lang="EN"><us-bibliographic-data-grant><publication-reference>'
        f"<document-id><country>US</country><doc-number>{number:08}</doc-number><kind>B2</kind><date>20150106"
        "</date></document-id></publication-reference><invention-title>Pump</invention-title>"
        f"<us-references-cited>{cited}</us-references-cited></us-bibliographic-data-grant>"
        f"<abstract>{paragraphs(1)}</abstract><description><heading>BACKGROUND</heading>"
        f"{paragraphs(5)}<heading>SUMMARY</heading>{paragraphs(6)}<description-of-drawings>"
        f"{paragraphs(2)}</description-of-drawings><heading>DETAILED DESCRIPTION</heading>"
        f"{paragraphs(35)}</description><claims>{paragraphs(8)}</claims></us-patent-grant>\n"
    )


def made_greenbook(rng: random.Random, number: int) -> str:
    def paragraphs(count: int) -> str:
        lines = []
        for _ in range(count):
            text = sentences(rng, marked=False)
            lines += [
                f"PAR  {text[:70]}",
                *(f"      {text[k : k + 70]}" for k in range(70, len(text), 70)),
            ]
        return "\n".join(lines)

    return (
        f"PATN\nWKU  {number:08}4\nTTL  Pump\nISD  19760210\nABST\n{paragraphs(1)}\nBSUM\n"
        f"PAC  BACKGROUND OF THE INVENTION\n{paragraphs(5)}\nPAC  SUMMARY OF THE INVENTION\n"
        f"{paragraphs(6)}\nDRWD\n{paragraphs(2)}\nDETD\nPAC  DETAILED DESCRIPTION\n"
        f"{paragraphs(35)}\nCLMS\n{paragraphs(8)}\n"
    )


def weeks(folder: Path | None, size: int) -> dict[str, str]:
    """A week in XML and one in the Greenbook."""
    rng = random.Random(0)
    if folder is None:
        xml = [made_grant(rng, number) for number in range(1, 60)]
        lines = [made_greenbook(rng, number) for number in range(1, 60)]
    else:
        texts = [
            path.read_text("utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in (".xml", ".greenbook", ".txt")
        ]
        xml = [text for text in texts if "<us-patent-" in text[:1000]]
        lines = [text for text in texts if text.startswith("PATN")]
    found = {"XML, us-patent-…": "".join(xml), "Greenbook": "".join(lines)}
    return {name: week * max(1, size // len(week)) for name, week in found.items() if week}


# Peers --------------------------------------------------------------------------------------------


def between(blocks: list[tuple[bool, str]]) -> str:
    """What follows a heading of a background, up to one of what comes next."""
    kept: list[str] = []
    is_open = False
    for is_heading, text in blocks:
        if is_heading:
            lower = text.lower()
            if is_open and any(end in lower for end in ENDS):
                break
            is_open = is_open or "background" in lower or "related art" in lower
        elif is_open:
            kept.append(text)
    return "\n".join(kept)


def documents_of(week: Path) -> list[str]:
    return [DECLARATION + part for part in week.read_text("utf-8").split(DECLARATION)[1:]]


def with_soup(week: Path, features: str) -> int:
    count = 0
    for text in documents_of(week):
        soup = BeautifulSoup(text, features)
        blocks = [
            (tag.name == "heading", tag.get_text()) for tag in soup.find_all(["heading", "p"])
        ]
        count += bool(between(blocks))
    return count


def with_element_tree(week: Path) -> int:
    count = 0
    for text in documents_of(week):
        root = ElementTree.fromstring(DOCTYPE.sub("", text).encode())
        blocks = [
            (element.tag == "heading", "".join(element.itertext()))
            for element in root.iter()
            if element.tag in ("heading", "p")
        ]
        count += bool(between(blocks))
    return count


def with_lines(week: Path) -> int:
    count = 0
    blocks: list[tuple[bool, str]] = []
    with week.open(encoding="latin-1") as file:
        for line in file:
            tag = line[:4].rstrip()
            if tag == "PATN":
                count += bool(between(blocks))
                blocks = []
            elif tag in ("PAC", "PAR", "PA1"):
                blocks.append((tag == "PAC", line[5:].strip()))
            elif not tag and blocks:
                is_heading, text = blocks[-1]
                blocks[-1] = (is_heading, f"{text} {line.strip()}")
    return count + bool(between(blocks))


def with_barrow(week: Path) -> int:
    return sum(isinstance(item, Document) for item in Uspto().read(week))


def with_barrow_all(week: Path) -> int:
    return sum(isinstance(item, Document) for item in Uspto(section="all").read(week))


# Figures ------------------------------------------------------------------------------------------


def best(run: Callable[[Path], int], week: Path, passes: int) -> tuple[float, int]:
    seconds, count = float("inf"), 0
    for _ in range(passes):
        start = time.process_time()
        count = run(week)
        seconds = min(seconds, time.process_time() - start)
    return seconds, count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder of patents, one a file")
    parser.add_argument("--mb", type=float, default=12)
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=XMLParsedAsHTMLWarning)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ours: list[tuple[str, Callable[[Path], int]]] = [
        ("barrow, background", with_barrow),
        ("barrow, section='all'", with_barrow_all),
    ]
    peers: dict[str, list[tuple[str, Callable[[Path], int]]]] = {
        "XML, us-patent-…": [
            ("ElementTree", with_element_tree),
            ("BeautifulSoup, lxml", lambda week: with_soup(week, "lxml")),
            ("BeautifulSoup, html.parser", lambda week: with_soup(week, "html.parser")),
        ],
        "Greenbook": [("loop over lines", with_lines)],
    }
    print(
        f"Python {platform.python_version()}, beautifulsoup4 {version('beautifulsoup4')}, ", end=""
    )
    print(f"lxml {version('lxml')}, {platform.machine()}\n")
    print("| week | reader | backgrounds | MB/s | time, relative |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in weeks(arguments.data, int(arguments.mb * 1e6)).items():
            week = Path(folder) / "week.txt"
            week.write_text(text, "utf-8")
            base = 0.0
            for reader, run in ours + peers[name]:
                # A pass of the slow ones is long enough to be steady.
                passes = 1 if "Soup" in reader else arguments.passes
                seconds, count = best(run, week, passes)
                base = base or seconds
                speed = week.stat().st_size / seconds / 1e6
                print(f"| {name} | {reader} | {count} | {speed:.1f} | {seconds / base:.1f} |")


if __name__ == "__main__":
    main()
