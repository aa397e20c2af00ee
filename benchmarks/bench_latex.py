"""LaTeX papers to markdown: barrow's reader beside pandoc and Python's parsers of LaTeX.

``--data FOLDER`` has a folder for each paper, or ``.tex`` files; without it papers are made up.
pandoc is run once for each paper, as a corpus build would; a paper it fails at, or takes more than
`--seconds` and 2 GB for, is counted as failed. MB (10^6 bytes) of main files a second, best of
several passes; ratios over the papers that both converted.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

WORDS = tuple(
    re.findall(
        r"\w+", "the of to and in is that for on with space map group finite field where each then"
    )
)


def made_up(folder: Path, num: int) -> list[Path]:
    rng = random.Random(0)

    def sentence() -> str:
        words = rng.choices(WORDS, k=rng.randint(8, 24))
        words[3] = rng.choice(
            ["$\\R^n$", "\\emph{open}", "\\cite{a,b}", "$x_1 + \\norm{y}$", "set"]
        )
        return " ".join(words).capitalize() + "."

    paths = []
    for number in range(num):
        parts = ["\\documentclass{article}\n\\newcommand{\\R}{\\mathbb{R}}"]
        parts += ["\\newcommand{\\norm}[1]{\\|#1\\|}\n\\title{A}\n\\begin{document}\\maketitle"]
        for _ in range(60):
            parts.append("\n".join(sentence() for _ in range(6)) + "\n")
            parts.append("\\begin{equation}\n \\norm{x} \\le \\sum_{i} \\R_i\n\\end{equation}\n")
        path = folder / f"{number}.tex"
        path.write_text("\n".join([*parts, "\\end{document}"]))
        paths.append(path)
    return paths


def with_barrow(path: Path) -> int:
    from barrow import Document
    from barrow.corpus.readers.latex import Latex

    source = path if path.suffix == ".tex" and path.stem != "main" else path.parent
    return sum(len(item.text) for item in Latex().read(source) if isinstance(item, Document))


def with_pandoc(path: Path, seconds: float) -> int:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))

    command = ["pandoc", "-f", "latex", "-t", "markdown", "--wrap=none", path.name]
    found = subprocess.run(
        command, cwd=path.parent, capture_output=True, timeout=seconds, preexec_fn=limit
    )
    if found.returncode:
        raise ValueError(found.stderr[-200:])
    return len(found.stdout)


def with_pylatexenc(path: Path) -> int:
    from pylatexenc.latex2text import LatexNodes2Text

    text = path.read_text(errors="replace")
    return len(LatexNodes2Text(math_mode="verbatim").latex_to_text(text))


def with_texsoup(path: Path) -> int:
    from TexSoup import TexSoup

    return len("".join(map(str, TexSoup(path.read_text(errors="replace")).text)))


def seconds_of(convert: Callable[[Path], int], path: Path, passes: int) -> tuple[float, int] | None:
    best, size = float("inf"), 0
    for _ in range(passes):
        start = time.perf_counter()
        try:
            size = convert(path)
        except Exception as error:
            print(f"    {path.parent.name}/{path.name}: {type(error).__name__} {str(error)[:90]!r}")
            return None
        best = min(best, time.perf_counter() - start)
    return best, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of papers; made up if not given")
    parser.add_argument("--num", type=int, default=20, help="how many to make up")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.data:
            paths = [
                path
                for path in sorted(options.data.rglob("*.tex"))
                if b"\\begin{document}" in path.read_bytes()
            ]
        else:
            paths = made_up(Path(folder), options.num)
        ours = {path: seconds_of(with_barrow, path, options.passes) for path in paths}
        peers = {
            "pandoc": lambda path: with_pandoc(path, options.seconds),
            "pylatexenc": with_pylatexenc,
            "TexSoup": with_texsoup,
        }
        print("| | papers | MB/s | papers/s | barrow is faster by |\n|---|---|---|---|---|")
        print(row("barrow", ours, ours))
        for name, convert in peers.items():
            found = {path: seconds_of(convert, path, options.passes) for path in paths}
            print(row(name, found, ours))


Times = dict[Path, tuple[float, int] | None]


def row(name: str, found: Times, ours: Times) -> str:
    """Speed over the papers that both converted to something."""
    both = [path for path, result in found.items() if result and result[1] and ours[path]]
    if not both:
        return f"| {name} | 0 of {len(found)} | | | |"
    megabytes = sum(path.stat().st_size for path in both) / 1e6
    spent = sum(result[0] for path in both if (result := found[path]))
    our = sum(result[0] for path in both if (result := ours[path]))
    speed = f"{megabytes / spent:.2f} | {len(both) / spent:.1f}"
    return f"| {name} | {len(both)} of {len(found)} | {speed} | {spent / our:.1f}× |"


if __name__ == "__main__":
    main()
