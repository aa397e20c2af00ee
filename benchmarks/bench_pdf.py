"""The PDF reader beside pdftotext, pdfminer.six and pypdf, on the same files, in one run.

    python benchmarks/bench_pdf.py --data FOLDER [--files 40] [--max-pages 40] [--passes 3]

Pages a second of processor time, children included, so that what else the machine does counts
less; each file on its own as a build reads it, best of several passes, one for the slow ones. Ours
includes the start of its process, once a pass, and everything up to paragraphs; the peers give
lines. Without --data a paper of 400 pages is made here.
"""

from __future__ import annotations

import argparse
import io
import logging
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from barrow import Document
from barrow.corpus.input.isolated import isolated
from barrow.corpus.readers.pdf import Pdf

WORDS = tuple("the of barrow mound stone carries earth and question that order reasons".split())  # noqa: SIM905


def make_paper(path: Path, *, num_pages: int = 400) -> None:
    """Two columns of made-up words in Courier."""
    rng = random.Random(0)
    objects = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"]
    for number in range(num_pages):
        lines = [f"BT /F 8 Tf 1 0 0 1 250 760 Tm (A paper, page {number}) Tj ET"]
        for x in (60, 320):
            for y in range(730, 60, -10):
                text = " ".join(rng.choices(WORDS, k=9))[:46]
                lines.append(f"BT /F 8 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET")
        data = "\n".join(lines).encode()
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(data), data))
    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(num_pages))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (num_pages, kids)
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at = len(out)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    path.write_bytes(bytes(out) + b"startxref\n%d\n%%%%EOF\n" % at)


def by_barrow(path: Path) -> int:
    (item,) = Pdf().read(path)
    return len(item.text) if isinstance(item, Document) else 0


def by_pdfium(path: Path) -> int:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    return sum(len(page.get_textpage().get_text_range()) for page in document)


def by_pdftotext(path: Path) -> int:
    return len(subprocess.run(["pdftotext", path, "-"], capture_output=True).stdout)


def by_pypdf(path: Path) -> int:
    import pypdf

    return sum(len(page.extract_text()) for page in pypdf.PdfReader(path).pages)


def by_pdfminer(path: Path) -> int:
    from pdfminer.high_level import extract_text

    return len(extract_text(io.BytesIO(path.read_bytes())))


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def best(work: Callable[[Path], int], files: dict[Path, int], passes: int) -> float:
    """Pages a second over the files."""
    rates = []
    for _ in range(passes):
        begun, pages = processor_seconds(), 0
        for path, num in files.items():
            try:
                work(path)
            except Exception as error:
                print(f"{work.__name__}: {path.name}: {type(error).__name__}")
            pages += num
        isolated("barrow.corpus.text.pdf.text:pdf_text").close()  # a child counts when it has ended
        rates.append(pages / (processor_seconds() - begun))
    return max(rates)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--max-pages", type=int, default=40, help="of a file in --data")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        data = options.data
        if data is None:
            data = Path(folder)
            make_paper(data / "paper.pdf")
        files = {}
        candidates = sorted(data.rglob("*.pdf"))
        for path in candidates[:: max(1, len(candidates) // options.files)]:
            for item in Pdf().read(path):
                if isinstance(item, Document) and (
                    options.data is None or item.meta["pages"] <= options.max_pages
                ):
                    files[path] = item.meta["pages"]
        size = sum(path.stat().st_size for path in files)
        for work in (by_pdfium, by_pypdf, by_pdfminer):  # loads them
            work(next(iter(files)))
        print(f"{len(files)} files, {sum(files.values()):,} pages, {size / 1e6:.1f} MB\n")
        isolated("barrow.corpus.text.pdf.text:pdf_text").close()
        ours = best(by_barrow, files, options.passes)
        print("| | pages/s | barrow is |\n|---|---|---|")
        print(f"| barrow (pypdfium2 {version('pypdfium2')}) | {ours:,.0f} | |")
        peers: list[tuple[str, Callable[[Path], int], int]] = [
            ("PDFium's plain text", by_pdfium, options.passes),
            (f"pypdf {version('pypdf')}", by_pypdf, 1),
            (f"pdfminer.six {version('pdfminer.six')}", by_pdfminer, 1),
        ]
        if shutil.which("pdftotext"):
            peers.insert(1, ("pdftotext", by_pdftotext, options.passes))
        for name, work, passes in peers:
            rate = best(work, files, passes)
            print(f"| {name} | {rate:,.0f} | {ours / rate:.2f} × |")


if __name__ == "__main__":
    main()
