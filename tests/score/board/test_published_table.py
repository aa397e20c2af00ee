from __future__ import annotations

from xml.etree import ElementTree

from barrow.score.board.published import PUBLISHED, WEIGHTS, published_section


def test_rows_are_marked_and_have_no_rank() -> None:
    root = ElementTree.fromstring(published_section())
    head = ["".join(cell.itertext()) for cell in root.iter("th") if cell.get("scope") == "col"]
    assert head == ["Model", "Mean by weight", *WEIGHTS]
    rows = root.findall(".//tbody/tr")
    assert len(rows) == len(PUBLISHED)
    for row, published in zip(rows, PUBLISHED, strict=True):
        assert "".join(row.find("th").itertext()) == f"{published.model}published"  # type: ignore[union-attr]
        cells = [cell.text for cell in row.findall("td")]
        assert cells[1:] == [f"{value:.2f}" for value in published.bpb.values()]
        assert cells[0] == f"{published.weighted:.2f}"
    region = root.find("div")
    assert region is not None
    assert (region.get("tabindex"), region.get("role")) == ("0", "region")
