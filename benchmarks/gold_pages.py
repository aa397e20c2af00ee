r"""Web pages with known text: documentation rendered by real generators with real themes.

    python benchmarks/gold_pages.py --out GOLD --themes sphinx:furo mkdocs:material … DOCS…

Each of DOCS is a folder of reStructuredText or Markdown, a site; or a site as packages ship it,
HTML with ``_sources``. The gold text of a page is what the generator made of its source, before
the theme put it among menus; lists of contents do not count. To every second page a notice about
cookies, comments and links to share are added, in the markup of programs in use. Themes and sites
are sorted and dealt to two halves, `dev` and `test`, so that neither a theme, a site nor such a
program occurs in both. What is written is read by ``bench_web.py --data GOLD``.

Needed: lxml, and of sphinx, mkdocs, pelican and their themes those that are named; for
``hexo:THEME`` a folder where npm has installed hexo, its renderers and themes (``--hexo FOLDER``);
for ``docbook:STYLESHEET`` xsltproc, pandoc and docbook-xsl.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import logging
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lxml.etree
import lxml.html

_BLOCKS = frozenset(["p", "div", "li", "dt", "dd", "tr", "td", "th", "pre", "blockquote", "br"])
_BLOCKS |= {"h1", "h2", "h3", "h4", "h5", "h6", "section", "table", "ul", "ol", "dl", "aside"}
_NOT_TEXT = (
    ".//script|.//style|.//nav|.//button|.//a[contains(@class, 'headerlink')]"
    "|.//*[contains(concat(' ', @class, ' '), ' contents ')]"
    "|.//*[contains(concat(' ', @class, ' '), ' toc ')]"
    "|.//*[contains(@class, 'toctree-wrapper')]|.//td[@class='gutter']|.//td[@class='linenos']"
)
_SENTENCE = re.compile(r"(?<=[.!?]\s)[A-Z][^.!?`<>{}|:]{40,300}[.!?]")
_SIZES = range(1_500, 60_000)
_LEAST = 500  # characters of gold


class Source(NamedTuple):
    """A document of a site."""

    name: str
    title: str
    text: str


class Rendered(NamedTuple):
    """The page, and the part of it that its source became."""

    name: str
    title: str
    page: str
    body: str


Render = Callable[[str, list[Source], Path, Callable[[str], str]], Iterator[Rendered]]


# What sites put around a text -------------------------------------------------------------------

_BANNERS = {
    "dev": """<div role="dialog" aria-label="cookieconsent" class="cc-window cc-banner cc-type-info
cc-bottom"><span id="cookieconsent:desc" class="cc-message">This website uses cookies to ensure you
get the best experience on our website. By continuing to use it you accept their use as described in
our policy. <a class="cc-link" href="/cookies">Learn more</a></span><div class="cc-compliance"><a
role="button" class="cc-btn cc-dismiss">Got it!</a></div></div>""",
    "test": """<div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk" role="region"><div
class="ot-sdk-container"><h2 id="onetrust-policy-title">We value your privacy</h2><div
id="onetrust-policy-text">By clicking Accept All Cookies, you agree to the storing of cookies on
your device to enhance site navigation, analyze site usage, and assist in our marketing
efforts.</div><button id="onetrust-accept-btn-handler">Accept All Cookies</button></div></div>
</div>""",
}
# Around all comments, and around each.
_COMMENTS = {
    "dev": (
        """<div id="comments" class="comments-area"><h2 class="comments-title">{count} thoughts on
this page</h2><ol class="comment-list">{items}</ol><div id="respond" class="comment-respond">
<h3>Leave a Reply</h3><p>Your email address will not be published.</p></div></div>""",
        """<li class="comment"><article class="comment-body"><footer class="comment-meta"><b>{name}
</b> says:</footer><div class="comment-content"><p>{text}</p></div></article></li>""",
    ),
    "test": (
        """<section id="isso-thread"><h4 class="isso-thread-heading">{count} Comments</h4><div
id="isso-root">{items}</div></section>""",
        """<div class="isso-comment"><div class="isso-text-wrapper"><div
class="isso-comment-header"><span class="isso-author">{name}</span></div><div class="isso-text"><p>
{text}</p></div><div class="isso-comment-footer"><a class="isso-reply">Reply</a></div></div>
</div>""",
    ),
}
_SHARE = {
    "dev": """<div class="sharedaddy"><h3 class="sd-title">Share this:</h3><ul><li><a href="#t">
Twitter</a></li><li><a href="#f">Facebook</a></li></ul></div>""",
    "test": """<div class="addtoany_share_save_container"><div class="a2a_kit"><a href="#m">
Mastodon</a> <a href="#l">LinkedIn</a> <a href="#e">Email</a></div></div>""",
}


def furniture(half: str, sources: list[Source]) -> Callable[[str], str]:
    """What is put after the text of a page: nothing after every second one."""

    def after(name: str) -> str:
        number = int(name.rpartition("-")[2])
        if number % 2:
            return ""
        frame, item = _COMMENTS[half]
        other = sources[(number + 1) % len(sources)].text
        said = [
            s.strip() for s in re.findall(r"(?<=[.!?]\s)[A-Z][^.!?`<>{}|:]{40,300}[.!?]", other)
        ]
        items = [
            item.format(name=f"Reader {at}", text=html.escape(" ".join(said[at : at + 2])))
            for at in range(0, min(6, len(said)), 2)
        ]
        return _SHARE[half] + (
            frame.format(count=len(items), items="".join(items)) if items else ""
        )

    return after


# Generators -------------------------------------------------------------------------------------


def sphinx_site(
    theme: str, sources: list[Source], folder: Path, after: Callable[[str], str]
) -> Iterator[Rendered]:
    from sphinx.application import Sphinx

    names = "\n   ".join(source.name for source in sources)
    (folder / "index.rst").write_text(f"Manual\n======\n\n.. toctree::\n\n   {names}\n")
    for source in sources:
        (folder / f"{source.name}.rst").write_text(source.text)
    extensions = [
        "sphinx.ext.mathjax",
        *{"sphinx_immaterial": ["sphinx_immaterial"]}.get(theme, []),
    ]
    settings = {
        "project": "Manual",
        "author": "The authors",
        "html_theme": theme,
        "extensions": extensions,
        "html_show_sourcelink": True,
    }
    out = folder / "out"
    app = Sphinx(
        folder, None, out, folder / "trees", "html", settings, status=None, warning=None
    )  # fmt: skip
    bodies: dict[str, str] = {}

    def keep(_app: Any, name: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
        if name.startswith("page-") and "body" in context:
            bodies[name] = context["body"]
            context["body"] += after(name)

    app.connect("html-page-context", keep)
    app.build()
    for source in sources:
        if source.name in bodies:
            page = (out / f"{source.name}.html").read_text()
            yield Rendered(source.name, source.title, page, bodies[source.name])


def mkdocs_site(
    theme: str, sources: list[Source], folder: Path, after: Callable[[str], str]
) -> Iterator[Rendered]:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.plugins import BasePlugin

    docs, out = folder / "docs", folder / "out"
    docs.mkdir()
    (docs / "index.md").write_text("# Manual\n\nWelcome.\n")
    for source in sources:
        (docs / f"{source.name}.md").write_text(f"# {source.title}\n\n{source.text}")
    bodies: dict[str, str] = {}

    class Keep(BasePlugin):  # type: ignore[type-arg]
        def on_page_content(self, body: str, *, page: Any, **_: Any) -> str:
            name = page.file.name
            bodies[name] = body
            return body + (after(name) if name.startswith("page-") else "")

    names = ["tables", "fenced_code", "admonition", "def_list", "attr_list", "footnotes", "toc"]
    (folder / "mkdocs.yml").write_text("site_name: Manual\n")
    config = load_config(
        str(folder / "mkdocs.yml"),
        theme={"name": theme},
        docs_dir=str(docs),
        site_dir=str(out),
        site_url="https://manual.example.org/",
        markdown_extensions=names,
        plugins=[],
        use_directory_urls=False,
    )
    config.plugins["keep"] = Keep()
    build(config)
    for source in sources:
        page = (out / f"{source.name}.html").read_text()
        yield Rendered(source.name, source.title, page, bodies[source.name])


def pelican_site(
    theme: str, sources: list[Source], folder: Path, after: Callable[[str], str]
) -> Iterator[Rendered]:
    from pelican import Pelican, signals
    from pelican.settings import DEFAULT_CONFIG, configure_settings

    posts, out = folder / "posts", folder / "out"
    posts.mkdir()
    for number, source in enumerate(sources):
        head = f"Title: {source.title}\nSlug: {source.name}\nDate: 2026-01-{number % 28 + 1:02}\n"
        (posts / f"{source.name}.md").write_text(f"{head}Category: News\n\n{source.text}")
    settings = dict(DEFAULT_CONFIG)
    settings.update(
        PATH=str(posts), OUTPUT_PATH=str(out), SITENAME="Manual", AUTHOR="The authors", PLUGINS=[],
        TIMEZONE="UTC", SITEURL="https://manual.example.org", CACHE_CONTENT=False,
    )  # fmt: skip
    if theme != "notmyidea":
        settings["THEME"] = theme
    bodies: dict[str, str] = {}

    def keep(generator: Any) -> None:
        for article in generator.articles:
            bodies[article.slug] = article._content
            article._content += after(article.slug)

    signals.article_generator_finalized.connect(keep)
    try:
        Pelican(configure_settings(settings)).run()
    finally:
        signals.article_generator_finalized.disconnect(keep)
    for source in sources:
        if source.name in bodies:
            page = (out / f"{source.name}.html").read_text()
            yield Rendered(source.name, source.title, page, bodies[source.name])


_HEXO_SCRIPT = """
const fs = require('fs');
const after = JSON.parse(fs.readFileSync('after.json'));
hexo.extend.filter.register('after_post_render', data => {
  fs.writeFileSync('bodies/' + data.slug + '.html', data.content);
  data.content += after[data.slug] || '';
  return data;
}, 100);
"""


def hexo_site(installed: Path) -> Render:
    """Hexo as npm has installed it in a folder."""

    def render(
        theme: str, sources: list[Source], folder: Path, after: Callable[[str], str]
    ) -> Iterator[Rendered]:
        posts = folder / "source" / "_posts"
        for made in (posts, folder / "scripts", folder / "bodies"):
            made.mkdir(parents=True)
        (folder / "node_modules").symlink_to(installed / "node_modules")
        shutil.copy(installed / "package.json", folder)
        (folder / "scripts" / "keep.js").write_text(_HEXO_SCRIPT)
        (folder / "after.json").write_text(json.dumps({s.name: after(s.name) for s in sources}))
        (folder / "_config.yml").write_text(
            f"title: Manual\ntheme: {theme}\nurl: https://manual.example.org\n"
            "permalink: :name/\nauthor: The authors\nlanguage: en\nsyntax_highlighter:\n"
        )
        for number, source in enumerate(sources):
            day = f"2026-01-{number % 28 + 1:02} 10:00:00"
            (posts / f"{source.name}.md").write_text(
                f"---\ntitle: {json.dumps(source.title)}\ndate: {day}\n"
                f"disableNunjucks: true\n---\n{source.text}"
            )
        command = ["node", "node_modules/hexo/bin/hexo", "generate", "--silent"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
        for source in sources:
            page, body = folder / "public" / source.name / "index.html", folder / "bodies"
            if page.exists():
                kept = (body / f"{source.name}.html").read_text()
                yield Rendered(source.name, source.title, page.read_text(), kept)

    return render


_DOCBOOK = "http://docbook.sourceforge.net/release/xsl/current"
_BOOK = """<?xml version="1.0"?>
<book><title>Manual</title><bookinfo><author><surname>The authors</surname></author></bookinfo>
{chapters}</book>"""


def docbook_site(
    theme: str, sources: list[Source], folder: Path, after: Callable[[str], str]
) -> Iterator[Rendered]:
    """A book by Debian's docbook-xsl and xsltproc, a page for each chapter; pandoc reads Markdown.

    The theme is a stylesheet: ``html/chunk``, ``xhtml/chunk``, ``xhtml5/chunk``, …
    """
    chapters = []
    for source in sources:
        command = ["pandoc", "-f", "gfm", "-t", "docbook4", "--top-level-division=section"]
        found = subprocess.run(command, input=source.text.encode(), capture_output=True, check=True)
        inner = re.sub(r' id="[^"]*"', "", found.stdout.decode())
        title = html.escape(source.title)
        chapter = f'<chapter id="{source.name}"><title>{title}</title>{inner}</chapter>'
        try:
            lxml.etree.fromstring(chapter)
        except lxml.etree.XMLSyntaxError:  # pandoc passed on markup as it was
            continue
        chapters.append(chapter)
    (folder / "book.xml").write_text(_BOOK.format(chapters="\n".join(chapters)))
    out = folder / "out"
    parameters = {
        "base.dir": f"{out}/", "use.id.as.filename": "1",
        "chunk.section.depth": "0", "chunker.output.encoding": "UTF-8",
    }  # fmt: skip
    given = [word for pair in parameters.items() for word in ("--stringparam", *pair)]
    command = ["xsltproc", "--nonet", *given, f"{_DOCBOOK}/{theme}.xsl", "book.xml"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    for source in sources:
        path = next(iter(sorted(out.rglob(f"{source.name}.*htm*"))), None)
        if path is None:
            continue
        tree = lxml.html.document_fromstring(path.read_bytes())
        (chapter,) = tree.xpath("//*[contains(concat(' ', @class, ' '), ' chapter ')]")[:1]
        body = lxml.html.tostring(chapter, encoding="unicode", with_tail=False)
        if more := after(source.name):
            for element in reversed(lxml.html.fragments_fromstring(more)):
                chapter.addnext(element)
        page = lxml.html.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>")
        yield Rendered(source.name, source.title, page, body)


# Sources ----------------------------------------------------------------------------------------

_FRONT_MATTER = re.compile(r"---\s*\n(.*?)\n---\s*\n", re.DOTALL)
_SHORTCODE = re.compile(r"\{\{[<%].*?[%>]\}\}|<!--.*?-->", re.DOTALL)
_GENERATED = re.compile(r"^\s*\.\. (?:auto\w*|include|literalinclude|toctree|raw)::", re.MULTILINE)
_INDEX = re.compile(r"^( *)\.\. index::.*\n(?:\1 +\S.*\n)*", re.MULTILINE)
_RST_TITLE = re.compile(r"^(?:[=#*~^-]{3,}\n)?([^\n]{2,90})\n([=#*~^-])\2{2,}\s*$", re.MULTILINE)


def read_source(path: Path) -> tuple[str, str] | None:
    """Title and text of a document; None if it is not one that is known in full."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".md":
        found = _FRONT_MATTER.match(text)
        title = re.search(r"^title:\s*(.+)$", found[1], re.MULTILINE) if found else None
        text = _SHORTCODE.sub("", text[found.end() :] if found else text)
        heading = re.match(r"\s*# +(.+?)\s*#*\s*\n", text)
        if heading:
            text = text[heading.end() :]
        title = title or heading
        return (title[1].strip(" \"'"), text) if title else None
    if _GENERATED.search(text):
        return None
    text = _INDEX.sub("", text)
    heading = _RST_TITLE.search(text)
    return (heading[1].strip(), text) if heading else None


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def site_sources(folder: Path, suffix: str, most: int) -> list[Source]:
    """Some documents of a site, in an order that depends on their names only."""
    paths = [p for p in folder.rglob(f"*{suffix}") if p.stat().st_size in _SIZES]
    found: list[Source] = []
    for path in sorted(paths, key=lambda p: digest(str(p.relative_to(folder)))):
        if len(found) < most and (read := read_source(path)):
            found.append(Source(f"page-{len(found)}", *read))
    return found


def shipped_site(folder: Path, most: int) -> Iterator[Rendered]:
    """Pages of a package, and what Sphinx makes of the sources that it ships with them."""
    paths: dict[str, Path] = {}
    sources: list[Source] = []
    everything = [p for p in folder.rglob("_sources/**/*") if p.stat().st_size in _SIZES]
    for path in sorted(everything, key=lambda p: digest(str(p.relative_to(folder)))):
        base = next(p for p in path.parents if p.name == "_sources")
        name = path.relative_to(base).as_posix().removesuffix(".txt").removesuffix(".rst")
        page = base.parent / f"{name}.html"
        if len(sources) < most and page.exists() and (read := read_source(path)):
            sources.append(Source(f"page-{len(sources)}", *read))
            paths[sources[-1].name] = page
    with tempfile.TemporaryDirectory() as scratch:
        for made in sphinx_site("basic", sources, Path(scratch), lambda _name: ""):
            yield made._replace(page=paths[made.name].read_text("utf-8", "replace"))


# Gold -------------------------------------------------------------------------------------------


def gold_text(body: str) -> str:
    """The words of a rendered body in order, without its title."""
    tree = lxml.html.fragment_fromstring(body, create_parent="div")
    for element in tree.xpath(_NOT_TEXT):
        element.drop_tree()
    heading = tree.find(".//h1")
    if heading is not None:
        heading.drop_tree()
    for element in tree.iter(*_BLOCKS):
        element.text = f"\n{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    return re.sub(r"\s*\n\s*", "\n", tree.text_content()).strip()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("docs", type=Path, nargs="+")
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--themes", nargs="+", required=True, metavar="GENERATOR:THEME")
    arguments.add_argument("--hexo", type=Path, help="where npm has installed hexo")
    arguments.add_argument("--pages", type=int, default=12, help="the most of one site")
    options = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    renders: dict[str, Render] = {
        "sphinx": sphinx_site,
        "mkdocs": mkdocs_site,
        "pelican": pelican_site,
        "docbook": docbook_site,
    }
    if options.hexo:
        renders["hexo"] = hexo_site(options.hexo.resolve())
    truth: dict[str, dict[str, str]] = {}
    (options.out / "html").mkdir(parents=True, exist_ok=True)

    def keep(half: str, theme: str, site: str, pages: Iterator[Rendered]) -> None:
        count = 0
        for name, title, page, body in pages:
            text = gold_text(body)
            if len(text) < _LEAST:
                continue
            if int(name.rpartition("-")[2]) % 2 == 0:
                page = page.replace("</body>", f"{_BANNERS[half]}</body>")
            key = re.sub(r"[^\w.-]", "-", f"{half}-{theme}-{site}-{name}")
            truth[key] = {
                "articleBody": text, "title": title, "half": half, "theme": theme, "site": site,
            }  # fmt: skip
            (options.out / "html" / f"{key}.html.gz").write_bytes(gzip.compress(page.encode()))
            count += 1
        print(f"{half:5} {theme:28} {site:24} {count}", flush=True)

    sites: dict[str, list[Path]] = {"shipped": [], ".rst": [], ".md": []}
    for folder in sorted(options.docs, key=lambda path: path.name):
        sizes = {kind: len(list(folder.rglob(f"*{kind}"))) for kind in (".rst", ".md")}
        is_shipped = any(folder.rglob("_sources"))
        sites["shipped" if is_shipped else max(sizes, key=sizes.__getitem__)].append(folder)
    halves = ("dev", "test")
    for number, folder in enumerate(sites.pop("shipped")):
        try:
            pages = list(shipped_site(folder, options.pages))
        except Exception as error:
            print(f"{folder.name}: {type(error).__name__}: {error}"[:300])
        else:
            keep(halves[number % 2], "shipped", folder.name, iter(pages))
    for kind, folders in sites.items():
        themes = sorted(t for t in options.themes if t.startswith("sphinx:") == (kind == ".rst"))
        for number, folder in enumerate(folders):
            half = halves[number % 2]
            dealt = themes[number % 2 :: 2]
            theme = dealt[number // 2 % len(dealt)]
            generator, _, name = theme.partition(":")
            sources = site_sources(folder, kind, options.pages)
            if not sources:
                continue
            with tempfile.TemporaryDirectory() as scratch:
                after = furniture(half, sources)
                try:
                    pages = list(renders[generator](name, sources, Path(scratch), after))
                except Exception as error:
                    print(f"{theme}, {folder.name}: {type(error).__name__}: {error}"[:300])
                    continue
            keep(half, theme, folder.name, iter(pages))
    shown = json.dumps(truth, ensure_ascii=False, indent=0)
    (options.out / "ground-truth.json").write_text(shown)


if __name__ == "__main__":
    main()
