"""Readers beside the pipelines people write by hand, on the same rows, in one run.

    python benchmarks/bench_readers.py [--data Posts.xml] [--mb 40] [--passes 3]

Stack Exchange: barrow's reader against xml.etree.ElementTree.iterparse with BeautifulSoup
(``html.parser``, ``get_text``) for each post that is written, which is how The Pile was made. Both
choose the same questions and answers; the numbers are compared. Speeds are MB (10^6 bytes) of XML
per second of processor time, one core pinned, best of several passes. Without --data the posts are
made up here. The second comparison is of all bodies, HTML to text, without the XML around them.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar
from xml.sax.saxutils import quoteattr

Data = TypeVar("Data")
Result = TypeVar("Result")

WORDS = tuple(
    re.findall(
        r"\w+",
        """
        the of to and a in is it you that for on are with as this be at one have not by what when
        your can use which there if each how their will other about out many then them these so
        some would make like him into time has look two more write go see number no way could
        people than first been call who now find long down day did get come made may part list
        index value function string array object error file server query table column request
        """,
    )
)


# Data ---------------------------------------------------------------------------------------------


def sentence(rng: random.Random) -> str:
    words = rng.choices(WORDS, k=rng.randint(6, 24))
    for at in range(len(words)):
        kind = rng.random()
        if kind < 0.02:
            words[at] = f"<code>{words[at]}(&quot;{words[at]}&quot;)</code>"
        elif kind < 0.03:
            words[at] = f'<a href="https://example.org/{words[at]}" rel="nofollow">{words[at]}</a>'
        elif kind < 0.045:
            words[at] = f"<strong>{words[at]}</strong>"
    return " ".join(words).capitalize() + "."


def body(rng: random.Random) -> str:
    """Blocks in about the shares that programming sites have them."""
    blocks = []
    for _ in range(rng.randint(1, 6)):
        kind = rng.random()
        text = " ".join(sentence(rng) for _ in range(rng.randint(1, 4)))
        if kind < 0.72:
            blocks.append(f"<p>{text}</p>")
        elif kind < 0.87:
            code = "\n".join(
                "    " * rng.randint(0, 3) + " ".join(rng.choices(WORDS, k=rng.randint(2, 8))) + ";"
                for _ in range(rng.randint(2, 15))
            )
            blocks.append(f"<pre><code>{escape(code)}\n</code></pre>")
        elif kind < 0.95:
            items = "".join(f"<li>{sentence(rng)}</li>\n" for _ in range(rng.randint(2, 5)))
            blocks.append(f"<ul>\n{items}</ul>")
        else:
            blocks.append(f"<blockquote>\n  <p>{text}</p>\n</blockquote>")
    return "\n\n".join(blocks) + "\n"


def write_posts(path: Path, size: int) -> None:
    rng = random.Random(0)
    questions: list[int] = []
    accepted: dict[int, int] = {}
    with path.open("w") as file:
        written = file.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        number = 0
        while written < size:
            number += 1
            row = {"Id": str(number), "CreationDate": "2014-01-21T20:26:05.383"}
            row |= {"Score": str(int(rng.expovariate(0.25)) - 1), "Body": body(rng)}
            row |= {"OwnerUserId": str(rng.randint(1, 10_000)), "CommentCount": "0"}
            if rng.random() < 0.4 or not questions:
                questions.append(number)
                if rng.random() < 0.5:
                    accepted[number] = number + 1
                    row["AcceptedAnswerId"] = str(number + 1)
                row |= {"PostTypeId": "1", "Tags": "<python><arrays>", "Title": sentence(rng)}
            else:
                recent = questions[-1 - int(rng.expovariate(0.5)) % min(50, len(questions))]
                parent = number - 1 if number - 1 in accepted else recent
                row |= {"PostTypeId": "2", "ParentId": str(parent)}
            attributes = " ".join(f"{key}={quoteattr(value)}" for key, value in row.items())
            written += file.write(f"  <row {attributes} />\n".replace("\n</", "&#xA;</"))
        file.write("</posts>\n")


# Pipelines: each gives the numbers of the questions it writes, and how many characters ----------


def with_barrow(path: Path) -> tuple[list[int], int]:
    from barrow import Document
    from barrow.corpus.readers.stackexchange import StackExchange

    documents = [item for item in StackExchange().read(path) if isinstance(item, Document)]
    return (
        [int(document.meta["member"]) for document in documents],
        sum(len(document.text) for document in documents),
    )


def with_beautiful_soup(path: Path) -> tuple[list[int], int]:
    from bs4 import BeautifulSoup

    def text_of(row: dict[str, str]) -> str:
        return BeautifulSoup(row["Body"], "html.parser").get_text()

    questions: dict[str, dict[str, str]] = {}
    answers: dict[str, list[dict[str, str]]] = {}
    for row in rows(path):
        if row["PostTypeId"] == "1":
            questions[row["Id"]] = row
        elif row["PostTypeId"] == "2":
            answers.setdefault(row["ParentId"], []).append(row)
    numbers, size = [], 0
    for number in sorted(questions, key=int):
        question = questions[number]
        accepted = question.get("AcceptedAnswerId")
        good = [a for a in answers.get(number, ()) if a["Id"] == accepted or int(a["Score"]) >= 3]
        good.sort(key=lambda a: (a["Id"] != accepted, -int(a["Score"]), int(a["Id"])))
        if good:
            parts = [f"Q:\n\n{question['Title']}\n\n{text_of(question)}"]
            parts += [f"A:\n\n{text_of(answer)}" for answer in good[:3]]
            numbers.append(int(number))
            size += len("\n\n".join(parts))
    return numbers, size


def rows(path: Path) -> Iterator[dict[str, str]]:
    for _, element in ElementTree.iterparse(path):
        if element.tag == "row":
            yield dict(element.attrib)
        element.clear()


def bodies_with_barrow(bodies: list[str]) -> int:
    from barrow.corpus.text.html.text import html_to_text

    return sum(len(html_to_text(body)) for body in bodies)


def bodies_with_beautiful_soup(bodies: list[str]) -> int:
    from bs4 import BeautifulSoup

    return sum(len(BeautifulSoup(body, "html.parser").get_text()) for body in bodies)


def best_seconds(
    pipeline: Callable[[Data], Result], data: Data, passes: int
) -> tuple[float, Result]:
    best = float("inf")
    for _ in range(passes):
        start = time.process_time()
        result = pipeline(data)
        best = min(best, time.process_time() - start)
    return best, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a Posts.xml; made up if not given")
    parser.add_argument("--mb", type=int, default=40, help="size of the made-up file")
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
        f"beautifulsoup4 {version('beautifulsoup4')}"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = options.data or Path(folder) / "Posts.xml"
        if options.data is None:
            write_posts(path, options.mb * 10**6)
        megabytes = path.stat().st_size / 1e6
        ours, (numbers, size) = best_seconds(with_barrow, path, options.passes)
        theirs, (their_numbers, their_size) = best_seconds(
            with_beautiful_soup, path, options.passes
        )
        bodies = [row["Body"] for row in rows(path) if row.get("Body")]
    assert numbers == their_numbers, "the two did not choose the same questions"
    print(f"Stack Exchange, {megabytes:.1f} MB of XML, {len(numbers):,} documents")
    print(f"  barrow                     {megabytes / ours:7.1f} MB/s  {size:,} characters")
    print(f"  iterparse + BeautifulSoup  {megabytes / theirs:7.1f} MB/s  {their_size:,} characters")
    print(f"  ratio                      {theirs / ours:7.2f}×")
    megabytes = sum(len(body.encode()) for body in bodies) / 1e6
    ours, size = best_seconds(bodies_with_barrow, bodies, options.passes)
    theirs, their_size = best_seconds(bodies_with_beautiful_soup, bodies, options.passes)
    print(f"HTML to text, {megabytes:.1f} MB of bodies")
    print(f"  barrow                     {megabytes / ours:7.1f} MB/s  {size:,} characters")
    print(f"  BeautifulSoup              {megabytes / theirs:7.1f} MB/s  {their_size:,} characters")
    print(f"  ratio                      {theirs / ours:7.2f}×")


if __name__ == "__main__":
    main()
