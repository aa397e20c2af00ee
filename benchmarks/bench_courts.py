"""Pages of courts: how many that are not opinions does the reader reject, how many opinions lose?

``--pages FOLDER`` holds real pages of court sites, none of them an opinion (lists, calendars,
feeds, dockets): for instance the examples of the wheel ``juriscraper-1.6``. ``--opinions FOLDER``
holds files with opinions; each is set in three ways: bare, typed, and as a page of a site with
menus, a search form and a link to the PDF. Both are split in two by the name of the file; the rules
were made with the first half. Kinds of pages that the folders may lack are made up here.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from barrow import Document
from barrow.corpus.readers.courtlistener.reader import CourtListener

NAMES = ("Abbott", "Baker", "Chavez", "Doyle", "Estrada", "Fong", "Garcia", "Hale", "Ito", "Jensen")
FIRMS = ("Acme Corp.", "City of Salem", "First Bank, N.A.", "State", "United States")
TOPICS = ("a lease", "a will", "a search of a car", "a bid protest", "child support", "a tax lien")


class Site:
    """Names, numbers and dates of one made-up court."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        state = self.rng.choice(["Ohio", "Maine", "Texas", "Utah", "Iowa", "Guam"])
        self.court = self.rng.choice(["Supreme Court of", "Court of Appeals of"]) + f" {state}"

    def case(self) -> str:
        return f"{self.rng.choice(FIRMS + NAMES)} v. {self.rng.choice(NAMES)}"

    def number(self) -> str:
        return f"{self.rng.randint(10, 25)}-{self.rng.randint(100, 9999)}"

    def day(self) -> str:
        rng = self.rng
        return f"{rng.randint(1, 12)}/{rng.randint(1, 28)}/{rng.randint(2005, 2025)}"

    def summary(self) -> str:
        topic = self.rng.choice(TOPICS)
        return (
            f"The trial court did not err in its findings about {topic}, and the evidence supports "
            "the award; the judgment is affirmed in part and reversed in part."
        )

    def num(self) -> int:
        return self.rng.randint(8, 40)


def rss(site: Site) -> str:
    items = "".join(
        f"<item><title>{site.case()}</title><description>{site.summary()}</description></item>"
        for _ in range(site.num())
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'


def atom(site: Site) -> str:
    entries = "".join(f"<entry><title>{site.case()}</title></entry>" for _ in range(site.num()))
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{site.court}</title>{entries}</feed>'


def opinion_list(site: Site) -> str:
    rows = "".join(
        f"<li>{site.case()}, No. {site.number()} ({site.day()})" for _ in range(site.num())
    )
    return f"<h1>{site.court}</h1><h2>Opinions</h2><ul>{rows}</ul>"


def summaries(site: Site) -> str:
    rows = "".join(
        f"<h3>{site.case()}, {site.number()}</h3><p>{site.summary()}" for _ in range(site.num())
    )
    return f"<h1>{site.court}: summaries of opinions</h1>{rows}"


def docket(site: Site) -> str:
    rows = "".join(
        f"<tr><td>{site.day()}<td>{n}<td>MOTION to dismiss by {site.rng.choice(NAMES)}; granted"
        for n in range(site.num())
    )
    head = f"{site.case()}<br>Assigned to: Judge {NAMES[0]}<br>Date Filed: {site.day()}"
    return f"<h1>U.S. District Court</h1><p>{head}<table>{rows}</table>"


def calendar(site: Site) -> str:
    rows = "".join(
        f"<tr><td>{site.day()}<td>9:30<td>{site.number()}<td>{site.case()}"
        for _ in range(site.num())
    )
    return f"<h1>{site.court}</h1><h2>Calendar of arguments</h2><table>{rows}</table>"


def menu(site: Site) -> str:
    parts = (
        "Judges",
        "Clerk",
        "Rules of Court",
        "Opinions",
        "Fees",
        "Forms",
        "Juries",
        "Jobs",
    )
    links = "".join(f"<li><a href='/{part}'>{part}</a>" for part in parts * 2)
    return f"<h1>{site.court}</h1><ul>{links}</ul>"


def search_results(site: Site) -> str:
    rows = "".join(
        f"<div><a href='/o/{n}'>{site.case()}</a><p>… {site.summary()} …</div>"
        for n in range(site.num())
    )
    return f"<form><input name=q></form><h1>Results 1–10 of 312 for affirmed</h1>{rows}"


def fees(site: Site) -> str:
    rows = "".join(
        f"<tr><td>{kind} {n}<td>${site.rng.randint(5, 500)}"
        for kind in ("Civil action, rule", "Appeal of a judgment, rule", "Certified copy, form")
        for n in range(8)
    )
    return f"<h1>{site.court}</h1><h2>Schedule of fees</h2><table>{rows}</table>"


def files(site: Site) -> str:
    rows = "".join(
        f"<p><a href='/{site.number()}.pdf'>{site.number()}</a> {site.rng.choice(NAMES)} (affirmed)"
        for _ in range(site.num())
    )
    return f"<h1>{site.court}</h1>{rows}"


def release(site: Site) -> str:
    body = "".join(
        f"<p>The {site.court} announced that Judge {site.rng.choice(NAMES)} will lead a program "
        f"for {site.rng.choice(TOPICS)} cases. “We agree that courts must be open to all,” he said."
        for _ in range(4)
    )
    return f"<p>FOR IMMEDIATE RELEASE<p>{site.day()}<h1>New program</h1>{body}"


OTHERS: tuple[Callable[[Site], str], ...] = (
    *(rss, atom, opinion_list, summaries, docket, calendar, menu, search_results, fees, files),
    release,
)


def as_paragraphs(text: str) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in text.split("\n") if line.strip())


def typed(text: str) -> str:
    return f"<html><body><pre>{html.escape(text)}</pre></body></html>"


def order(site: Site) -> str:
    return (
        f"{site.court}\n{site.case()}\nNo. {site.number()}\n{site.day()}\nORDER\n"
        "AND NOW, the petition for allowance of appeal is DENIED."
    )


def per_curiam(site: Site) -> str:
    body = "\n".join(site.summary() for _ in range(3))
    return f"{site.court}\n{site.case()}\n{site.number()}\nPER CURIAM.\n{body}\nAffirmed."


def memorandum(site: Site) -> str:
    body = "\n".join(f"{n}. {site.summary()} See {site.case()}." for n in range(1, 9))
    return f"MEMORANDUM OPINION\n{site.case()}\n{body}\nThe motion is granted. SO ORDERED."


def with_counsel(site: Site) -> str:
    counsel = "\n".join(f"{name}, of Salem, for the appellant." for name in NAMES)
    return f"{site.case()}\n{counsel}\n" + "\n".join(site.summary() for _ in range(6))


def with_a_list(site: Site) -> str:
    items = "\n".join(f"- {site.rng.choice(NAMES)} testified about the lease" for _ in range(8))
    body = "\n".join(site.summary() for _ in range(8))
    return f"In re Estate of {NAMES[0]}\nProbate Court\n{body}\n{items}\n{body}"


def in_spanish(site: Site) -> str:
    body = (
        "El Tribunal de Apelaciones resolvió que la prueba era suficiente y que no hubo error en "
        "las instrucciones al jurado, por lo que confirmó la sentencia del foro primario."
    )
    return f"EN EL TRIBUNAL SUPREMO\nPueblo v. {NAMES[0]}\nOpinión del Tribunal\n" + f"{body}\n" * 4


MADE_UP_OPINIONS: tuple[Callable[[Site], str], ...] = (
    *(order, per_curiam, memorandum, with_counsel, with_a_list, in_spanish),
)


def on_a_site(text: str) -> str:
    menus = "".join(
        f"<li><a href='/{n}'>{n}</a></li>"
        for n in ("Home", "Judges", "Opinions", "Calendar", "Forms", "Rules", "Contact", "Fees")
    )
    return (
        f"<html><body><header><nav><ul>{menus}</ul></nav><form action=/search><input name=q></form>"
        f"</header><main><p><a href='/o.pdf'>Download PDF</a></p>{as_paragraphs(text)}</main>"
        f"<footer><ul>{menus}</ul><p>© Clerk of the court</p></footer></body></html>"
    )


WAYS: tuple[Callable[[str], str], ...] = (as_paragraphs, typed, on_a_site)


def half(name: str) -> int:
    return 1 - hashlib.sha256(name.encode()).digest()[-1] % 2


def is_opinion(path: Path) -> bool:
    return any(isinstance(item, Document) for item in CourtListener().read(path))


def opinions(folder: Path) -> Iterator[tuple[str, str]]:
    """Texts of distinct opinions with a decision's length, and the file's name."""
    seen: set[str] = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix in (".json", ".xml", ".html"):
            for item in CourtListener().read(path):
                if isinstance(item, Document) and len(item.text) > 150:
                    key = item.text[-300:]
                    if key not in seen:
                        seen.add(key)
                        yield path.name, item.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=Path, help="a folder of pages that are not opinions")
    parser.add_argument("--opinions", type=Path, help="a folder of files with opinions")
    parser.add_argument("--sites", type=int, default=10, help="made-up sites")
    parser.add_argument("--show", action="store_true", help="name the pages of the first half")
    options = parser.parse_args()
    taken: Counter[tuple[str, int]] = Counter()
    seen: Counter[tuple[str, int]] = Counter()

    def count(kind: str, which: int, path: Path, name: str) -> None:
        seen[kind, which] += 1
        found = is_opinion(path)
        taken[kind, which] += found
        if options.show and not which and found == kind.startswith("other"):
            print(f"    {kind}: {name}")

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        real = sorted(options.pages.rglob("*")) if options.pages else []
        for path in real:
            if path.suffix in (".html", ".htm", ".xml") and path.is_file():
                kind = "docket" if "docket" in str(path.parent) else "page"
                count(f"other: real {kind}s", half(path.name), path, path.name)
        for seed in range(options.sites):
            for make in OTHERS:
                page.write_text(make(Site(seed)))
                count("other: made up", seed % 2, page, make.__name__)
            for make in MADE_UP_OPINIONS:
                for way in WAYS:
                    page.write_text(way(make(Site(seed))))
                    count("opinion: made up", seed % 2, page, f"{make.__name__} {way.__name__}")
        for name, text in opinions(options.opinions) if options.opinions else ():
            for way in WAYS:
                page.write_text(way(text))
                count("opinion: real", half(name), page, f"{name} {way.__name__}")
    print("| pages | first half | taken for opinions | other half | taken for opinions |")
    print("|---|---|---|---|---|")
    for kind in sorted({kind for kind, _ in seen}):
        cells = (f"{seen[kind, which]} | {taken[kind, which]}" for which in (0, 1))
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
