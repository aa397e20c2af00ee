"""PILE-9: Enron mail, and mail of every other form."""

from __future__ import annotations

import mailbox
import os
import random
import tracemalloc
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.mail.reader import Mail
from barrow.corpus.readers.reader import Reject

Save = Callable[..., Path]
HEAD = b"From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: Hello\n"


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(data: bytes, name: str = "mail.txt") -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return save


def only(path: Path, **options: int) -> Document:
    [item] = Mail(**options).read(path)
    assert isinstance(item, Document)
    return item


def reasons(path: Path, **options: int) -> list[str]:
    return [item.reason if isinstance(item, Reject) else "" for item in Mail(**options).read(path)]


def multipart(*parts: bytes, kind: str = "mixed") -> bytes:
    body = b"".join(b"\n--=_b\n" + part for part in parts)
    head = HEAD + f'MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary="=_b"\n'.encode()
    return head + b"\nThis is a multi-part message.\n" + body + b"\n--=_b--\nepilogue\n"


PLAIN = b"Content-Type: text/plain\n\nThe plain text."
HTML = b"Content-Type: text/html\n\n<p>The <b>rich</b> text.</p>"
PICTURE = b'Content-Type: image/png; name="a.png"\nContent-Transfer-Encoding: base64\n\niVBORw0K'


def test_a_message(save: Save) -> None:
    raw = (
        b"Return-Path: <ann@example.org>\r\nMessage-ID: <1@example.org>\r\n"
        b"Date: Wed, 14 Aug 2002 22:52:37 +0100\r\n"
        b"From: =?utf-8?q?Ann_=C3=89?= <ann@example.org>\r\n"
        b"To: bob@example.org\r\nSubject: Re: a\r\n =?utf-8?q?=C3=A9?=\r\n\r\n"
        b"Bob,\r\n\r\n\r\n> quoted\r\nyes.  \r\n\r\n-- \r\nAnn\r\n"
    )
    document = only(save(raw))
    assert document.text == "Bob,\n\n> quoted\nyes.\n\n--\nAnn"
    assert document.meta == {
        "title": "Re: a é",
        "date": "2002-08-14T22:52:37+01:00",
        "from": "Ann É <ann@example.org>",
        "message_id": "<1@example.org>",
    }


def test_enron_spam(save: Save) -> None:
    document = only(save(b"Subject: re : noms\r\nto : pat @ enron\r\nhttp://x\r\n"))
    assert document == Document("to : pat @ enron\nhttp://x", {"title": "re : noms"})
    assert only(save(b"Subject: x\n  indented\nbody\n")).text == "  indented\nbody"
    folded = only(save(b"Subject: x\n folded\nFrom: a@b\n\nbody\n"))
    assert folded == Document("body", {"title": "x folded", "from": "a@b"})
    folded = only(save(b"Subject: x\n folded\n\nbody\n"))
    assert folded == Document("body", {"title": "x folded"})
    assert reasons(save(b"Subject: nothing else\n")) == ["no-text"]


def test_mbox(save: Save) -> None:
    """Envelopes part messages; other lines that begin with From do not."""
    raw = (
        b"From ann@example.org Mon Jan  1 10:00:00 2001\nSubject: 1\nFrom: a@b\n\n"
        b"From here on\n>From the start\n>>From twice\n"
        b"From bob Mon Jan  1 10:00:00 2001\nis what he wrote.\n\n"
        b"From MAILER-DAEMON Tue Feb 13 9:05 2001 +0100\n>From x\nSubject: 2\nFrom: c@d\n\ntwo\n"
        b"From e@f Mon Jan  1 10:00:00 2001\n"
    )
    first, second = Mail().read(save(raw))
    assert isinstance(first, Document)
    assert first.text == (
        "From here on\nFrom the start\n>From twice\n"
        "From bob Mon Jan  1 10:00:00 2001\nis what he wrote."
    )
    assert first.meta == {"title": "1", "from": "a@b", "member": "1"}
    last = "two\nFrom e@f Mon Jan  1 10:00:00 2001"
    assert second == Document(last, {"title": "2", "from": "c@d", "member": "2"})


def test_an_mbox_and_a_maildir_of_the_standard_library(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "mbox")
    folder = mailbox.Maildir(tmp_path / "maildir")
    texts = [f"Message {n}.\n\nFrom now on, and on.\n\nEnd." for n in range(20)]
    for text in texts:
        message = EmailMessage()
        message["Subject"], message["From"] = "x", "a@example.org"
        message.set_content(text)
        box.add(message)
        folder.add(message)
    box.close()
    found = [item.text for item in Mail().read(tmp_path / "mbox") if isinstance(item, Document)]
    assert found == texts
    files = [path for path in sorted(tmp_path.glob("maildir/**/*")) if path.is_file()]
    assert sorted(only(path).text for path in files) == sorted(texts)
    folder.close()


def test_plain_is_preferred(save: Save) -> None:
    assert only(save(multipart(HTML, PLAIN, kind="alternative"))).text == "The plain text."
    empty = b"Content-Type: text/plain\n\n  \n"
    assert only(save(multipart(empty, HTML, kind="alternative"))).text == "The rich text."
    assert only(save(multipart(HTML, kind="alternative"))).text == "The rich text."
    assert only(save(HEAD + b"\n<html><p>HTML</p>that says it is none</html>")).text == (
        "HTML\n\nthat says it is none"
    )


def test_attachments_are_dropped_and_counted(save: Save) -> None:
    attached = b"Content-Type: text/plain\nContent-Disposition: attachment; filename=x.txt\n\nno"
    document, picture, text = Mail().read(save(multipart(PLAIN, PICTURE, attached, HTML)))
    assert isinstance(document, Document)
    assert document.text == "The plain text.\n\nThe rich text."
    assert picture == Reject("attachment", "image/png, a.png")
    assert text == Reject("attachment", "text/plain, x.txt")
    assert reasons(save(multipart(PICTURE))) == ["no-text", "attachment"]


def test_uuencoded_files(save: Save) -> None:
    body = b"\nSee:\nbegin 644 a.txt\n#86)C\n`\nend\nbegin 2000 with this line\nBye\n"
    document, reject = Mail().read(save(HEAD + body))
    assert isinstance(document, Document)
    assert document.text == "See:\nbegin 2000 with this line\nBye"
    assert reject == Reject("attachment", "uuencoded, a.txt")


def test_enclosed_messages_are_kept(save: Save) -> None:
    enclosed = b"Content-Type: message/rfc822\n\nSubject: Inner\nFrom: c@d\nTo: e@f\n\nInner text."
    text = "The plain text.\n\nFrom: c@d\nSubject: Inner\n\nInner text."
    assert only(save(multipart(PLAIN, enclosed))).text == text


def test_encodings(save: Save) -> None:
    quoted = (
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"
    )
    assert only(save(HEAD + quoted + b"\ncaf=C3=A9 =\nau lait=20\n")).text == "café au lait"
    wrong = "“Déjà vu”, dit-il à l'été".encode("cp1252")
    for charset in (b"us-ascii", b"iso-8859-1", b"utf-8", b"nonsense", b"idna"):
        typed = HEAD + b"Content-Type: text/plain; charset=" + charset + b"\n\n" + wrong
        assert only(save(typed)).text == "“Déjà vu”, dit-il à l'été"
    page = b'Content-Type: text/html\n\n<meta charset="koi8-r"><p>' + "Привет".encode("koi8-r")
    assert only(save(HEAD + page)).text == "Привет"


def test_flowed(save: Save) -> None:
    flowed = HEAD + b"Content-Type: text/plain; format=flowed\n\nOne \nline.\n> So \n> said.\n"
    assert only(save(flowed)).text == "One line.\n> So said."


def test_damage_keeps_what_precedes_it(save: Save) -> None:
    whole = multipart(PLAIN, PICTURE, HTML)
    for end in range(len(HEAD), len(whole), 7):
        items = list(Mail().read(save(whole[:end])))
        assert isinstance(items[0], Document) or items[0].reason == "no-text"
    assert only(save(whole[: whole.index(b"Content-Type: image") - 7])).text == "The plain text."


def test_bad_files(save: Save, tmp_path: Path) -> None:
    assert reasons(tmp_path) == ["not-a-file"]
    assert reasons(tmp_path / "none") == ["unreadable"]
    assert reasons(save(b"")) == ["empty"]
    assert reasons(save(b"\n \n")) == ["not-mail"]
    assert reasons(save(b"Just some text.\n")) == ["not-mail"]
    assert reasons(save(b"From here to there\n")) == ["not-mail"]
    assert reasons(save(random.Random(0).randbytes(5000))) == ["not-mail"]
    assert reasons(save(HEAD + b"\n" + bytes(range(32)) * 9)) == ["no-text", "not-text"]
    assert only(save(HEAD + b"\ntext", os.fsdecode(b"caf\xe9"))).text == "text"


def test_size_and_depth_are_bounded(save: Save) -> None:
    small = b"From a@b Mon Jan  1 10:00:00 2001\nSubject: x\n\nsmall\n\n"
    large = small.replace(b"small", b"x" * 5_000_000 + b"\n" * 1000)
    items = list(Mail(max_message=1000).read(save(small + large + small)))
    assert [getattr(item, "reason", "ok") for item in items] == ["ok", "too-large", "ok"]
    assert [item.meta["member"] for item in items if isinstance(item, Document)] == ["1", "3"]
    deep = HEAD + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000)
    )
    assert reasons(save(deep)) == ["no-text", "too-deep"]
    messages = HEAD + b"Content-Type: message/rfc822\n\n" * 3000
    assert "too-deep" in reasons(save(messages))


def peak_of(path: Path, **options: int) -> tuple[int, int]:
    tracemalloc.start()
    num = sum(1 for _ in Mail(**options).read(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return num, peak


def test_memory_does_not_grow_with_the_file(save: Save) -> None:
    """PILE-4: streamed; no more than a message is held, and of a large one no more than allowed."""
    envelope = b"From a@b Mon Jan  1 10:00:00 2001\nSubject: x\n\n"
    num, peak = peak_of(save((envelope + b"text " * 2000 + b"\n\n") * 100))
    assert num == 100
    assert peak < 300_000
    num, peak = peak_of(save(envelope + b"text\n" * 100_000), max_message=1000)
    assert num == 1
    assert peak < 50_000


def check(path: Path) -> None:
    items = list(Mail().read(path))
    assert items
    assert items == list(Mail().read(path))
    for item in items:
        assert isinstance(item, Document | Reject)
        texts = [item.text, *item.meta.values()] if isinstance(item, Document) else []
        texts += [item.reason, item.cause, item.excerpt] if isinstance(item, Reject) else []
        for text in texts:
            text.encode()
            assert "\0" not in text or isinstance(item, Reject)


@given(data=st.binary(max_size=300), start=st.sampled_from([b"", HEAD, b"From x\n" + HEAD]))
def test_any_bytes(save: Save, data: bytes, start: bytes) -> None:
    check(save(start + data))


@given(seed=st.integers(0, 1 << 30))
def test_mutated_messages(save: Save, seed: int) -> None:
    rng = random.Random(seed)
    kind = rng.choice(["mixed", "alternative", "digest"])
    data = bytearray(multipart(*rng.choices([PLAIN, HTML, PICTURE], k=3), kind=kind))
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(3)] = rng.choices(b'\0\n\r=-;:<>"\xc3\xff+', k=2)
    check(save(bytes(data)))


def test_the_reader() -> None:
    assert Mail.extractor == "mail/3"
