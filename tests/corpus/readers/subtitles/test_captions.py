from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.subtitles.captions import Cue, Track, read_captions, without_repeats

SUBRIP = """1
00:00:09,209 --> 00:00:12,312
<i>( clock</i> ticking ) {\\an8}

2
00:01:14,848 --> 01:00:17,350 X1:1 X2:2
<font color="red">Tom &amp; I:</font>

below a blank <sighs> <3
"""
CUES = [Cue(9.0, ["( clock ticking )"]), Cue(74.0, ["Tom & I:", "below a blank <sighs> <3"])]


def test_subrip() -> None:
    assert read_captions(SUBRIP).cues == CUES
    for end in ("\r\n", "\r", "\r\r\n"):
        assert read_captions(SUBRIP.replace("\n", end)).cues == CUES
    no_numbers = "00:00:01 --> 00:00:02\n42\n\n00:00:03.5 --> 00:00:04\nx"
    assert read_captions(no_numbers).cues == [Cue(1.0, ["42"]), Cue(3.0, ["x"])]
    no_blank = "1\n00:00:01,0 --> 00:00:02,0\nx\n2\n00:00:03,0 --> 00:00:04,0\ny"
    assert [cue.lines for cue in read_captions(no_blank).cues] == [["x"], ["y"]]


def test_webvtt() -> None:
    text = (
        "WEBVTT - title\nKind: captions\nLanguage: pt-BR\n\nSTYLE\n::cue { color: red }\n\n"
        "NOTE not\nthis\n\nidentifier\n00:01.000 --> 00:02.000 align:start position:0%\n"
        "<v Ann>Hi &lt;Bob&gt;</v>\n<c.yellow>there</c>\u200b\n\n01:02:03.000 --> 01:02:04.000\nEnd"
    )
    cues = [Cue(1.0, ["Hi <Bob>", "there"]), Cue(3723.0, ["End"])]
    assert read_captions(text) == Track(cues, "pt")


def test_rolling_captions() -> None:
    text = (
        "WEBVTT\n\n00:00.000 --> 00:02.000\n \nso<00:00:00.500><c> today</c>\n\n"
        "00:02.000 --> 00:02.010\nso today\n \n\n"
        "00:02.010 --> 00:04.000\nso today\nwe<00:00:02.500><c> go</c>\n\n"
        "00:04.000 --> 00:05.000\nwe go\n"
    )
    track = read_captions(text)
    assert track.is_rolling
    assert [cue.lines for cue in without_repeats(track)] == [["so today"], [], ["we go"], []]


def test_rolling_is_seen_from_the_cues() -> None:
    lines = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"]]
    rolling = Track([Cue(0.0, pair) for pair in lines])
    assert [cue.lines for cue in without_repeats(rolling)] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
        ["f"],
    ]
    repeated = Track([Cue(0.0, [line]) for line in ["No!", "No!", "Why?", "So.", "So!", "Oh"]])
    assert without_repeats(repeated) == repeated.cues


def test_microdvd() -> None:
    text = "{1}{1}25.000\n{50}{75}{y:i}Hello,|world\n{1500}{}/slanted\nnot a cue"
    assert read_captions(text).cues == [Cue(2.0, ["Hello,", "world"]), Cue(60.0, ["slanted"])]


def test_sami() -> None:
    text = (
        "<SAMI><HEAD><TITLE>T</TITLE><STYLE><!-- .ENCC {lang: en-US;} --></STYLE></HEAD><BODY>"
        '<SYNC Start=9209><P class=ENCC>( clock<br>ticking )\n<SYNC start="10000"><P class="ENCC">'
        "&nbsp;</P></SYNC><SYNC start=61000><P Class=ENCC>Caf&eacute;<P Class=KRCC>\ucee4\ud53c"
    )
    track = read_captions(text)
    assert track.cues == [Cue(9.209, ["( clock", "ticking )"]), Cue(61.0, ["Café"])]
    assert track.language == "en"
    assert [reject.reason for reject in track.rejects] == ["other-language"]
    assert read_captions("<SAMI><BODY>no sync").cues == []


def test_json3() -> None:
    events = [
        {"tStartMs": 0, "id": 1},
        {"tStartMs": 1500, "segs": [{"utf8": "so"}, {"utf8": " today"}]},
        {"tStartMs": 2500, "aAppend": 1, "segs": [{"utf8": "\n"}]},
        {"tStartMs": 61000, "segs": [{"utf8": "two\nlines"}, {"x": 1}, 7]},
        *(None, {"segs": 1}, {"tStartMs": float("inf"), "segs": [{"utf8": "end \ud83d"}]}),
    ]
    cues = read_captions(json.dumps({"wireMagic": "pb3", "events": events})).cues
    assert cues[:2] == [Cue(1.5, ["so today"]), Cue(61.0, ["two", "lines"])]
    assert cues[2].second == 0
    for bad in ("{", "[]", "{}", '{"events": 1}', "[" * 100_000, '{"events": 1e999'):
        assert [reject.reason for reject in read_captions(bad).rejects] == ["bad-json"]


def test_opensubtitles_raw() -> None:
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<document id="1">\n'
        '<s id="1"><time id="T1S" value="00:01:02,500" />\n- Hello, &quot;you&quot; &amp; me!\n'
        '<time id="T1E" value="00:01:04,000" /></s>\n<s id="2">Plain.</s>'
        "<meta><subtitle><language>German</language></subtitle></meta></document>"
    )
    cues = [Cue(64.0, ['- Hello, "you" & me!']), Cue(64.0, ["Plain."])]
    assert read_captions(text) == Track(cues, "de")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("Hello , world !", "Hello, world!"),
        ("I don 't know ( yet ) ...", "I don't know (yet)..."),
        ("He has n't 5 % .", "He hasn't 5%."),
        ("C' est l' été", "C'est l'été"),
        ("我 是 学生 。", "我是学生。"),
    ],
)
def test_opensubtitles_tokenised(words: str, sentence: str) -> None:
    tokens = " ".join(f'<w id="1.{n}">{word}</w>' for n, word in enumerate(words.split()))
    track = read_captions(f'<document><s id="1">{tokens}</s></document>')
    assert [cue.lines for cue in track.cues] == [[sentence]]


def test_ttml_and_youtube_xml() -> None:
    text = (
        '<tt xml:lang="en-GB"><head><styling/></head><body><div>'
        '<p begin="00:00:09.209">\n  MAN:<br/>\n  When <span>we</span> think\n</p>'
        '<p begin="90.5s">x</p><p begin="600000000t">y</p><p>z</p></div></body></tt>'
    )
    cues = [Cue(9.0, ["MAN:", "When we think"]), Cue(90.5, ["x"])]
    assert read_captions(text) == Track([*cues, Cue(60.0, ["y"]), Cue(60.0, ["z"])], "en")
    srv1 = '<transcript><text start="61.5" dur="1">it&amp;#39;s</text></transcript>'
    assert read_captions(srv1).cues == [Cue(61.5, ["it's"])]
    srv3 = (
        '<timedtext format="3"><body><p t="1500"><s>so</s><s t="9"> far</s></p></body></timedtext>'
    )
    assert read_captions(srv3).cues == [Cue(1.5, ["so far"])]


@pytest.mark.parametrize(
    "text",
    ["<document><s>kept</s><s>half", "<document><s>kept</s></wrong>", "<document><s>kept</s><s <"],
)
def test_damaged_xml_keeps_what_precedes(text: str) -> None:
    track = read_captions(text)
    assert track.cues[0].lines == ["kept"]
    assert [reject.reason for reject in track.rejects] == ["bad-xml"]


def test_what_is_refused() -> None:
    assert read_captions("Scenarist_SCC V1.0\n\n00:00:00:00\t9420").rejects[0].reason == "scenarist"
    assert read_captions("<html><p>x</p></html>").rejects[0].reason == "bad-xml"
    bomb = '<!DOCTYPE d [<!ENTITY a "aaaa">]><document><s>&a;</s></document>'
    assert read_captions(bomb).rejects[0].reason == "bad-xml"
    assert read_captions("<document>" + "<s>" * 10_000).rejects[0].reason == "bad-xml"
    assert read_captions("just words") == Track([])


@given(
    st.text(max_size=100), st.sampled_from(["", "WEBVTT\n", "{1}{2}", "<SAMI>", "<document>", "{"])
)
def test_any_text(text: str, start: str) -> None:
    for cue in without_repeats(read_captions(start + text)):
        assert isinstance(cue.second, float | int)
        assert all(line.strip() for line in cue.lines)
