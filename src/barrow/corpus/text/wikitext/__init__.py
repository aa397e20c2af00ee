"""Wikitext to plain text.

Passes of regular expressions over the whole page, and one loop over its pairs of brackets: each is
linear whatever the nesting, and no function is called per character. The order is MediaWiki's:
first comments, notes and code, then templates, links, tables, and at last lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from barrow.corpus.text.wikitext.inline import (
    without_apostrophes,
    without_magic_words,
    without_tags,
)
from barrow.corpus.text.wikitext.lines import lay_out
from barrow.corpus.text.wikitext.links import Links
from barrow.corpus.text.wikitext.marks import BREAK, PIPE, close_gaps, without_marks
from barrow.corpus.text.wikitext.nesting import replace_pairs
from barrow.corpus.text.wikitext.stash import Stash
from barrow.corpus.text.wikitext.tables import without_tables
from barrow.corpus.text.wikitext.templates import TEMPLATES, render_template, template_name

__all__ = ["DROPPED_SECTIONS", "WikiStyle", "wikitext_to_text"]

_BROKEN = re.compile(rf" *{BREAK} *")
_HEAPED = re.compile(r"\n{3,}")

# Lists of other pages, in the languages whose Wikipedias are largest.
DROPPED_SECTIONS = tuple(
    name.strip()
    for name in """
    see also, references, external links, further reading, notes, footnotes, citations, sources,
    notes and references, references and notes, references and further reading, gallery,
    siehe auch, weblinks, einzelnachweise, literatur, quellen, anmerkungen, notes et références,
    voir aussi, liens externes, articles connexes, références, bibliographie, véase también,
    referencias, enlaces externos, bibliografía, notas, note, voci correlate, altri progetti,
    collegamenti esterni, bibliografia, ver também, referências, ligações externas, zie ook,
    externe links, externe link, bronnen, noten, referenties, zobacz też, przypisy,
    linki zewnętrzne, см. также, примечания, литература, ссылки, вижте също, бележки, източници,
    външни препратки, див. також, примітки, джерела, посилання, se även, referenser, källor,
    externa länkar, 関連項目, 脚注, 参考文献, 外部リンク, 参见, 參見, 参考资料, 參考資料, 外部链接,
    外部連結, 参考文献
    """.replace("\n", " ").split(",")
)


@dataclass(frozen=True)
class WikiStyle:
    """The names and language of a wiki, and which parts are kept.

    `files` and `categories` are the names, in lower case, of these namespaces.
    """

    language: str = "en"
    files: tuple[str, ...] = ("file", "image", "media")
    categories: tuple[str, ...] = ("category",)
    captions: bool = False
    tables: bool = False
    dropped_sections: Collection[str] = frozenset(DROPPED_SECTIONS)


_ENGLISH = WikiStyle()


def wikitext_to_text(source: str, style: WikiStyle = _ENGLISH) -> str:
    """The readable text of a page: paragraphs with a blank line between, without markup.

    Links are their words, formulas are between ``$``, code stays as it is. Items of lists begin
    with ``- `` or their number. Notes, files, categories and most templates are dropped, with the
    blanks and brackets that they leave.
    """
    stash = Stash()
    text = stash.take_out(without_marks(source))
    links = Links(style.files, style.categories, style.captions)
    text = links.without_flat(text)
    if "{{" in text or "}}" in text:
        text = _without_templates(text, in_english=style.language == "en")
    text = links.without_all(text)
    text = without_tables(text, as_rows=style.tables)
    text = without_tags(without_apostrophes(without_magic_words(text)))
    text = text.replace("&nbsp;", "\xa0").replace("&thinsp;", "\xa0")
    text = lay_out(close_gaps(text), dropped_sections=style.dropped_sections)
    if BREAK in text:
        text = _BROKEN.sub("\n", text)
    text = stash.put_back(text.replace(PIPE, "|")).replace("\xa0", " ")
    if "\n\n\n" in text:
        text = _HEAPED.sub("\n\n", text)
    return text.strip()


def _without_templates(text: str, *, in_english: bool) -> str:
    def is_kept(text: str, start: int, _: int) -> bool:
        return template_name(text, start) in TEMPLATES

    def render(contents: str) -> str:
        return render_template(contents, in_english=in_english)

    def end_of_line(text: str, start: int, end: int) -> int:
        found = text.find("\n", start, end)
        return end if found < 0 else found

    return replace_pairs(text, "{}", is_kept, render, end_of_line)
