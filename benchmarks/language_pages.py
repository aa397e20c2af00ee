r"""Writes the pages that `bench_languages.py` judges the rules by language with.

    python benchmarks/language_pages.py --packages X --markdown LANGUAGES.jsonl.zst --out PAGES \
        [--names benchmarks/results/languages_pages.tsv | --candidates 40]

X has the Debian packages installation-guide-amd64, debian-handbook, libreoffice-help-hi and -km,
mediawiki, iso-codes and gnome-control-center-data, each unpacked (``dpkg-deb -x``) into a folder of
its name, and may have ``index.json`` of npm's electron-i18n 1.908.0. The archive has Markdown
pages of kubernetes/website with ``meta.language``.

PAGES/de/prose/… are pages of manuals, as barrow reads the main text of a page; PAGES/de/other/… is
what surrounds the text of pages: tables of contents, lists of titles, menus and forms (the messages
of MediaWiki by their groups), lists to choose from (countries, languages, currencies), keywords.
With `--names`, those named there (language, class, page, label): pages that were read and labelled
as their class says, and those without a label; not the doubtful ones. Else as many candidates.
"""

from __future__ import annotations

import argparse
import gettext
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import barrow.archive
from barrow.corpus.text.html.page import page_text, whole_text
from barrow.corpus.text.whitespace import tidy

Page = tuple[str, str, str, Callable[[], str]]  # language, class, name, how to read it
LANGUAGES = (
    *(
        "ar",
        "bn",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "en",
        "es",
        "fa",
        "fr",
        "hi",
        "id",
        "it",
        "ja",
        "km",
        "ko",
    ),
    *("nl", "pl", "pt", "ro", "ru", "sv", "tr", "vi", "zh"),
)
MEDIAWIKI = {"zh": "zh-hans", "pt": "pt-br"}
# Groups of MediaWiki's messages that are menus, forms and lists; of the others, many are sentences.
MENUS = (
    *("action", "all", "block", "blocklist", "createacct", "exif", "filehist", "grant", "group"),
    *("linterror", "log", "mediastatistics", "pageinfo", "prefs", "protectedpages", "rcfilters"),
    *("right", "search", "skin", "sp", "special", "specialpages", "statistics", "tag", "tags"),
    *("tog", "tooltip", "version", "watchlistedit"),
)
LABELS = {"prose": "prose", "other": "list"}  # of a page that is what its class says
LISTS = ("iso_3166-1", "iso_3166-2", "iso_639-2", "iso_639-3", "iso_639-5", "iso_4217", "iso_15924")


def html_pages(packages: Path) -> Iterator[Page]:
    """Manuals; their index pages are tables of contents."""
    guide = packages / "installation-guide-amd64/usr/share/doc/installation-guide-amd64"
    book = packages / "debian-handbook/usr/share/doc/debian-handbook/html"
    folders = [(guide, path) for path in guide.iterdir() if path.is_dir()]
    folders += [(book, path) for path in book.iterdir() if path.is_dir()]
    for code in ("hi", "km"):
        home = packages / f"libreoffice-help-{code}/usr/share/libreoffice/help/{code}/text"
        folders += [(home, home / part) for part in ("swriter/guide", "shared/guide")]
    for home, folder in sorted(folders):
        code = home.parent.name if home.name == "text" else re.split("[-_]", folder.name)[0]
        for path in sorted(folder.glob("*.html")):
            is_list = path.name in ("index.html", "ix01.html") or path.name.startswith("bk0")
            read = whole_text if is_list else page_text
            name = f"{home.parts[home.parts.index('share') + 2]}/{path.relative_to(home)}"
            yield (
                code,
                "other" if is_list else "prose",
                name,
                lambda path=path, read=read: read(_without_bars(path)).text,
            )


def electron_pages(packages: Path) -> Iterator[Page]:
    """Electron's documentation in Arabic and Hindi, without code."""
    path = packages / "index.json"
    documents = json.loads(path.read_text())["docs"] if path.exists() else {}
    for place in ("ar-SA", "hi-IN"):
        for name, document in sorted(documents.get(place, {}).items()):
            markup = "".join(section["html"] for section in document["sections"])
            markup = re.sub(r"<pre.*?</pre>", "", markup, flags=re.S)
            yield (
                place[:2],
                "prose",
                f"electron{name}",
                lambda markup=markup: whole_text(markup).text,
            )


def _without_bars(path: Path) -> str:
    """The markup without the bars of links above and below a page, which repeat its title."""
    markup = path.read_text(errors="replace")
    return re.sub(r'<div class="nav(header|footer)">.*?</table>', "", markup, flags=re.S)


def markdown_pages(archive: Path) -> Iterator[Page]:
    """Pages without their markup; and the titles of the pages of a section."""
    titles: dict[tuple[str, str], list[str]] = defaultdict(list)
    for document in barrow.archive.open(archive):
        if document.meta["source"] != "kubernetes/website":
            continue
        code, path = document.meta["language"].split("-")[0], document.meta["path"]
        yield code, "prose", f"kubernetes/{path}", lambda text=document.text: plain(text)
        if title := re.search(r"^title: *[\"']?(.+?)[\"']? *$", document.text, re.M):
            titles[code, "/".join(path.split("/")[2:4])].append(title[1])
    for (code, section), lines in sorted(titles.items()):
        if len(lines) >= 10:
            name = f"kubernetes/titles/{section}"
            yield code, "other", name, lambda lines=lines: "\n".join(lines)


def plain(markdown: str) -> str:
    """Markdown as a reader sees it, without front matter, code, comments and shortcodes."""
    text = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.S)
    text = re.sub(r"<!--.*?-->|^```.*?^```|\{\{.*?\}\}|<[^<>]+>", "", text, flags=re.S | re.M)
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"^#+ *(.*?) *(\{#.*\})?$|^ *\|.*\|$", r"\1", text, flags=re.M)
    text = re.sub(r"[*_`]{1,3}(\S[^*_`]*)[*_`]{1,3}", r"\1", text)
    # A paragraph is a line on a page.
    text = re.sub(r"(?<=\S)[ ]*\n(?=[^\s*>+-])(?!\d+\.)", " ", text)
    return tidy(re.sub(r"\n{3,}", "\n\n", text)).strip()


def messages(packages: Path) -> Iterator[Page]:
    """MediaWiki's menus and forms: groups of messages that begin alike."""
    home = packages / "mediawiki/usr/share/mediawiki/languages/i18n"
    for code in LANGUAGES:
        for part in (".", "exif"):
            path = home / part / f"{MEDIAWIKI.get(code, code)}.json"
            groups = defaultdict(list)
            for key, text in json.loads(path.read_text()).items() if path.exists() else ():
                if isinstance(text, str) and not re.search(r"[{}<>\[\]$|]|''|==", text):
                    groups[re.split("[-_]", key)[0] if "-" in key else "all"].append(text)
            for group, lines in sorted(groups.items()):
                if group in MENUS and len(lines) >= 12:
                    name = f"mediawiki/{part}/{code}/{group}"
                    yield code, "other", name, lambda lines=lines: "\n".join(lines[:120])


def catalogues(packages: Path) -> Iterator[Page]:
    """Lists to choose from, and keywords."""
    for code in LANGUAGES:
        place = {"pt": "pt_BR", "zh": "zh_CN"}.get(code, code)
        for name in LISTS:
            path = packages / f"iso-codes/usr/share/locale/{place}/LC_MESSAGES/{name}.mo"
            lines = _translated(path)
            for k in range(0, min(len(lines) - 30, 400), 200):
                some = lines[k : k + 200]
                yield code, "other", f"{name}/{code}/{k}", lambda some=some: "\n".join(some)
        path = packages / "gnome-control-center-data/usr/share/locale" / place / "LC_MESSAGES"
        keywords = [
            line.replace(";", ", ").strip(", ")
            for line in _translated(path / "gnome-control-center-2.0.mo")
            if line.count(";") >= 3
        ]
        for k in range(0, len(keywords) - 9, 10):
            some = keywords[k : k + 10]
            yield code, "other", f"keywords/{code}/{k}", lambda some=some: "\n".join(some)


def _translated(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open("rb") as file:
        catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return [v for k, v in catalogue.items() if isinstance(v, str) and v != k and k and v]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--names", type=Path)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="of the candidates: another choice")
    arguments = parser.parse_args()
    wanted = None
    if arguments.names is not None:
        rows = [line.split("\t") for line in arguments.names.read_text().splitlines()]
        wanted = {tuple(row[:3]) for row in rows if row[3:] in ([], [LABELS[row[1]]])}
    pages: dict[tuple[str, str], list[tuple[str, Callable[[], str]]]] = defaultdict(list)
    for some in (
        markdown_pages(arguments.markdown),
        html_pages(arguments.packages),
        electron_pages(arguments.packages),
        messages(arguments.packages),
        catalogues(arguments.packages),
    ):
        for code, kind, name, read in some:
            if code in LANGUAGES and (wanted is None or (code, kind, name) in wanted):
                pages[code, kind].append((name, read))
    for (code, kind), found in sorted(pages.items()):
        step = 1 if wanted else max(1, len(found) // arguments.candidates)
        for name, read in found[min(arguments.first, step - 1) :: step]:
            text = read()
            if wanted is None and kind == "prose" and len(text.encode()) < 600:
                continue
            path = arguments.out / code / kind / (name.replace("/", "~") + ".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
