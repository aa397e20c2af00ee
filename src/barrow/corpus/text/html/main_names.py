"""Class names and phrases that mark a part of a page as the article or as something else."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"""(?:^|[\s"'])(?:class|id|role|itemprop|data-component|data-testid)\s*+=\s*+
    (?:"([^"]*+)|'([^']*+)|([^\s"'>]++))""",
    re.IGNORECASE | re.VERBOSE,
)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HIDDEN = re.compile(
    r"""(?:^|\s)hidden(?=$|[\s=/])|aria-hidden\s*+=\s*+["']?true
    |display\s*+:\s*+none|visibility\s*+:\s*+hidden""",
    re.IGNORECASE | re.VERBOSE,
)
_ID = re.compile(r"""(?:^|\s)id\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>]++)""", re.IGNORECASE)
_PART = re.compile(
    r"(?:^|[\s_-])(?:footnotes?|footnote-list|endnotes?|citation|admonition)(?:$|[\s_-])",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"""\btype\s*+=\s*+["']?password""", re.IGNORECASE)
# Parts of names, between blanks, hyphens and underscores.
_OTHER = re.compile(
    r"""(?:^|[\s_-])(?:
      # beside the article: menus, search, notices
      nav | navbar | navigation | navigator | menu | menubar | breadcrumbs? | crumbs | pagination
    | pager | pagenav | footer | contentinfo | sidebar | side-bar | complementary | search
    | cookie\w* | consent | dialog | alertdialog | gdpr | popup | modal | ticker
      # after and inside the article: other articles, what readers do
    | related | recirc\w* | recommend\w* | trending | most-read | more-stories | read-more
    | readmore | read-next | up-next | next-article | promo\w* | outbrain | taboola
    | jp-relatedposts
    | share | shares | sharing | social | sharedaddy | addthis\w* | a2a\w*
    | comment | comments | commentlist | disqus | respond | newsletter | signup | sign-up
    | ads | advert\w* | sponsor\w*
      # at headings and code: [edit], [source], line numbers
    | editsection | viewcode-link | linenos
      # not shown
    | sr-only | screen-reader-text | visually-hidden | visuallyhidden
    )(?:$|[\s_-])""",
    re.IGNORECASE | re.VERBOSE,
)
# The same, for ambiguous names.
_PERHAPS_OTHER = re.compile(
    r"""(?:^|[\s_-])(?:
      foot | toolbar | skip | login | overlay | lightbox | banner | alert | tooltip | dropdown
    | rollover\w* | toc | infobox | byline | authors? | bio | tags | taglist | meta | metadata
    | timestamp | dateline | pubdate | kicker | dek | copyright | credits? | captions? | print
    | ratings? | popular | teasers? | follow | reply | subscri\w* | donate | paywall | ad | adv
    | video-player | player | gallery | slideshow | inline-image | hidden
    )(?:$|[\s_-])""",
    re.IGNORECASE | re.VERBOSE,
)
_ARTICLE = re.compile(
    r"""(?:^|[\s_-])(?:article|entry|post|story|blog|news|single)[-_]*(?:content|body|text|copy)
    (?:$|[\s_-])""",
    re.IGNORECASE | re.VERBOSE,
)
_CONTENT = re.compile(
    r"""(?:^|[\s_-])(?:page|main|body|rich|content)[-_]*(?:content|body|text|copy)(?:$|[\s_-])
    | (?:^|\s)content(?:$|\s)""",
    re.IGNORECASE | re.VERBOSE,
)
_PHRASE = re.compile(
    r"""(?:[-*>•] )?(?:
      (?:advertisement|advert|share|print|comments?|close|related|tags?|sponsored|loading\W*)\W*$
    | (?:share\ (?:this|it|on)|share\ via|tweet\ this|email\ this|print\ this)\b
    | (?:read\ (?:more|also|next)|see\ also|also\ read|related|recommended|more\ from|more\ on
      |watch|also)      (?:\ [\w ]{1,30}+)?+:
    | (?:sign\ up|subscribe|click\ here|follow\ us|like\ us|join\ us|download\ the\ app
      |get\ the\ app)\b
    | (?:get|follow)\b.{1,80}?\b(?:newsletter|on\ (?:twitter|facebook|instagram|youtube))\b
    | ©|copyright\b|all\ rights\ reserved
    | image\ \d+\ of\ \d+$
    )""",
    re.IGNORECASE | re.VERBOSE,
)


_ELSEWHERE = re.compile(
    r"""(?:more|related|latest|popular|trending|recommended|top|our|other|further|read|see
      |you\ may)\b
    .{0,40}?\b(?:stories|articles|posts|coverage|news|links|videos|like|more|also|next)\W*$
    | (?:related|more|see\ also|read\ (?:more|next|also)|you\ may\ also\ like|recommended)\b\W*$""",
    re.IGNORECASE | re.VERBOSE,
)


def names(attributes: str) -> str:
    """Class names, id and role of an element, split into words, CamelCase too."""
    found = " ".join(a or b or c for a, b, c in _NAMES.findall(attributes))
    return found if found.islower() else _CAPITAL.sub("-", found)


def without_id(attributes: str) -> str:
    """Attributes without an element's address."""
    return _ID.sub(" ", attributes)


def is_part(names: str) -> bool:
    """Whether its names say that an element beside the text belongs to it: a note."""
    return _PART.search(names) is not None


def is_hidden(attributes: str) -> bool:
    """Whether an element is not shown."""
    return _HIDDEN.search(attributes) is not None


def is_password(attributes: str) -> bool:
    """Whether a form's field is for a password."""
    return _PASSWORD.search(attributes) is not None


def is_other(names: str) -> bool:
    """Whether its names mark an element as not the article."""
    return _OTHER.search(names) is not None


def is_perhaps_other(names: str) -> bool:
    """Whether they suggest it, for an element with little of the page's text."""
    return _PERHAPS_OTHER.search(names) is not None


def is_article(names: str) -> bool:
    """Whether its names mark an element as the article's text."""
    return _ARTICLE.search(names) is not None


def is_content(names: str) -> bool:
    """Whether its names mark an element as content, perhaps the article."""
    return _CONTENT.search(names) is not None


def is_phrase_of_page(line: str) -> bool:
    """Whether a line is about the page itself: share this, read more."""
    return _PHRASE.match(line) is not None


def is_lead_elsewhere(line: str) -> bool:
    """Whether a line introduces other pages: more stories, related articles."""
    return len(line) < 80 and _ELSEWHERE.match(line) is not None
