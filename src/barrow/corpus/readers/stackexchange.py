"""Stack Exchange: the Posts.xml of a site's dump, one document a question.

Posts.xml holds a `row` for every post. As The Pile does, a question is kept if an answer to it was
accepted or has a score of at least 3, with the best three such answers, the accepted one first:
``Q:``, title, body, then ``A:`` and the answer's body for each. Other answers, questions without a
good one, and what is neither (tag wikis, moderators' notices) are dropped.

Posts are CC BY-SA: in the version the row names, or the one that was in force when it was written.
Redistribution must name the authors; `url` leads to them where the folder names the site.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from barrow.archive import Document
from barrow.corpus.input.spill import temporary_database
from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.rows import row_attributes

_QUESTION, _ANSWER = "1", "2"
_BATCH = 500


class Post(msgspec.Struct, array_like=True, gc=False):
    """A question or an answer; `question` is its own number or that of what it answers.

    Texts are raw: most posts are not chosen, and never decoded.
    """

    question: int
    is_answer: bool
    id: int
    score: int
    body: str
    accepted: int | None = None
    title: str = ""
    tags: str = ""
    date: str = ""
    by: str = ""
    licence: str = ""


@dataclass(frozen=True)
class StackExchange(Reader):
    """Stack Exchange dumps (Posts.xml): each question with its best answers, as Markdown.

    Bad rows are rejected first, then, in the same order, posts that are not chosen.
    """

    min_score: int = 3
    max_answers: int = 3

    extractor = "stackexchange/1"
    patterns = ("**/Posts.xml", "**/Posts.xml.gz", "**/Posts.xml.bz2", "**/Posts.xml.zst")

    def read(self, path: Path) -> Iterator[Item]:
        with temporary_database() as database:
            database.execute("CREATE TABLE post (question INTEGER, id INTEGER, record BLOB)")
            batch: list[tuple[int, int, bytes]] = []
            for item in _posts(path):
                if isinstance(item, Reject):
                    yield item
                    continue
                # 0 sorts a question before its answers, whatever their numbers.
                key = item.id if item.is_answer else 0
                batch.append((item.question, key, msgspec.msgpack.encode(item)))
                if len(batch) == _BATCH:
                    database.executemany("INSERT INTO post VALUES (?, ?, ?)", batch)
                    batch.clear()
            database.executemany("INSERT INTO post VALUES (?, ?, ?)", batch)
            decoder = msgspec.msgpack.Decoder(Post)
            rows = database.execute("SELECT record FROM post ORDER BY question, id, rowid")
            posts = (decoder.decode(record) for (record,) in rows)
            address = _address(path)
            for _, group in groupby(posts, attrgetter("question")):
                yield from _thread(group, self.min_score, self.max_answers, address)


# Rows ---------------------------------------------------------------------------------------------


def _posts(path: Path) -> Iterator[Post | Reject]:
    last = ""
    num_rows = 0
    try:
        with open_unpacked(path) as file:
            for row in row_attributes(file):
                num_rows += 1
                last = row.get("Id", last)
                yield _post(row)
    except BadXml as error:
        yield Reject("bad-xml", f"{error}; what precedes it was read", f"after row {last}")
    except BadArchive as error:
        yield Reject(error.reason, str(error), f"after row {last}" if last else "")
    else:
        if not num_rows:
            yield Reject("no-rows", "XML without a single <row>: not a Posts.xml")


def _post(row: dict[str, str]) -> Post | Reject:
    number, kind, body = _number(row.get("Id")), row.get("PostTypeId", ""), row.get("Body", "")
    if number is None or number < 1 or not kind.isdecimal():
        cause = f"Id and PostTypeId should be numbers, not {row.get('Id')!r} and {kind!r}"
        return Reject("bad-row", cause[:200], excerpt=excerpt(repr(row)))
    if kind not in (_QUESTION, _ANSWER):
        cause = f"neither a question nor an answer, but of type {kind[:20]}"
        return Reject("other-post-type", cause, str(number), excerpt(body))
    question = number if kind == _QUESTION else _number(row.get("ParentId"))
    if question is None:
        cause = f"an answer's ParentId should be a number, not {row.get('ParentId')!r}"
        return Reject("bad-row", cause[:200], str(number), excerpt(body))
    return Post(
        question=question,
        is_answer=kind == _ANSWER,
        id=number,
        score=_number(row.get("Score")) or 0,
        body=body,
        accepted=_number(row.get("AcceptedAnswerId")),
        title=row.get("Title", ""),
        tags=row.get("Tags", ""),
        date=row.get("CreationDate", ""),
        by=row.get("OwnerDisplayName", ""),
        licence=row.get("ContentLicense", ""),
    )


def _number(text: str | None) -> int | None:
    digits = text.removeprefix("-") if text else ""
    return int(text) if text and digits.isdecimal() and len(digits) < 19 else None


def _date(text: str) -> str:
    """The date in the one form that sorts, if it is a date."""
    try:
        return datetime.datetime.fromisoformat(text).isoformat(timespec="milliseconds")
    except ValueError:
        return ""


def _licence(post: Post) -> str:
    """The licence the post names, or the one that contributions of its day were under."""
    if post.licence or not (date := _date(post.date)):
        return post.licence.replace("CC BY-SA ", "CC-BY-SA-")
    version = "2.5" if date < "2011-04-08" else "3.0" if date < "2018-05-02" else "4.0"
    return f"CC-BY-SA-{version}"


def _tags(text: str) -> list[str]:
    """Tags of ``<a><b>``, as older dumps have them, or of ``|a|b|``."""
    return [tag for tag in re.split(r"[<>|]", text) if tag.strip()]


# Threads ------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    """An answer that may be chosen; the better sorts first."""

    is_other: bool
    minus_score: int
    id: int
    text: str
    post: Post


def _thread(
    posts: Iterable[Post], min_score: int, max_answers: int, address: str | None
) -> Iterator[Item]:
    """The document of a question and its answers, whose posts come with the question first."""
    question: Post | None = None
    chosen: list[_Candidate] = []
    previous: int | None = None
    for post in posts:
        if post.id == previous:
            yield _reject("duplicate-id", "a post of this number came before", post)
        elif not post.is_answer:
            question = post
        elif question is None:
            cause = f"the question, {post.question}, is not in the file"
            yield _reject("answer-without-question", cause, post)
        elif post.score < min_score and post.id != question.accepted:
            cause = f"not accepted, and a score of {post.score} is below {min_score}"
            yield _reject("low-score", cause, post)
        elif not (text := html_to_text(post.body)):
            yield _reject("empty-body", "nothing to read in the answer", post)
        else:
            is_other = post.id != question.accepted
            chosen.append(_Candidate(is_other, -post.score, post.id, text, post))
            chosen.sort()
            if len(chosen) > max_answers:
                cause = f"{max_answers} answers are better"
                yield _reject("surplus-answer", cause, chosen.pop().post)
        previous = post.id
    if question is not None and chosen:
        yield _document(question, chosen, address)
    elif question is not None:
        cause = f"no answer that was accepted or has a score of at least {min_score}"
        yield _reject("no-good-answer", cause, question)


def _reject(reason: str, cause: str, post: Post) -> Reject:
    return Reject(reason, cause, str(post.id), excerpt(post.body))


def _document(question: Post, answers: list[_Candidate], address: str | None) -> Document:
    title = " ".join(question.title.split())
    asked = "\n\n".join(filter(None, (title, html_to_text(question.body))))
    text = "\n\nA:\n\n".join([f"Q:\n\n{asked}", *(answer.text for answer in answers)])
    licences = {_licence(question), *(_licence(answer.post) for answer in answers)}
    meta = {
        "title": title,
        "url": f"{address}/q/{question.id}" if address else "",
        "date": _date(question.date),
        "by": question.by,
        # The licences of all parts; none, if that of one part is unknown.
        "licence": " AND ".join(sorted(licences)) if "" not in licences else "",
    }
    return Document(
        text,
        {key: value for key, value in meta.items() if value}
        | {"member": str(question.id), "tags": _tags(question.tags), "score": question.score}
        | {"answers": [answer.id for answer in answers]},
    )


# Sites --------------------------------------------------------------------------------------------

_OWN_DOMAIN = {
    "askubuntu": "askubuntu.com",
    "mathoverflow": "mathoverflow.net",
    "serverfault": "serverfault.com",
    "stackapps": "stackapps.com",
    "stackoverflow": "stackoverflow.com",
    "superuser": "superuser.com",
}
_DOMAIN = re.compile(
    r"[a-z0-9-]+(?:\.meta)?\.stackexchange\.com|(?:meta\.)?stackexchange\.com"
    r"|(?:es|ja|pt|ru)(?:\.meta)?\.stackoverflow\.com|meta\.(?:"
    + "|".join(map(re.escape, _OWN_DOMAIN.values()))
    + ")"
)
# A folder may have any name; only these count as sites.
_SITES = frozenset(
    re.findall(
        r"\S+",
        """
    3dprinting academia ai alcohol android anime apple arduino astronomy aviation
    beer bicycles bioacoustics bioinformatics biology bitcoin blender boardgames bricks buddhism
    cardano chemistry chess chinese christianity civicrm codegolf codereview coffee cogsci
    computergraphics conlang cooking craftcms crafts crypto cs cseducators cstheory datascience dba
    devops diy drones drupal dsp earthscience ebooks economics electronics elementaryos ell
    emacs engineering english eosio esperanto ethereum expatriates expressionengine fitness
    freelancing french gamedev gaming gardening genealogy german gis graphicdesign ham
    hardwarerecs hermeneutics hinduism history homebrew hsm interpersonal iot iota islam italian
    japanese joomla judaism korean languagelearning latin law lifehacks linguistics literature
    magento martialarts mattermodeling math matheducators mathematica mechanics moderators monero
    money movies music musicfans mythology networkengineering opendata opensource or
    outdoors parenting patents pets philosophy photo physics pm poker politics portuguese
    proofassistants psychology puzzling quant quantumcomputing raspberrypi retrocomputing
    reverseengineering robotics rpg rus russian salesforce scicomp scifi security sharepoint
    sitecore skeptics softwareengineering softwarerecs solana sound space spanish sports sqa stats
    stellar substrate sustainability tex tezos tor travel tridion ukrainian unix ux vegetarianism
    vi webapps webmasters windowsphone woodworking wordpress workplace worldbuilding writers
    writing
    """,
    )
)


def _address(path: Path) -> str | None:
    """The site a dump's folder is named after, if it is."""
    name = path.parent.name.lower().removesuffix("-posts")
    if name in _SITES:
        name += ".stackexchange.com"
    name = _OWN_DOMAIN.get(name, name)
    known = name in _OWN_DOMAIN.values() or _DOMAIN.fullmatch(name)
    return f"https://{name}" if known else None
