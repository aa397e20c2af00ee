"""Journal articles in JATS (PILE-6)."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.items import sorted_out, write
from tests.linear import check_linear

from barrow import Document
from barrow.corpus.readers.jats import Jats
from barrow.corpus.readers.reader import Reject

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) '
    'Journal Archiving DTD v1.0 20120330//EN" "JATS-archivearticle1.dtd">\n'
)
META = """<journal-meta><journal-title-group><journal-title>Mound Letters</journal-title>
</journal-title-group></journal-meta><article-meta>
<article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">456</article-id>
<article-id pub-id-type="doi">10.1/m.1</article-id>
<title-group><article-title>Pollen in H<sub>2</sub>O<xref ref-type="fn" rid="a">*</xref>
</article-title><subtitle>A survey</subtitle></title-group>
<contrib-group><contrib><name><surname>Digger</surname></name></contrib></contrib-group>
<aff>Somewhere</aff>
<pub-date pub-type="ppub"><month>Dec</month><year>2011</year></pub-date>
<pub-date pub-type="epub"><day>5</day><month>10</month><year>2011</year></pub-date>
<permissions><copyright-year>2011</copyright-year><license license-type="open-access"
xlink:href="http://creativecommons.org/licenses/by-nc/3.0/"><license-p>Open.</license-p></license>
</permissions>
<abstract><p>We dug.</p></abstract>
<abstract abstract-type="summary"><title>Author Summary</title><p>We dug a lot.</p></abstract>
<abstract abstract-type="graphical"><p>A picture.</p></abstract>
<trans-abstract xml:lang="de"><p>Wir gruben.</p></trans-abstract></article-meta>"""
FRONT = f"<front>{META}</front>"
MEMBER_XML = "<article><front/><body><p>In a {}.</p></body></article>"


def article(body: str, *, back: str = "", front: str = "", attributes: str = "") -> bytes:
    content = f"{front}<body>{body}</body>{f'<back>{back}</back>' if back else ''}"
    names = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math'
    return f'{HEAD}<article {names}/MathML" {attributes}>{content}</article>'.encode()


@pytest.fixture
def text(tmp_path: Path):  # type: ignore[no-untyped-def]
    """The text of an article with that body."""

    def text(body: str, back: str = "", **options: bool) -> str:
        path = write(tmp_path / "a.xml", article(body, back=back))
        (document,) = Jats(**options).read(path)  # type: ignore[arg-type]
        assert isinstance(document, Document), document
        return document.text

    return text


def test_an_article(tmp_path: Path) -> None:
    """PILE-6: title, abstracts, sections by depth; what the front says about itself in meta."""
    body = """<sec><label>1.</label><title>Methods</title><p>We used
    <italic>Quercus</italic>&#160;pollen &amp; x &lt; y &alpha;.</p>
    <sec><title>Digging</title><p>Deep.</p></sec></sec><sec><title>Results</title><p>Much.</p></sec>
    """
    attributes = 'xml:lang="en" article-type="research-article"'
    path = write(tmp_path / "a.nxml", article(body, front=FRONT, attributes=attributes))
    assert list(Jats().read(path)) == [
        Document(
            "# Pollen in H2O: A survey\n\n## Abstract\n\nWe dug.\n\n## Author Summary\n\n"
            "We dug a lot.\n\n## 1. Methods\n\nWe used Quercus pollen & x < y α.\n\n"
            "### Digging\n\nDeep.\n\n## Results\n\nMuch.",
            {
                "title": "Pollen in H2O: A survey",
                "url": "https://doi.org/10.1/m.1",
                "date": "2011-10-05",
                "language": "en",
                "licence": "CC-BY-NC-3.0",
                "pmid": "123",
                "pmcid": "PMC456",
                "doi": "10.1/m.1",
                "journal": "Mound Letters",
                "article_type": "research-article",
            },
        )
    ]
    assert list(Jats().read(path)) == list(Jats().read(path))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>10<sup>6</sup> m<sup>2</sup> Ca<sup>2+</sup> Na<sup>+</sup>", "10^6 m^2 Ca^2+ Na+"),
        ("<p>CO<sub>2</sub> x<sub>i</sub> IC<sub>50</sub> 1<sup>st</sup>", "CO2 x_i IC50 1st"),
        ("<p>a<sub>i<sub>j</sub></sub>, p<sup>a b</sup>, <sup>14</sup>C", "a_i_j, p^(a b), 14C"),
        ('<p>risk<sup><xref ref-type="bibr">1</xref>,2</sup>.', "risk [1,2]."),
        ('<p>risk <xref ref-type="bibr"><sup>3</sup></xref>', "risk [3]"),
        ('<p>see [<xref ref-type="bibr">3</xref>], <xref ref-type="fig">Fig 1</xref>',) * 1
        + ("see [3], Fig 1",),
        (
            "<p>a <ext-link xlink:href='x'>link</ext-link><break/>next<?pi x?><!-- > -->.",
            "a link next.",
        ),
        ("<p><![CDATA[a <b> & c]]> d", "a <b> & c d"),
        ("<p>a<inline-graphic xlink:href='x.gif'/>b", "ab"),
    ],
)
def test_inline(text, body: str, expected: str) -> None:  # type: ignore[no-untyped-def]
    assert text(f"{body}</p>") == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (
            "<tex-math>\\documentclass{x}\\begin{document}$$a_1 &lt; b$$\\end{document}</tex-math>",
            "a_1 < b",
        ),
        (
            (
                "<alternatives><graphic xlink:href='x'/><tex-math>$x$</tex-math><mml:math>"
                "<mml:mi>y</mml:mi></mml:math></alternatives>"
            ),
            "x",
        ),
        (
            "<mml:math><mml:mfrac><mml:mn>1</mml:mn><mml:mi>n</mml:mi></mml:mfrac></mml:math>",
            r"\frac{1}{n}",
        ),
    ],
)
def test_formulae(text, formula: str, expected: str) -> None:  # type: ignore[no-untyped-def]
    inline = text(f"<p>so <inline-formula>{formula}</inline-formula> it is</p>")
    assert inline == f"so ${expected}$ it is"
    display = text(f"<p>so<disp-formula><label>(1)</label>{formula}</disp-formula>it is</p>")
    assert display == f"so\n\n$${expected}$$ (1)\n\nit is"
    if not formula.startswith("<alt"):
        assert text(f"<p>so {formula} it is</p>") == f"so ${expected}$ it is"


def test_formulae_that_are_letters_or_pictures(tmp_path: Path) -> None:
    body = """<p>a <inline-formula><italic>x</italic><sub>i</sub></inline-formula> b
    <inline-formula><inline-graphic xlink:href="e1"/></inline-formula> c</p>
    <disp-formula><label>(2)</label><graphic xlink:href="e2"/></disp-formula><inline-formula/>"""
    (document,) = Jats().read(write(tmp_path / "a.xml", article(body)))
    assert document == Document("a x_i b [formula] c\n\n[formula] (2)", {"formula_images": 2})


def test_lists_quotes_boxes_terms_and_code(text) -> None:  # type: ignore[no-untyped-def]
    body = """<p>These:<list list-type="order"><list-item><p>one</p></list-item>
    <list-item><p>two</p><list list-type="bullet"><list-item><p>in</p><p>side</p></list-item>
    </list></list-item></list>after</p>
    <list list-type="alpha-lower"><list-item><p>a</p></list-item></list>
    <list list-type="roman-upper"><list-item/><list-item><p>b</p></list-item></list>
    <list list-type="simple"><list-item><label>(x)</label><p>c</p></list-item></list>
    <disp-quote><p>said</p><p>so</p><attrib>She</attrib></disp-quote>
    <boxed-text><caption><title>Box</title></caption><p>Inside</p></boxed-text>
    <def-list><def-item><term>DNA</term><def><p>acid</p></def></def-item></def-list>
    <speech><speaker>A:</speaker><p>Hello</p></speech>
    <verse-group><verse-line>l1</verse-line><verse-line>l2</verse-line></verse-group>
    <preformat>if x:
    y

  z</preformat><p>run <code>ls -l</code> now</p>"""
    assert text(body) == (
        "These:\n\n1. one\n2. two\n   - in\n     side\n\nafter\n\na. a\n\nII. b\n\n(x) c\n\n"
        "> said\n>\n> so\n>\n> She\n\nBox.\n\nInside\n\nDNA: acid\n\nA: Hello\n\nl1\n\nl2\n\n"
        "```\nif x:\n    y\n\n  z\n```\n\nrun `ls -l` now"
    )


def test_tables_and_figures(text) -> None:  # type: ignore[no-untyped-def]
    body = """<p>See<fig id="f"><object-id>x</object-id><label>Figure 1</label><caption>
    <title>Mounds</title><p>From <bold>above</bold>.</p></caption><graphic xlink:href="g"><alt-text>
    alt</alt-text></graphic><permissions><copyright-statement>c</copyright-statement></permissions>
    </fig> there.</p>
    <table-wrap><label>Table 1</label><caption><p>Sizes</p></caption><alternatives>
    <graphic xlink:href="t"/><table><colgroup><col/></colgroup><thead><tr><th rowspan="2">Site</th>
    <th colspan="2">Size</th></tr><tr><th>a|b</th><th>m<sup>2</sup></th></tr></thead>
    <tbody><tr><td>North<xref ref-type="fn"><sup>a</sup></xref></td><td><p>1</p><p>2</p></td><td/>
    </tr><tr><td/><td/><td/></tr></tbody></table></alternatives>
    <table-wrap-foot><fn><label>a</label><p>Old.</p></fn></table-wrap-foot></table-wrap>
    <array><tbody><tr><td>x</td><td>y</td></tr></tbody></array>"""
    assert text(body) == (
        "See there.\n\nFigure 1. Mounds. From above.\n\nTable 1. Sizes\n\n"
        "| Site | Size |  |\n|  | a\\|b | m^2 |\n| --- | --- | --- |\n| North^a | 1 2 |  |\n\n"
        "a Old.\n\n| x | y |"
    )


def test_back_matter_and_options(text) -> None:  # type: ignore[no-untyped-def]
    """References are dropped as in The Pile, acknowledgements too; both can be kept."""
    back = """<ack><title>Thanks</title><p>To all.</p></ack><app-group><app><title>App</title>
    <p>More.</p></app></app-group><fn-group><fn fn-type="conflict"><p>None.</p></fn>
    <fn><label>1</label><p>A note.</p></fn></fn-group><glossary><title>Words</title></glossary>
    <ref-list><title>References</title><ref><label>1</label><mixed-citation>Digger A. <source>Mounds
    </source>. 2001.</mixed-citation></ref><ref><element-citation><person-group><name><surname>Ott
    </surname><given-names>B</given-names></name></person-group><year>1999</year><article-title>Hi
    </article-title><source>J</source><volume>2</volume><fpage>3</fpage><lpage>5</lpage>
    </element-citation></ref></ref-list>"""
    body = "<p>Body<fn><p>inside</p></fn> goes on.</p>"
    kept = "Body goes on.\n\ninside\n\n### App\n\nMore.\n\n1 A note."
    assert text(body, back) == kept
    assert text(body + "<sec><ref-list><ref>x</ref></ref-list></sec>", back) == kept
    thanks = text(body, back, acknowledgements=True)
    assert thanks == kept.replace("inside\n", "inside\n\n## Thanks\n\nTo all.\n")
    assert text(body, back, references=True).endswith(
        "1 A note.\n\n## References\n\n1 Digger A. Mounds . 2001.\n\nOtt B, 1999. Hi . J. 2: 3-5."
    )


def test_parts_of_other_articles_and_supplements(text) -> None:  # type: ignore[no-untyped-def]
    body = """<sec><title>Supporting</title><supplementary-material><label>Text S1</label><caption>
    <title>Data</title><p>(0.06 MB DOC)</p></caption><media><caption><p>Click here.</p></caption>
    </media></supplementary-material></sec><sec><title>Empty</title><sec><title>Too</title></sec>
    </sec>"""
    rest = """</back><sub-article article-type="reply"><front-stub><article-id>9</article-id>
    <title-group><article-title>Answer <italic>to</italic></article-title></title-group>
    <contrib-group><contrib>X</contrib></contrib-group></front-stub><body><p>Yes.</p></body></sub-article>
    <sub-article article-type="translation"><body><p>Ja.</p></body></sub-article><back>"""
    assert text(body, rest) == "## Supporting\n\nText S1. Data.\n\n## Answer to\n\nYes."


def test_without_a_body(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xml", article("", front=FRONT))
    assert [
        (item.reason, item.excerpt) for item in Jats().read(path) if isinstance(item, Reject)
    ] == [("no-body", "Pollen in H2O: A survey")]
    (document,) = sorted_out(list(Jats(abstract_only=True).read(path)))[0]
    assert document.text.endswith("We dug a lot.")
    path = write(tmp_path / "b.xml", article(""))
    assert [r.reason for r in sorted_out(list(Jats(abstract_only=True).read(path)))[1]] == [
        "no-body"
    ]


def test_packed_and_many(tmp_path: Path) -> None:
    packed = tmp_path / "oa_comm.tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        broken = "<article><body><p>x</body></article>"
        for name, data in (
            *(("PMC1/a.xml", MEMBER_XML.format("tar")), ("PMC1/b.nxml", broken), ("c.pdf", "%PDF")),
            *(
                ("../up.xml", "<article/>"),
                ("d.xml", "<html/>"),
                ("e.xml", MEMBER_XML.format("row")),
            ),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data.encode()))
    documents, rejects = sorted_out(list(Jats().read(packed)))
    assert [(d.text, d.meta) for d in documents] == [
        ("In a tar.", {"member": "PMC1/a.xml"}),
        ("In a row.", {"member": "e.xml"}),
    ]
    assert [(r.reason, r.member) for r in rejects] == [
        *(("bad-xml", "PMC1/b.nxml"), ("unknown-file", "c.pdf"), ("unsafe-name", "../up.xml")),
        ("not-jats", "d.xml"),
    ]
    cut = write(tmp_path / "cut.tar.gz", packed.read_bytes()[:-40])
    assert sorted_out(list(Jats().read(cut)))[1][-1].reason == "truncated"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.xml", MEMBER_XML.format("zip"))
    one = MEMBER_XML.format("set")
    many = f"<pmc-articleset>{one}<!-- {one} -->{one}<article>{one[:-20]}"
    for path, num in (
        (tmp_path / "a.zip", 1),
        (write(tmp_path / "a.xml.gz", gzip.compress(one.encode())), 1),
        (write(tmp_path / "set.xml", many.encode()), 2),
        (write(tmp_path / "u.xml", one.encode("utf-16")), 1),
        (write(tmp_path / "v.xml", one.encode("utf-16-be")), 1),
    ):
        documents, rejects = sorted_out(list(Jats().read(path)))
        assert len(documents) == num
        assert [r.reason for r in rejects] == (["truncated"] if num == 2 else [])


def test_what_is_mended(tmp_path: Path) -> None:
    """HTML's named characters without a DTD, bare ampersands, other encodings and prefixes."""
    for data in (
        b"<article><body><p>na&iuml;ve &amp; caf&eacute;</p></body></article>",
        "<article><body><p>naïve & café</p></body></article>".encode(),
        "<article><body><p>naïve &amp; caf\x01é</p></body></article>".encode(),
        "<article><body><p>naïve &amp; café</p></body></article>".encode("latin-1"),
        '<?xml version="1.0" encoding="cp850"?><article><body><p>naïve &amp; café</p></body>'
        "</article>".encode("cp850"),
        '<article xmlns:j="x"><j:body><j:p>naïve &amp; café</j:p></j:body></article>'.encode(),
    ):
        (document,) = Jats().read(write(tmp_path / "a.xml", data))
        assert isinstance(document, Document)
        assert document.text == "naïve & café"


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    laughs = '<!DOCTYPE article [<!ENTITY a "haha"><!ENTITY b "&a;&a;">]><article><body><p>&b;</p>'
    outside = '<!DOCTYPE article [<!ENTITY a SYSTEM "file:///etc/passwd">]><article>&a;</article>'
    good = article("<p>x</p>")
    for data, reason in (
        (b"", "empty"),
        (b"   ", "not-jats"),
        (b"<html><body>no</body></html>", "not-jats"),
        (bytes(5000), "not-jats"),
        (laughs.encode(), "bad-xml"),
        (laughs.encode("utf-16"), "bad-xml"),
        (outside.encode(), "bad-xml"),
        (good[:-5], "truncated"),
        (good.replace(b"</p>", b""), "bad-xml"),
        (gzip.compress(good)[:-9], "truncated"),
        (b"PK\3\4 no zip", "truncated"),
    ):
        documents, rejects = sorted_out(list(Jats().read(write(path, data))))
        assert [r.reason for r in rejects] == [reason], data[:40]
        assert len(documents) == (data[:2] == b"\x1f\x8b"), "what precedes the damage is kept"
    assert [r.reason for r in Jats(max_bytes=50).read(write(path, good))] == ["too-large"]  # type: ignore[union-attr]
    for name in ("missing.xml", "."):
        assert [type(item) for item in Jats().read(tmp_path / name)] == [Reject]


@pytest.mark.parametrize(
    "tag",
    [
        "sec",
        "list",
        "list-item",
        "sup",
        "disp-quote",
        "fig",
        "table",
        "td",
        "math",
        "msqrt",
        "fn",
        "disp-formula",
        "boxed-text",
        "ref-list",
        "alt-text",
        "sub-article",
        "p",
    ],
)
def test_deep_nesting_takes_linear_time(tmp_path: Path, tag: str) -> None:
    start = "<math>" if tag == "msqrt" else "<p>a"
    end = "</math>" if tag == "msqrt" else "</p>"

    def act(depth: int) -> None:
        body = f"{start}{f'<{tag}>b' * depth}<mi>c</mi>{f'</{tag}>' * depth}{end}<p>d</p>"
        (document,) = Jats().read(write(tmp_path / "deep.xml", article(body)))
        assert isinstance(document, Document)
        assert document.text.endswith("d")

    check_linear(act, 5_000)


SEED = article(
    """<sec><title>T</title><p>a<sup>b</sup><xref ref-type="bibr">1</xref><fn><p>n</p></fn>
    <inline-formula><mml:math><mml:msub><mml:mi>x</mml:mi><mml:mi>i</mml:mi></mml:msub></mml:math>
    </inline-formula></p><table><tr><td rowspan="2">c</td></tr><tr><td>d</td></tr></table>
    <list><list-item><p>e</p></list-item></list></sec>""",
    front=FRONT,
)
