"""PILE-1: links of wikitext, as MediaWiki shows them."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from barrow.corpus.text.wikitext.links import Links
from barrow.corpus.text.wikitext.marks import GONE

LINKS = Links()
WITH_CAPTIONS = Links(captions=True)
GERMAN = Links(files=("datei", "file"), categories=("kategorie",))

FLAT = {
    "": "",
    "no link": "no link",
    "[[mound]]s": "mounds",
    "[[Mound|barrow]]": "barrow",
    "[[Mound#Shape]]": "Mound#Shape",
    "[[Mound|]]": "Mound",
    "[[水|みず]] [[Ä (ö)|ß]]": "みず ß",
    # Blanks around a target are none of the text; those of a label are.
    "x[[ mound ]]y [[mound ]]s": "xmoundy mounds",
    "x[[a| b ]]y": "x b y",
    "[[ a | b]]": " b",
    "[[a:b c ]]": "a:b c",
    # Namespaces.
    "[[File:a.jpg]][[IMAGE: a.jpg|thumb]]": f"{GONE}{GONE}",
    "[[Category:Mounds]][[category : Mounds|*]]": f"{GONE}{GONE}",
    "[[:Category:Mounds]] [[:File:a.jpg|a file]]": "Category:Mounds a file",
    "[[Categories]] [[Filed:x]] [[Help:Link|help]]": "Categories Filed:x help",
    # Other languages; other sites with short names are links like others.
    "[[fr:Tumulus]][[zh-min-nan:X]][[simple:X]][[fr:Tumulus|x]]": GONE * 4,
    "[[:fr:Tumulus]] [[:fr:Tumulus|x]]": "fr:Tumulus x",
    "[[Re:Zero]] [[w:Mound|x]] [[wikt:mound]]": "Re:Zero x wikt:mound",
    "[[doi:10.1/x|a]] [[mw:Help|b]] [[voy:Paris|c]] [[rfc:2616]]": "a b c rfc:2616",
    # What is not flat stays.
    "[[a|b [[c]]": "[[a|b c",
    "[[]] [[|]] [[a\nb]] [[a": "[[]]  [[a\nb]] [[a",
    "[[a|{{b}}]]": "[[a|{{b}}]]",
    "[a] [[[b]]]": "[a] [b]",
}


@pytest.mark.parametrize("source", FLAT)
def test_flat_links(source: str) -> None:
    assert LINKS.without_flat(source) == FLAT[source]


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        # Help:Pipe trick.
        ("Pipe (computing)", "Pipe"),
        ("Phoenix, Arizona", "Phoenix"),
        ("Yours, Mine and Ours (1968 film)", "Yours, Mine and Ours"),
        ("Boston (Lincolnshire), England", "Boston"),
        ("Il buono, il brutto, il cattivo", "Il buono"),
        ("Wikipedia:Village pump", "Village pump"),
        ("Wikipedia:Village pump (technical)", "Village pump"),
        (":fr:Tumulus (archéologie)", "Tumulus"),
        ("Help:a:b", "a:b"),
        ("1,000", "1,000"),
        ("香港（消歧义）", "香港"),
        ("Plain", "Plain"),
    ],
)
def test_nothing_behind_the_pipe(target: str, shown: str) -> None:
    assert LINKS.without_flat(f"[[{target}|]]") == shown


ALL = {
    "": "",
    "[[a|b [[c]] d]]": "b c d",
    "[[File:a|x [[b]] [[c]]]] d": f"{GONE} d",
    "[[File:a|[[File:b|[[c]]]]]]d": f"{GONE}d",
    "[[Category:[[a]]]]b": f"{GONE}b",
    "a[[File:a|[[b]]]]c[[Category:[[a]]]]d": "acd",
    "[[:Category:a [[b]]]]": "Category:a b",
    "a]] b [[c": f"a b {GONE}c",
    "[[a|b": f"{GONE}a|b",
    # To the web.
    "[https://x.org/a words here]": "words here",
    "[http://x.org] [ftp://x a] [//x.org b] [HTTPS://X.ORG c]": f"{GONE} a b c",
    "[mailto:a@x.org d] [news:x.y e] [tel:+49 f] [ircs://x g] [sftp://x h]": "d e f g h",
    "[https://x.org\twords]": "words",
    "[https://x.org ]": GONE,
    "[https://x.org/(a) b]": "b",
    "[https://x.org a\nb]": "[https://x.org a\nb]",
    "[https:x] [x.org a] [ https://x.org a] https://x.org": (
        "[https:x] [x.org a] [ https://x.org a] https://x.org"
    ),
}


@pytest.mark.parametrize("source", ALL)
def test_links_that_are_left(source: str) -> None:
    assert LINKS.without_all(source) == ALL[source]


CAPTIONS = {
    "thumb|A mound": "A mound",
    "thumb|left|200px|x300px|100x200px|upright=1.2|alt=b|link=|A mound": "A mound",
    "A mound|thumb": "A mound",
    "one|two": "two",
    "Thumb|FRAMELESS| Ein Hügel, 水 ": "Ein Hügel, 水",
    "thumb|lefty 20px": "lefty 20px",
    "thumb|alt=x": "",
    "thumb|": "",
    "": "",
}


@pytest.mark.parametrize("label", CAPTIONS)
def test_captions(label: str) -> None:
    words = CAPTIONS[label]
    shown = f"\n\n{words}\n\n" if words else GONE
    source = f"[[File:a.jpg|{label}]]" if label else "[[File:a.jpg]]"
    assert WITH_CAPTIONS.without_flat(f"a{source}b") == f"a{shown}b"
    assert WITH_CAPTIONS.without_all(f"a{source}b") == f"a{shown}b"
    assert LINKS.without_flat(source) == LINKS.without_all(source) == GONE


def test_links_in_captions() -> None:
    source = "[[File:a.jpg|thumb|A [[mound|barrow]] of [https://x.org stone]]]"
    assert WITH_CAPTIONS.without_all(source) == "\n\nA barrow of stone\n\n"


def test_what_a_wiki_calls_them() -> None:
    assert GERMAN.without_flat("[[Datei:a]][[File:a]][[Kategorie:a]]") == GONE * 3
    assert GERMAN.without_flat("[[Image:a]] [[Category:b]]") == "Image:a Category:b"


@pytest.mark.parametrize(
    "piece",
    [
        "[[",
        "]]",
        "[[a|",
        "[[ ",
        "[[a:",
        "[[a|b]]",
        "[[a ]]",
        "[http://a ",
        "[",
        "[[File:a|",
        "[[a]",
    ],
)
def test_time_is_linear(piece: str) -> None:
    """In linear time."""
    text = piece * 40
    assert len(LINKS.without_all(LINKS.without_flat(text))) <= len(text)
    check_linear(lambda n: LINKS.without_all(LINKS.without_flat(piece * n)), 3_000)


@pytest.mark.parametrize("piece", [" ", ":", "(", "()", ", ", " (", "a,", ")"])
def test_time_is_linear_inside_a_link(piece: str) -> None:
    for link in ("[[a:{}|]]", "[[{}]]", "[[a|{}]]", "[http://a {}"):
        source = link.format(piece * 40)
        assert len(LINKS.without_all(LINKS.without_flat(source))) <= len(source)

        def act(n: int, link: str = link) -> str:
            return LINKS.without_all(LINKS.without_flat(link.format(piece * n)))

        check_linear(act, 5_000)
