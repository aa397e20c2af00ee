"""NIH ExPORTER (PILE-6)."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path

import pytest
from tests.items import sorted_out, write

from barrow import Document
from barrow.corpus.readers.nih_exporter import NihExporter

BODY = (
    "The barrow group studies how burial mounds keep pollen for four thousand years, and what the "
    "pollen tells about the meadows of that time."
)
SUBPROJECT = (
    "This subproject is one of many research subprojects utilizing the resources provided by a "
    "Center grant. The institution listed is for the Center, which is not necessarily the "
    "institution for the investigator."
)
HEADER = ["APPLICATION_ID", "ABSTRACT_TEXT"]


def table(*rows: list[str], header: list[str] = HEADER) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    return out.getvalue().encode()


def test_a_year(tmp_path: Path) -> None:
    second = f'First paragraph.\r\n\r\n\r\n\r\nSecond,  with "quotes" — and naïve.\n {BODY}'
    rows = (["101", BODY], ["102", second], ["101", f"Another. {BODY}"], ["103", ""])
    path = write(tmp_path / "RePORTER_PRJABS_C_FY2020.csv", table(*rows, ["104", "Too short."]))
    documents, rejects = sorted_out(list(NihExporter().read(path)))
    assert documents == [
        Document(BODY, {"member": "101"}),
        Document(
            f'First paragraph.\n\nSecond, with "quotes" — and naïve.\n{BODY}', {"member": "102"}
        ),
    ]
    assert [(r.reason, r.member) for r in rejects] == [
        *(("duplicate-id", "101"), ("empty", "103"), ("too-short", "104")),
    ]
    assert rejects[0].excerpt == f"Another. {BODY}"
    assert list(NihExporter().read(path)) == list(NihExporter().read(path))
    assert len(sorted_out(list(NihExporter(min_characters=5).read(path)))[0]) == 3


@pytest.mark.parametrize(
    "form",
    [
        "DESCRIPTION (provided by applicant): {}",
        "DESCRIPTION: (Applicant's Abstract) {}",
        "DESCRIPTION (taken from the application: {}",
        "  [unreadable] DESCRIPTION (Adapted from the applicant's abstract):\n{} [unreadable]",
        "PROJECT SUMMARY/ABSTRACT {}",
        "7. PROJECT SUMMARY (See instructions):\n\n{}",
        "Project Summary\n{}\n(End of Abstract)",
        "Abstract\n{}",
        "ABSTRACT: Project Summary. {}",
        SUBPROJECT + " {}",
    ],
)
def test_what_the_form_added_is_taken_off(tmp_path: Path, form: str) -> None:
    path = write(tmp_path / "x_PRJABS_.csv", table(["1", form.format(BODY)]))
    assert [item.text for item in NihExporter().read(path) if isinstance(item, Document)] == [BODY]


@pytest.mark.parametrize("text", ["Abstract thinking is", "Summary measures of", "Description of"])
def test_what_only_looks_like_a_heading_stays(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "x_PRJABS_.csv", table(["1", f"{text} {BODY}"]))
    assert [item.text for item in NihExporter().read(path) if isinstance(item, Document)] == [
        f"{text} {BODY}"
    ]


def test_placeholders_are_no_abstracts(tmp_path: Path) -> None:
    texts = ["No abstract available.", "Abstract not provided", "N/A", "None"]
    path = write(tmp_path / "x.csv", table(*([str(n), t] for n, t in enumerate(texts))))
    assert [r.reason for r in sorted_out(list(NihExporter().read(path)))[1]] == ["empty"] * 4


def test_encodings_in_one_file(tmp_path: Path) -> None:
    rows = [f'{n},"{BODY} naïve “β”"\r\n' for n in (1, 2, 3)]
    data = b"\xef\xbb\xbfAPPLICATION_ID,ABSTRACT_TEXT\r\n" + rows[0].encode()
    data += rows[1].replace("β", "b").encode("cp1252")
    data += rows[2].replace("“β”", "\x81").encode("latin-1")
    path = write(tmp_path / "x.csv", data)
    texts = [item.text for item in NihExporter().read(path) if isinstance(item, Document)]
    assert [text.removeprefix(BODY) for text in texts] == [" naïve “β”", " naïve “b”", " naïve"]


def test_packed(tmp_path: Path) -> None:
    data = table(["1", BODY])
    packed = tmp_path / "RePORTER_PRJABS_C_FY2021.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("RePORTER_PRJABS_C_FY2021.csv", data)
        archive.writestr("readme.txt", b"x")
        archive.writestr("../up.csv", data)
    documents, rejects = sorted_out(list(NihExporter().read(packed)))
    assert [document.text for document in documents] == [BODY]
    assert [reject.reason for reject in rejects] == ["unknown-file", "unsafe-name"]
    path = write(tmp_path / "x.csv.gz", gzip.compress(data))
    assert len(sorted_out(list(NihExporter().read(path)))[0]) == 1


def test_titles_from_the_projects_of_the_year(tmp_path: Path) -> None:
    abstracts = write(
        tmp_path / "RePORTER_PRJABS_C_FY2020.csv", table(["1", BODY], ["2", f"More. {BODY}"])
    )
    projects = write(
        tmp_path / "RePORTER_PRJ_C_FY2020.csv",
        table(
            ["R01", "1", " POLLEN\n IN MOUNDS "],
            ["R02", "x", "not a number"],
            header=["ACTIVITY", "APPLICATION_ID", "PROJECT_TITLE"],
        ),
    )
    other = write(tmp_path / "RePORTER_PRJABS_C_FY2021.csv", table(["1", BODY]))
    groups = NihExporter().group([projects, abstracts, other])
    assert groups == [(abstracts, projects), (other,)]
    documents, rejects = sorted_out(list(NihExporter().read_group(groups[0])))
    assert [document.meta for document in documents] == [
        {"member": "1", "title": "POLLEN IN MOUNDS"},
        {"member": "2"},
    ]
    assert [reject.reason for reject in rejects] == ["bad-id"]
    assert [r.reason for r in sorted_out(list(NihExporter().read(projects)))[1]] == [
        "unknown-columns"
    ]


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for data, reasons in (
        (b"", ["empty"]),
        (b"\n\n", ["empty"]),
        (b"a,b\n1,2\n", ["unknown-columns"]),
        (table(["abc", BODY]), ["bad-id"]),
        (table(["9" * 30, BODY]), ["bad-id"]),
        (table(["1", BODY, "extra"]), ["malformed"]),
        (table(["1", "x" * (2 << 20)]), ["too-large"]),
        (table(["1", BODY])[:-20], ["truncated"]),
        (gzip.compress(table(["1", BODY]))[:-9], ["truncated"]),
        (b"PK\3\4 no zip", ["truncated"]),
        (bytes(5000), ["unknown-columns"]),
    ):
        assert [
            r.reason for r in sorted_out(list(NihExporter().read(write(path, data))))[1]
        ] == reasons
    for name in ("missing.csv", "."):
        assert [r.reason for r in sorted_out(list(NihExporter().read(tmp_path / name)))[1]] != []
    data = gzip.compress(table(*([str(n), f"{BODY} {n}"] for n in range(2000))))
    documents, rejects = sorted_out(list(NihExporter().read(write(path, data[:-2000]))))
    assert len(documents) > 100, "what precedes the damage is kept"
    assert [document.meta["member"] for document in documents] == [
        str(n) for n in range(len(documents))
    ]
    assert rejects[-1].reason == "truncated"
