from __future__ import annotations

from pathlib import Path

from barrow.corpus.readers.web_pages.scores import bad_lines, open_page_lists


def test_lists_add_up(tmp_path: Path) -> None:
    first, second = tmp_path / "RS_1", tmp_path / "RS_2"
    first.write_text('{"url":"https://a.org/x","score":2}\nbroken\n{"url":"https://a.org/x"}\n')
    second.write_text('{"url":"http://a.org/x/","score":-1,"over_18":true}\n')
    with open_page_lists([first, second]) as lists:
        assert lists.has_scores
        assert lists.submissions_of("https://www.a.org/x") == (1, 2, True)
        assert lists.submissions_of("https://a.org/y") is None
        assert lists.submissions_of("nonsense") is None
    assert [reject.member for reject in bad_lines(first)] == ["line 2", "line 3"]


def test_files_are_found_by_where_they_lie(tmp_path: Path) -> None:
    path = tmp_path / "index.jsonl"
    path.write_text(
        '{"file":"html/../a.html","url":"https://a.org/"}\n{"file":"x\\u0000","url":"u"}'
    )
    with open_page_lists([path]) as lists:
        assert not lists.has_scores
        assert lists.url_of(tmp_path / "a.html") == "https://a.org/"
        assert lists.url_of(tmp_path / "html" / "a.html") == ""
