"""Mail: mbox files of plain, encoded and multipart messages."""

from __future__ import annotations

import quopri
import textwrap
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.samples.batches import batches
from tests.samples.people import address, full_name
from tests.samples.pieces import Article

_MESSAGES_A_FILE = 70
_START = datetime(2001, 1, 1, 8, tzinfo=UTC)
_GREETINGS = ("Hello {0},", "Hi {0},", "Dear {0},", "{0},")
_CLOSINGS = ("Best regards,", "Thanks,", "Yours,", "See you,")


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Replies: each quotes the first paragraph and says the others."""
    for file, batch in batches(articles, _MESSAGES_A_FILE):
        yield f"inbox-{file:03}.mbox", b"".join(_message(a, number) for number, a in batch)


def _message(article: Article, number: int) -> bytes:
    when = _START + timedelta(hours=7 * number)
    head = (
        f"From {address(number)} {when:%a %b %d %H:%M:%S %Y}\nFrom: {full_name(number)} "
        f"<{address(number)}>\nTo: {full_name(number + 3)} <{address(number + 3)}>\n"
        f"Subject: Re: {article.title}\nDate: {format_datetime(when)}\n"
        f"Message-ID: <{number}@pocket.example.org>\nMIME-Version: 1.0\n"
    )
    body = _body(article, number)
    if number % 3 == 0:
        packed = quopri.encodestring(body.encode()).decode()
        part = f"{_type('quoted-printable')}\n{packed}"
    elif number % 3 == 1:
        part = f"{_type('7bit')}\n{body}"
    else:
        part = (
            'Content-Type: multipart/alternative; boundary="pocket"\n\nThis has several parts.\n'
            f"--pocket\n{_type('7bit')}\n{body}\n--pocket\nContent-Type: text/html\n\n"
            "<p>The same with colours.</p>\n--pocket--\n"
        )
    return f"{head}{part}\n\n".replace("\n\nFrom ", "\n\n>From ").encode()


def _type(encoding: str) -> str:
    return f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n"


def _body(article: Article, number: int) -> str:
    first, *rest = article.paragraphs
    reader, writer = full_name(number + 3), full_name(number)
    quoted = [f"{reader} wrote:", *(f"> {line}" for line in _wrapped(first, 70))]
    said = ["\n".join(_wrapped(paragraph, 72)) for paragraph in rest or ("I think so, too.",)]
    greeting = _GREETINGS[number % 4].format(reader.split()[0])
    closing = f"{_CLOSINGS[number % 4]}\n{writer.split()[0]}\n\n-- \n{writer}, {address(number)}"
    return "\n\n".join((greeting, "\n".join(quoted), *said, closing)) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)
