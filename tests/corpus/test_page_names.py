from __future__ import annotations

from barrow.corpus import page_names


def test_names() -> None:
    assert (
        page_names.names(" class=\"a b\" data-x=y id=mainPart role='main'") == "a b main-Part main"
    )


def test_what_names_say() -> None:
    assert page_names.is_other("post-comments")
    assert page_names.is_other(page_names.names("class=relatedArticles"))
    assert not page_names.is_other("commentary advice navy")
    assert page_names.is_perhaps_other("img-caption")
    assert page_names.is_article(page_names.names("itemprop=articleBody"))
    assert page_names.is_article("td-post-content")
    assert not page_names.is_article("article")
    assert page_names.is_content("content")
    assert page_names.is_hidden(' style="color:red; display: none"')
    assert page_names.is_hidden(" hidden")
    assert not page_names.is_hidden(' class="hidden-gem"')


def test_what_lines_say() -> None:
    for line in ("Share this on a network", "Advertisement", "Read more: a story", "© 2019 We"):
        assert page_names.is_phrase_of_page(line)
    for line in ("Shares fell on Monday.", "Reading more is good.", "Tags were found on the site."):
        assert not page_names.is_phrase_of_page(line)
    assert page_names.is_lead_elsewhere("More Great Stories")
    assert not page_names.is_lead_elsewhere("More about the mound")
