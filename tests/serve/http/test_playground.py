"""The page at `/`, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.pages.chromium import Page
from tests.pages.test_hostile import HOSTILE
from tests.serve.http.conftest import Running, listening
from tests.serve.http.test_service import Stub, writer_of

from barrow.pages.callers import Callers
from barrow.serve.http.served import Served, ServerSettings
from barrow.serve.http.service import Service

SEND = "document.getElementById('ask').requestSubmit()"
DONE = "document.getElementById('count').textContent != ''"


def fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        page.evaluate(f"document.getElementById({name!r}).value = {value!r}")


def test_an_answer_streams_in_and_tokens_show_their_likeliest(
    server: Running, show: Callable[..., Page]
) -> None:
    page = show(server.url + "/")
    assert page.texts("h1") == ["small"]
    fill(page, prompt="stones", max_tokens="9", temperature="0")
    page.click("#send")
    page.wait(DONE)
    assert page.texts("#count") == ["9 tokens"]
    text = page.evaluate("document.getElementById('answer').textContent")
    assert text
    num = page.evaluate("document.querySelectorAll('#answer span').length")
    assert num > 1
    page.focus("#answer span:nth-child(2)")
    rows = page.texts("#likely td:first-child")
    assert len(rows) >= 5
    assert len(page.texts("#likely tr.drawn")) >= 1
    shares = [float(cell.removesuffix(" %")) for cell in page.texts("#likely td:last-child")]
    assert shares[:5] == sorted(shares[:5], reverse=True)
    assert {url.split("/", 3)[3] for url in page.requests()} == {"", "v1/chat/completions"}
    fill(page, max_tokens="9999")
    page.evaluate(SEND)
    page.wait("document.getElementById('problem').textContent != ''")
    assert "max_tokens can be at most" in page.texts("#problem")[0]
    assert page.complaints()[-1]["entry"]["source"] == "network"
    page.forget()  # the browser says that the server refused


class Hostile(Stub):
    """Every token is a script."""

    def step(self) -> list:
        grown = super().step()
        for answer in grown:
            answer.text = HOSTILE * len(answer.tokens)
        return grown


def test_hostile_text_is_text(show: Callable[..., Page]) -> None:
    service = Service(Hostile(), most=4)  # type: ignore[arg-type]
    writer = replace(writer_of(service), service=service)
    key = ServerSettings(key="secret")
    with listening(Served(HOSTILE, writer), key) as port:
        page = show(f"http://127.0.0.1:{port}/")
        assert page.texts("h1") == [page.evaluate("document.querySelector('h1').textContent")]
        scripts = page.evaluate("document.scripts.length")
        fill(page, prompt=HOSTILE, max_tokens="3", key="secret")
        page.evaluate(SEND)
        page.wait(DONE)
        assert page.evaluate("document.getElementById('answer').textContent") == HOSTILE * 3
        assert page.evaluate("window.hit") is None
        assert page.evaluate("[document.scripts.length, document.images.length]") == [scripts, 0]


FETCH = """fetch(%r, {method: "POST", body: JSON.stringify({prompt: "a", max_tokens: 3}),
  headers: {"content-type": "application/json", "x-stainless-os": "any"}})
  .then((answer) => answer.json()).then((found) => { document.title = found.choices[0].text; })
  .catch((error) => { document.title = error.name; })"""


def test_a_page_elsewhere_may_ask_where_that_was_allowed(show: Callable[..., Page]) -> None:
    """The browser asks first (a preflight), and shows the page an answer that it may see."""
    stub = Stub()
    service = Service(stub, most=4)  # type: ignore[arg-type]
    offered = Served("m", writer_of(service))
    with listening(offered) as elsewhere:
        origin = f"http://127.0.0.1:{elsewhere}"
        page = show(origin + "/health")
        allowing = ServerSettings(callers=Callers(origins=(origin,)))
        for settings, said in ((allowing, "abc"), (ServerSettings(), "TypeError")):
            with listening(Served("m", writer_of(service)), settings) as port:
                page.evaluate(FETCH % f"http://localhost:{port}/v1/completions")
                page.wait(f"document.title == {said!r}")
    page.forget()  # the browser says that the server refused
