from __future__ import annotations

from barrow.corpus.text.html import main_names


def test_names() -> None:
    assert (
        main_names.names(" class=\"a b\" data-x=y id=mainPart role='main'") == "a b main-Part main"
    )


def test_what_names_say() -> None:
    assert main_names.is_other("post-comments")
    assert main_names.is_other(main_names.names("class=relatedArticles"))
    assert not main_names.is_other("commentary advice navy")
    assert main_names.is_perhaps_other("img-caption")
    assert main_names.is_article(main_names.names("itemprop=articleBody"))
    assert main_names.is_article("td-post-content")
    assert not main_names.is_article("article")
    assert main_names.is_content("content")
    assert main_names.is_hidden(' style="color:red; display: none"')
    assert main_names.is_hidden(" hidden")
    assert not main_names.is_hidden(' class="hidden-gem"')


def test_what_lines_say() -> None:
    for line in ("Share this on a network", "Advertisement", "Read more: a story", "© 2019 We"):
        assert main_names.is_phrase_of_page(line)
    for line in ("Shares fell on Monday.", "Reading more is good.", "Tags were found on the site."):
        assert not main_names.is_phrase_of_page(line)
    assert main_names.is_lead_elsewhere("More Great Stories")
    assert not main_names.is_lead_elsewhere("More about the mound")
