"""Patents in XML and SGML (PILE-6)."""

from __future__ import annotations

from contextlib import suppress

import pytest
from tests.linear import check_linear

from barrow.corpus.readers.uspto.patent import Block, NotAPatent, Patent
from barrow.corpus.readers.uspto.xml import sgml_blocks, xml_blocks
from barrow.corpus.text.xml.events import BadXml

FRONT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE us-patent-grant SYSTEM "us-patent-grant-v42-2006-08-23.dtd" [ ]>
<us-patent-grant lang="EN" id="us-patent-grant" country="US">
<us-bibliographic-data-grant>
<publication-reference><document-id><country>US</country><doc-number>07272630</doc-number>
<kind>B2</kind><date>20070918</date></document-id></publication-reference>
<application-reference appl-type="utility"><document-id><country>CA</country>
<doc-number>10991571</doc-number><kind>A</kind></document-id></application-reference>
<invention-title id="t">A <i>pump</i>
 for CO<sub>2</sub></invention-title>
<us-references-cited><doc-number>1</doc-number> & < not even XML</us-references-cited>
</us-bibliographic-data-grant>
"""


def description(inner: str) -> str:
    return f'{FRONT}<description id="d">{inner}</description></us-patent-grant>'


def texts(inner: str) -> list[str]:
    return [block.text for block in xml_blocks(description(inner), Patent())]


def test_grant() -> None:
    patent = Patent()
    text = f"""{FRONT}<abstract><p num="1">In short.</p></abstract><p>Astray.</p>
    <drawings><figure><img id="i"/></figure></drawings>
    <description id="d">
    <?RELAPP description="Other Patent Relations" end="lead"?>
    <heading level="1">RELATED</heading><p>A continuation.</p>
    <?RELAPP description="Other Patent Relations" end="tail"?>
    <heading level="1">BACKGROUND</heading>
    <p id="p-1" num="0001">Pumps, see <figref idref="D">FIG. <b>1</b></figref>,
    leak.</p>
    <?BRFSUM description="Brief Summary" end="tail"?>
    <description-of-drawings><p>FIG. 1.</p></description-of-drawings>
    <?DETDESC description="Detailed Description" end="lead"?>
    <p>In detail.</p>
    <?DETDESC description="Detailed Description" end="tail"?>
    </description>
    <us-claim-statement>What is claimed is:</us-claim-statement>
    <claims><claim num="1"><claim-text>1. A pump:<claim-text>with a seal.</claim-text></claim-text>
    </claim></claims></us-patent-grant>"""
    assert list(xml_blocks(text, patent)) == [
        Block(False, "abstract", "In short."),
        Block(True, "aside", "RELATED"),
        Block(False, "aside", "A continuation."),
        Block(True, "body", "BACKGROUND"),
        Block(False, "body", "Pumps, see FIG. 1, leak."),
        Block(False, "drawings", "FIG. 1."),
        Block(False, "detail", "In detail."),
        Block(False, "claims", "1. A pump:\nwith a seal."),
    ]
    assert patent == Patent(
        number="7272630",
        kind_code="B2",
        date="2007-09-18",
        country="US",
        title="A pump for CO2",
        sort="utility",
    )


def test_another_documents_fields_are_not_taken() -> None:
    patent = Patent()
    text = description("<p>x</p>").replace("<kind>B2</kind><date>20070918</date>", "")
    assert len(list(xml_blocks(text, patent))) == 1
    assert (patent.name, patent.kind_code, patent.date) == ("US7272630", "", "")


APPLICATION = """<?xml version="1.0"?>
<!DOCTYPE patent-application-publication SYSTEM "pap-v15-2001-01-31.dtd" [
<!ENTITY US1-D00001.TIF SYSTEM "US1-D00001.TIF" NDATA TIF>
]>
<patent-application-publication><subdoc-bibliographic-information>
<document-id><doc-number>20010009014</doc-number><kind-code>A1</kind-code>
<document-date>20010719</document-date></document-id>
<technical-information><title-of-invention>A pump</title-of-invention></technical-information>
<continuity-data><document-id><country-code>JP</country-code></document-id></continuity-data>
</subdoc-bibliographic-information>
<subdoc-abstract><paragraph id="A-1">In short.</paragraph></subdoc-abstract>
<subdoc-description>
<cross-reference-to-related-applications><paragraph>No.</paragraph>
</cross-reference-to-related-applications><paragraph>Loose.</paragraph>
<background-of-invention><section><heading lvl="1">PUMPS </heading>
<paragraph id="P-2"><number>&lsqb;0002&rsqb;</number> Pumps &ldquo;leak&rdquo;
10<highlight><superscript>3
</superscript></highlight> l. <table-cwu id="t"><number>1</number>no</table-cwu></paragraph>
</section></background-of-invention>
<brief-description-of-drawings><paragraph>FIG. 1</paragraph></brief-description-of-drawings>
<detailed-description><paragraph>In detail.</paragraph></detailed-description>
</subdoc-description>
<subdoc-claims><claim id="C"><claim-text><highlight><bold>1</bold></highlight>. A pump.</claim-text>
</claim></subdoc-claims></patent-application-publication>"""


def test_application() -> None:
    patent = Patent()
    assert list(xml_blocks(APPLICATION, patent)) == [
        Block(False, "abstract", "In short."),
        Block(False, "aside", "No."),
        Block(False, "body", "Loose."),
        Block(True, "background", "PUMPS"),
        Block(False, "background", "Pumps “leak” 10^3 l."),
        Block(False, "drawings", "FIG. 1"),
        Block(False, "detail", "In detail."),
        Block(False, "claims", "1. A pump."),
    ]
    assert patent.is_application
    assert (patent.name, patent.date, patent.title) == ("US20010009014A1", "2001-07-19", "A pump")


ST32 = """<PATDOC DTD="2.4" STATUS="BUILD 20001002">
<SDOBI><B100><B110><DNUM><PDAT>06336130</PDAT></DNUM></B110><B130><PDAT>B1</PDAT></B130>
<B140><DATE><PDAT>20010102</PDAT></DATE></B140><B190><PDAT>US</PDAT></B190></B100>
<B500><B540><STEXT><PDAT>A pump</PDAT></STEXT></B540>
<B560><B561><PCIT><DOC><DNUM><PDAT>1</PDAT></DNUM></DOC></PCIT>{empty}</B561></B560></B500></SDOBI>
<SDOAB><BTEXT><PARA ID="P-1" LVL="0"><PTEXT><PDAT>In short.</PDAT></PTEXT></PARA></BTEXT></SDOAB>
<SDODE><RELAPP><BTEXT><PARA><PTEXT><PDAT>No.</PDAT></PTEXT></PARA></BTEXT></RELAPP>
<BRFSUM><BTEXT><H LVL="1"><STEXT><PDAT>BACKGROUND</PDAT></STEXT></H>
<PARA ID="P-2" LVL="0"><PTEXT><PDAT>Pumps &amp; &agr;, 46</PDAT><HIL><SP><PDAT>th </PDAT></SP>
</HIL><PDAT>in &lsquo;FIG&rsquo;. {image}</PDAT><CWU><MATH-US><math><mi>x</mi></math></MATH-US>
</CWU><HIL><BOLD><PDAT>1</PDAT></BOLD>
</HIL><PDAT>is.</PDAT></PTEXT></PARA></BTEXT></BRFSUM>
<DRWDESC><BTEXT><PARA><PTEXT><PDAT>FIG. 1.</PDAT></PTEXT></PARA></BTEXT></DRWDESC>
<DETDESC><BTEXT><PARA><PTEXT><PDAT>In detail.</PDAT></PTEXT></PARA></BTEXT></DETDESC></SDODE>
<SDOCL><CL><CLM ID="C"><PARA><PTEXT><PDAT>1. A pump:</PDAT></PTEXT></PARA><CLMSTEP><PTEXT>
<PDAT>a seal.</PDAT></PTEXT></CLMSTEP></CLM></CL></SDOCL></PATDOC>
"""
ENTITY = '[\n<!ENTITY US1-D00000.TIF SYSTEM "US1-D00000.TIF" NDATA TIF>\n]>\n'


@pytest.mark.parametrize("form", ["xml", "sgml"])
def test_st32(form: str) -> None:
    patent = Patent()
    if form == "xml":
        inner = ST32.format(empty="<CITED-BY-EXAMINER/>", image='<EMI FILE="x"/>')
        prologue = '<?xml version="1.0"?>\n<!-- <!DOCTYPE a [ -->\n<!DOCTYPE PATDOC SYSTEM "x.dtd" '
        blocks = list(xml_blocks(prologue + ENTITY + inner, patent))
    else:
        inner = ST32.format(
            empty="<CITED-BY-EXAMINER>", image='<EMI FILE="x"><CUSTOM-CHARACTER ID="c">'
        )
        prologue = '<!DOCTYPE PATDOC PUBLIC "-//USPTO//DTD ST.32 US PATENT GRANT V2.4//EN" '
        blocks = list(sgml_blocks(prologue + ENTITY + inner, patent))
    assert blocks == [
        Block(False, "abstract", "In short."),
        Block(False, "aside", "No."),
        Block(True, "body", "BACKGROUND"),
        Block(False, "body", "Pumps & α, 46th in ‘FIG’. 1 is."),
        Block(False, "drawings", "FIG. 1."),
        Block(False, "detail", "In detail."),
        Block(False, "claims", "1. A pump:\na seal."),
    ]
    assert (patent.name, patent.date, patent.title) == ("US6336130B1", "2001-01-02", "A pump")


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (
            "<p>10<sup>6</sup> cm<sup>2</sup> Ca<sup>2+</sup> <sup>14</sup>C</p>",
            "10^6 cm^2 Ca2+ 14C",
        ),
        ("<p>H<sub>2</sub>O, F<sup>n&#x2212;1</sup></p>", "H2O, F^(n−1)"),
        ("<p>where <maths id='m'><math><mi>x</mi></math></maths> is</p>", "where is"),
        ("<p>of <chemistry><img/>x</chemistry><tables>1</tables>it</p>", "of it"),
        ("<p>a:<ul><li>one</li><li>two</li></ul>end</p>", "a:\none\ntwo\nend"),
        ("<p>a<br/>b</p>", "a\nb"),
        (
            "<p>let <?in-line-formulae end='lead'?>v=1<?in-line-formulae end='tail'?></p>",
            "let\nv=1",
        ),
        ("<p>&Dgr;T &b.alpha; &alpha; &unheard; &#x3b1; A&B R&amp;D</p>", "ΔT α α α A&B R&D"),
        ("<p>a<p>inner</p>b</p>", "a\ninner\nb"),
        ("<p>one<!-- note -->two<?insert-start id='1'?></p>", "onetwo"),
        ("<p> \n </p><p>x</p><p/>", "x"),
    ],
)
def test_inside_a_paragraph(inner: str, expected: str) -> None:
    assert texts(inner) == [expected]


def test_what_is_no_patent() -> None:
    for text in ("<class-scheme/>", '<?xml version="1.0"?><sequence-cwu id="S"></sequence-cwu>'):
        with pytest.raises(NotAPatent, match="root element"):
            list(xml_blocks(text, Patent()))
    with pytest.raises(NotAPatent):
        list(sgml_blocks("<!DOCTYPE PATDOC><HTML></HTML>", Patent()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<?xml ",
        "<!-- ",
        "<us-patent-grant>",
        description("<p>a</q>"),
        description("<p>a"),
        description("<a>" * 100_000),
        description("<p>\ud800</p>").replace("</description>", ""),
        description("<maths>"),
        "<?xml version='1.0'?><!DOCTYPE us-patent-grant [",
    ],
)
def test_broken_xml(text: str) -> None:
    with pytest.raises(BadXml):
        list(xml_blocks(text, Patent()))


def test_broken_sgml() -> None:
    whole = ST32.format(empty="", image="")
    for text in ("", "<PATDOC>", whole[:1000], whole.replace("</CWU>", "")):
        with pytest.raises(BadXml):
            list(sgml_blocks(text, Patent()))


def test_a_bomb_is_text_without_characters() -> None:
    bomb = '<!DOCTYPE us-patent-grant [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM '
    bomb += '"file:///etc/passwd">]><us-patent-grant><description><p>x&b;&c;y</p></description>'
    assert [block.text for block in xml_blocks(bomb + "</us-patent-grant>", Patent())] == ["xy"]


def test_only_as_much_is_parsed_as_asked_for() -> None:
    blocks = xml_blocks(description("<p>first</p>" + "<p>x</p>" * 10_000 + "<broken"), Patent())
    assert next(blocks).text == "first"


@pytest.mark.parametrize(
    "unit", ["<", "<!--", "<!DOCTYPE [", "<?a ", "<parties>", "&a", "<a ", "<sup>"]
)
def test_time_is_linear(unit: str) -> None:

    def act(n: int) -> None:
        for blocks in (xml_blocks, sgml_blocks):
            for text in (unit * n, description(f"<p>{unit * n}")):
                with suppress(BadXml, NotAPatent):
                    list(blocks(text, Patent()))

    check_linear(act, 3_000)
