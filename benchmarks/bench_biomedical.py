"""Readers of PubMed Central and PubMed beside pubmed_parser, on the same files, in one run.

    python benchmarks/bench_biomedical.py [--data FOLDER] [--mb 20] [--passes 5] [--memory GB]

Articles: `parse_pubmed_xml` with `parse_pubmed_paragraph` (all paragraphs), which give metadata,
abstract and the text of paragraphs, but neither tables, captions, formulae nor headings; and the
same with `parse_pubmed_caption` and `parse_pubmed_table`, which is nearer to what barrow writes.
Citations: `parse_medline_xml` of a gzipped set. FOLDER holds articles (.nxml, .xml) and sets of
PubmedArticle in .xml, whose citations are repeated to --mb; without it both are made up here.
Speeds are MB (10^6 bytes) of XML per second of processor time, best of several passes. --memory
reads a gzipped set of that many GB and prints the most memory the process had.
"""

from __future__ import annotations

import argparse
import gzip
import platform
import random
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from barrow.corpus import Jats, Medline

WORDS = [
    "the",
    "of",
    "cells",
    "in",
    "were",
    "with",
    "protein",
    "expression",
    "patients",
    "and",
    "mice",
    "after",
    "treatment",
    "dose",
]
RECORD = re.compile(r"<PubmedArticle>.*?</PubmedArticle>", re.DOTALL)


# Data ---------------------------------------------------------------------------------------------


def sentences(rng: random.Random, num: int) -> str:
    made = []
    for _ in range(num):
        words = rng.choices(WORDS, k=rng.randint(10, 25))
        words[3] = f"<italic>{words[3]}</italic>"
        words[7] += f' [<xref ref-type="bibr" rid="b1">{rng.randint(1, 60)}</xref>]'
        made.append(" ".join(words).capitalize() + ".")
    return " ".join(made)


def made_article(rng: random.Random) -> str:
    people = "<contrib><name><surname>Digger</surname><given-names>A</given-names></name></contrib>"
    cells = "".join(f"<td>{rng.random():.3f}</td>" for _ in range(6))
    table = f"<table-wrap><label>Table 1</label><table><tbody>{f'<tr>{cells}</tr>' * 12}</tbody>"
    sections = "".join(
        f"<sec><title>Part {number}</title>"
        + "".join(f"<p>{sentences(rng, 6)}</p>" for _ in range(8))
        + f"{table}</table></table-wrap></sec>"
        for number in range(5)
    )
    name = "<name><surname>Ott</surname><given-names>B</given-names></name>"
    reference = (
        f"<ref><element-citation>{name * 4}<article-title>On {sentences(rng, 1)}</article-title>"
        "<source>J</source><year>1999</year><volume>3</volume></element-citation></ref>"
    )
    return (
        '<article article-type="research-article"><front><article-meta><article-id '
        'pub-id-type="pmid">1</article-id><title-group><article-title>On mounds</article-title>'
        f"</title-group><contrib-group>{people * 6}</contrib-group>"
        '<pub-date pub-type="collection"><day>5</day><month>10</month><year>2012</year></pub-date>'
        "<abstract><p>"
        f"{sentences(rng, 8)}</p></abstract></article-meta></front><body>{sections}</body>"
        f"<back><ref-list>{reference * 50}</ref-list></back></article>"
    )


def made_citation(rng: random.Random, number: int) -> str:
    text = re.sub("<[^>]*>", "", sentences(rng, 10))
    person = (
        '<Author ValidYN="Y"><LastName>Digger</LastName><ForeName>A</ForeName>'
        "<AffiliationInfo><Affiliation>Mound Institute, Hill.</Affiliation></AffiliationInfo>"
        "</Author>"
    )
    heading = (
        '<MeshHeading><DescriptorName UI="D1" MajorTopicYN="N">Mice</DescriptorName></MeshHeading>'
    )
    date = "<Year>2012</Year><Month>10</Month><Day>5</Day>"
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{number}</PMID><DateRevised>{date}'
        f"</DateRevised><Article><Journal><JournalIssue><PubDate>{date}</PubDate></JournalIssue>"
        f"<Title>Mound letters</Title></Journal><ArticleTitle>On mounds {number}.</ArticleTitle>"
        f"<Abstract><AbstractText>{text}</AbstractText></Abstract><AuthorList>{person * 5}"
        f"</AuthorList><Language>eng</Language></Article><MeshHeadingList>{heading * 12}"
        "</MeshHeadingList></MedlineCitation><PubmedData><ArticleIdList>"
        f'<ArticleId IdType="pubmed">{number}</ArticleId></ArticleIdList></PubmedData>'
        "</PubmedArticle>"
    )


def articles(data: Path | None, folder: Path) -> list[Path]:
    if data is not None:
        found = (path for path in sorted(data.rglob("*.*")) if path.suffix in (".xml", ".nxml"))
        return [path for path in found if b"<article" in path.read_bytes()[:2000]]
    rng = random.Random(0)
    for number in range(40):
        (folder / f"{number}.nxml").write_text(made_article(rng))
    return sorted(folder.glob("*.nxml"))


def citations(data: Path | None) -> list[str]:
    if data is None:
        rng = random.Random(0)
        return [made_citation(rng, number) for number in range(1, 1001)]
    texts = (path.read_text(errors="replace") for path in sorted(data.rglob("*.xml")))
    return [record for text in texts for record in RECORD.findall(text)]


def write_set(path: Path, records: list[str], num_bytes: float) -> int:
    """A gzipped set of at least so many bytes; their number."""
    once = "\n".join(records).encode()
    times = max(1, int(num_bytes / len(once)))
    block = max(1, int(2e7 / len(once)))
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(b'<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>')
        file.write(once * (times % block))
    # Members of a gzip file may follow each other: the large part is compressed once.
    packed = gzip.compress(once * block, 6)
    with path.open("ab") as raw:
        for _ in range(times // block):
            raw.write(packed)
        raw.write(gzip.compress(b"</PubmedArticleSet>"))
    return times * len(once)


# Measuring ----------------------------------------------------------------------------------------


def seconds(run: Callable[[], object], passes: int) -> float:
    times = []
    for _ in range(passes):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def rows(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, float, float, float]]:
    import pubmed_parser

    paths = articles(arguments.data, folder)
    size = sum(path.stat().st_size for path in paths)

    def paragraphs() -> None:
        for path in paths:
            pubmed_parser.parse_pubmed_xml(str(path))
            list(pubmed_parser.parse_pubmed_paragraph(str(path), all_paragraph=True))

    def everything() -> None:
        paragraphs()
        for path in paths:
            pubmed_parser.parse_pubmed_caption(str(path))
            pubmed_parser.parse_pubmed_table(str(path))

    ours = seconds(lambda: [list(Jats().read(path)) for path in paths], arguments.passes)
    name = f"{len(paths)} articles"
    yield f"{name}; xml + paragraph", size, ours, seconds(paragraphs, arguments.passes)
    yield f"{name}; + caption + table", size, ours, seconds(everything, arguments.passes)
    records = citations(arguments.data)
    path = folder / "set.xml.gz"
    size = write_set(path, records, arguments.mb * 1e6)
    ours = seconds(lambda: sum(1 for _ in Medline().read(path)), arguments.passes)
    theirs = seconds(
        lambda: sum(1 for _ in pubmed_parser.parse_medline_xml(str(path))), arguments.passes
    )
    yield f"{len(records)} citations, repeated", size, ours, theirs


def memory(arguments: argparse.Namespace, folder: Path) -> None:
    path = folder / "large.xml.gz"
    size = write_set(path, citations(arguments.data), arguments.memory * 1e9)
    began = time.process_time()
    num = sum(1 for _ in Medline().read(path))
    taken = time.process_time() - began
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    speed = f"{taken:.0f} s of processor time, {size / taken / 1e6:.0f} MB/s"
    print(f"{size / 1e9:.1f} GB, {num:,} citations: {peak}, {speed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--mb", type=float, default=20)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--memory", type=float, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        if arguments.memory:
            memory(arguments, Path(name))
            return
        print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()},")
        print(f"pubmed_parser {version('pubmed_parser')}, lxml {version('lxml')}\n")
        print(
            "| what | MB | barrow MB/s | pubmed_parser MB/s | ratio |\n| --- " + "|---: " * 4 + "|"
        )
        for what, size, ours, theirs in rows(arguments, Path(name)):
            speeds = f"{size / ours / 1e6:.1f} | {size / theirs / 1e6:.1f} | {theirs / ours:.2f}"
            print(f"| {what} | {size / 1e6:.1f} | {speeds} |")


if __name__ == "__main__":
    main()
