"""Wikitext to text beside wikiextractor and mwparserfromhell, on the same pages, in one run.

    python benchmarks/bench_wikipedia.py [--data dump.xml] [--mb 8] [--passes 3]

First the pages of a dump one by one, in one process, without XML: barrow's `wikitext_to_text`,
wikiextractor's `Extractor.clean_text` without templates (it has none to expand here, so it drops
them), mwparserfromhell's `strip_code`. Then whole dumps: barrow's reader, and wikiextractor as it
is run from a shell with one worker, which beside it has a process to read and one to write. Speeds
are MB (10^6 bytes) of wikitext, or XML, per second of processor time, of all processes together,
the best of several passes; the last column is how much text came out. Without --data the pages are
made up here. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import logging
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.readers.wikipedia import Page, Wikipedia, export_pages
from barrow.corpus.text.wikitext import wikitext_to_text

WORDS = re.findall(
    r"\w+",
    """the of to and a in is it that for on are with as this be at by from or which an were was
    city river mountain century battle theory number language water species music king population
    government history early later known called first found region north south between""",
)


def paragraph(rng: random.Random) -> str:
    """Words, links, notes and templates in about the shares that articles have them."""
    words = rng.choices(WORDS, k=rng.randint(40, 160))
    for at, word in enumerate(words):
        kind = rng.random()
        if kind < 0.05:
            words[at] = f"[[{word}]]s" if kind < 0.02 else f"[[{word} ({word})|{word} {word}]]"
        elif kind < 0.07:
            cite = f"{{{{cite book|last={word}|title=The {word}|year=19{rng.randint(10, 99)}}}}}"
            words[at] = f"{word}.<ref name=x{at}>{cite}</ref>"
        elif kind < 0.09:
            words[at] = f"''{word}''"
        elif kind < 0.1:
            words[at] = rng.choice(
                ("{{convert|5|km|mi}}", "{{lang|fr|eau}}", "{{citation needed}}")
            )
    return " ".join(words)


def article(rng: random.Random) -> str:
    parts = ["{{Infobox x\n| name = y\n| image = {{a|b|c=[[d]]}}\n}}\n[[File:A.jpg|thumb|A [[b]]]]"]
    for number in range(rng.randint(2, 12)):
        parts.append(f"== Section {number} ==")
        parts += [paragraph(rng) for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.3:
            rows = "\n|-\n".join(f"| [[{rng.choice(WORDS)}]] || {row}" for row in range(8))
            parts.append(f'{{| class="wikitable"\n! a !! b\n|-\n{rows}\n|}}')
        if rng.random() < 0.3:
            parts.append("\n".join(f"* [[{rng.choice(WORDS)}]] and more" for _ in range(6)))
    return "\n\n".join(parts)


def make_dump(path: Path, size: int) -> None:
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        file.write('<mediawiki xml:lang="en">\n  <siteinfo>\n')
        file.write("    <base>https://en.wikipedia.org/wiki/Main_Page</base>\n    <namespaces>\n")
        file.write('      <namespace key="10">Template</namespace>\n')
        file.write("    </namespaces>\n  </siteinfo>\n")
        number = 0
        while file.tell() < size:
            number += 1
            file.write(
                f"  <page>\n    <title>Page {number}</title>\n    <ns>0</ns>\n"
                f"    <id>{number}</id>\n"
                f"    <revision>\n      <id>{number}</id>\n"
                f'      <text xml:space="preserve">{escape(article(rng), quote=False)}</text>\n'
                "    </revision>\n  </page>\n"
            )
        file.write("</mediawiki>\n")


def articles(path: Path) -> list[str]:
    with path.open("rb") as file:
        pages = [page for page in export_pages(file, max_text=1 << 23) if isinstance(page, Page)]
    wanted = (page for page in pages if page.namespace == "0" and not page.is_redirect)
    return [page.revision.text for page in wanted if page.revision and page.revision.text]


def processor_time() -> float:
    """Seconds this process and those it waited for have worked."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def best(run: Callable[[], int], passes: int) -> tuple[float, int]:
    """The shortest time of some passes, and what the last one gave."""
    times, given = [], 0
    for _ in range(passes):
        begin = processor_time()
        given = run()
        times.append(processor_time() - begin)
    return min(times), given


def wikiextractor_pages(texts: list[str]) -> Callable[[], int]:
    from wikiextractor.extract import Extractor  # type: ignore[import-not-found]

    def clean(text: str) -> int:
        extractor = Extractor(0, "", "", "Title", [])
        lines = extractor.clean_text(text, mark_headers=True, expand_templates=False)
        return len("\n".join(lines).encode())

    return lambda: sum(map(clean, texts))


def mwparserfromhell_pages(texts: list[str]) -> Callable[[], int]:
    import mwparserfromhell  # type: ignore[import-not-found]

    return lambda: sum(len(mwparserfromhell.parse(text).strip_code().encode()) for text in texts)


def barrow_dump(path: Path) -> int:
    return sum(
        len(item.text.encode()) for item in Wikipedia().read(path) if isinstance(item, Document)
    )


def wikiextractor_dump(path: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "wikiextractor.WikiExtractor", "--processes", "1", "-q"]
        command += ["--no-templates", "-o", folder, str(path)]
        subprocess.run(command, check=True, capture_output=True)
        return sum(file.stat().st_size for file in Path(folder).rglob("wiki_*"))


def row(what: str, name: str, size: int, result: tuple[float, int], ours: float) -> None:
    seconds, given = result
    speed, ratio = size / seconds / 1e6, seconds / ours
    print(f"| {what} | {name} | {speed:.1f} | {ratio:.1f} | {given / 1e6:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="a dump, unpacked")
    parser.add_argument("--mb", type=int, default=8)
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.data or Path(folder) / "dump.xml"
        if arguments.data is None:
            make_dump(path, arguments.mb * 1_000_000)
        texts = articles(path)
        size = sum(len(text.encode()) for text in texts)
        print("| what | by | MB/s | times barrow's time | MB out |\n|---|---|---|---|---|")
        ours = best(
            lambda: sum(len(wikitext_to_text(text).encode()) for text in texts), arguments.passes
        )
        row("pages", "barrow", size, ours, ours[0])
        peers = {"wikiextractor": wikiextractor_pages, "mwparserfromhell": mwparserfromhell_pages}
        for name, peer in peers.items():
            try:
                label = f"{name} {version(name)}"
            except PackageNotFoundError:
                continue
            row("pages", label, size, best(peer(texts), arguments.passes), ours[0])
        size = path.stat().st_size
        ours = best(lambda: barrow_dump(path), arguments.passes)
        row("dump", "barrow", size, ours, ours[0])
        try:
            label = f"wikiextractor {version('wikiextractor')}"
        except PackageNotFoundError:
            return
        row("dump", label, size, best(lambda: wikiextractor_dump(path), arguments.passes), ours[0])


if __name__ == "__main__":
    main()
