from __future__ import annotations

from barrow.corpus.text.html.encoding import decode_page


def test_a_few_wrong_bytes_do_not_change_the_encoding() -> None:
    data = b"<meta charset=shift_jis>" + "日本語の文章です。".encode("shift_jis") * 50 + b"\xff"
    found = decode_page(data)
    assert found is not None
    assert found[1] == "cp932"
    assert found[0].count("日本語") == 50


def test_what_the_server_says_comes_first() -> None:
    data = "<meta charset=koi8-r>Привет".encode("cp1251")
    assert decode_page(data, "text/html;charset=windows-1251") == (
        "<meta charset=koi8-r>Привет",
        "cp1251",
    )


def test_names_with_blanks() -> None:
    text = '<meta http-equiv=Content-Type content="text/html; charset=ISO 8859-2">zażółć gęślą jaźń'
    assert decode_page(text.encode("iso8859-2")) == (text, "iso8859-2")
    data = "Привет".encode("cp1251")
    assert decode_page(data, 'text/html; charset="Windows 1251"') == ("Привет", "cp1251")
