"""The package as a whole: who imports whom, what is public, how light it is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import barrow

SOURCE = Path(barrow.__file__).parent
PARTS = {
    *("archive", "engine", "corpus", "tokens", "stream", "weights"),
    *("images", "nn", "models", "parallel", "checkpoint", "train", "score"),
}

# DESIGN: the floor below may be imported by all; these are the rest.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "objects": set(),
    "config": {"objects"},
    "ahead": set(),
    "interrupt": set(),
    "files": set(),
    "malloc": set(),
    "pages": set(),
    "archive": set(),
    "engine": set(),
    "images": set(),
    "parallel": set(),
    "weights": set(),
    "corpus": {"archive", "engine"},
    "tokens": {"archive", "engine"},
    "nn": set(),
    "stream": {"tokens", "archive", "parallel", "images"},
    "checkpoint": {"weights", "nn", "parallel"},
    "models": {"nn", "weights", "tokens", "images", "checkpoint"},
    "train": {"stream", "nn", "models", "parallel", "weights", "checkpoint", "images"},
    "score": {
        *("archive", "corpus", "tokens", "stream", "models", "parallel", "weights"),
        "checkpoint",
    },
    "mix": PARTS,
    "launch": {"parallel", "weights"},
    "runtime": PARTS | {"launch", "plan"},
    "plan": PARTS | {"launch", "malloc"},
    "compress": PARTS,
    "align": PARTS | {"serve"},
    "serve": PARTS,
    "recipes": PARTS | {"mix", "compress", "align", "serve"},
    "demo": PARTS | {"recipes"},
    "verification": PARTS | {"mix"},
    "cli": PARTS
    | {"verification"}
    | {"mix", "plan", "launch", "compress", "align", "serve", "recipes", "demo", "malloc"},
}


# What all may import.
FLOOR = ("errors", "config", "objects", "pages", "files", "ahead", "interrupt")


def imported_parts(path: Path) -> set[str]:
    """Parts of barrow that a file imports anywhere, inside functions too."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts |= {name.split(".")[1] for name in names if name.startswith("barrow.")}
    return parts


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_imports_follow_the_design(path: Path) -> None:
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if part in ("__init__", "__main__"):
        return
    allowed = MAY_IMPORT[part] | {part, *FLOOR}
    assert imported_parts(path) <= allowed


def test_the_architecture_shows_this_table_and_names_files_by_their_path() -> None:
    """That linked files exist is tested with the links of all pages."""
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| (`[^|]*) \| (nothing|`[^|]*) \|$", text, re.M)
    shown = {
        p: set(re.findall(r"`(\w+)`", may)) for some, may in rows for p in some[1:-1].split("`, `")
    }
    assert shown == {part: MAY_IMPORT[part] for part in PARTS}
    named = re.findall(r"\[([^\]]+)\]\(src/barrow/([^)]+)\)", text)
    assert len(named) > 60
    assert [name for name, path in named if name != path] == []
    way = text[text.index("## The way of one document") : text.index("## Who may import whom")]
    packages = re.findall(r"\(src/barrow/(\w+)/", way)
    assert sum(a != b for a, b in pairwise(packages)) == 11  # as the page says


def test_no_folder_holds_more_than_twenty_files() -> None:
    folders = [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]
    sizes = {str(folder): len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder: size for folder, size in sizes.items() if size > 20} == {}


def test_every_package_says_what_it_is_for() -> None:
    for folder in {path.parent for path in SOURCE.rglob("*.py")}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


def test_the_floor_of_files_imports_errors_alone() -> None:
    for path in (SOURCE / "files").glob("*.py"):
        assert imported_parts(path) <= {"files", "errors"}, path


def test_folders_of_results_are_made_in_one_place() -> None:
    """Where a URL is refused; elsewhere `s3://bucket` becomes a local folder named `s3:`."""
    places = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "mkdir(parents=True, exist_ok=True)" in path.read_text()
    }
    assert places <= {"files/folder.py", "demo/pocket.py"}


# Methods of paths and functions of `os`, `shutil` and libraries that change a disk.
CHANGES = {
    *("write_text", "write_bytes", "touch", "mkdir", "makedirs", "rmdir", "unlink", "rename"),
    *("renames", "symlink_to", "hardlink_to", "symlink", "truncate", "ftruncate", "rmtree"),
    *("copyfile", "copy2", "copytree", "move", "copyfileobj", "save_file", "savez", "tofile"),
}
OF_MODULES = ("remove", "replace", "link", "copy", "save")
WRITING = re.compile(r"[wax+]|O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)")
# Of the kernel, nothing, and what has no name (parallel/offload.py maps such a file).
NO_FILES = ("/proc", "os.devnull", "tempfile.", "np.memmap(file,")


def changes(path: Path) -> list[str]:
    """Calls in a file that change a disk: of these names, or `open` with a mode that writes."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or any(ast.unparse(node).count(n) for n in NO_FILES):
            continue
        of = node.func
        name = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
        owner = ast.unparse(of.value) if isinstance(of, ast.Attribute) else ""
        arguments = [ast.unparse(a) for a in node.args if not isinstance(a, ast.Starred)]
        modes = [a for a in arguments if a.startswith(("'", "os.O_"))]
        modes += [ast.unparse(k.value) for k in node.keywords if k.arg in ("mode", "flags")]
        is_call = name in CHANGES and owner
        is_open = name in ("open", "memmap") and any(map(WRITING.search, modes))
        # `str.replace` has two arguments, and `dataclasses.replace` no owner.
        is_rename = name == "replace" and len(arguments) == 1 and not node.keywords and owner
        removes = owner in ("os", "shutil", "np") and name in OF_MODULES
        if is_call or is_open or is_rename or removes:
            found.append(f"{path.relative_to(path.parents[1])}: {ast.unparse(node)[:80]}")
    return found


def test_only_files_changes_the_disk() -> None:
    """So that all results are atomic, and tests can kill before any change (tests/killed.py)."""
    outside = [path for path in SOURCE.rglob("*.py") if path.parent.name != "files"]
    assert [change for path in outside for change in changes(path)] == []


def test_a_change_of_the_disk_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    lines = (
        *("open(p, 'wb')", "p.open('a')", "p.open(mode='r+')", "os.open(p, os.O_RDWR)"),
        *("p.write_text('')", "p.write_bytes(b'')", "p.unlink()", "os.remove(p)", "p.rename(q)"),
        *("p.replace(q)", "os.replace(p, q)", "shutil.copy(p, q)", "shutil.rmtree(p)", "p.mkdir()"),
        *("np.save(p, x)", "numpy.save_file(x, p)", "np.memmap(p, t, 'w+')"),
    )
    for line in lines:
        file.write_text(line)
        assert changes(file), line
    file.write_text("p.open('rb'); s.replace('a', 'b'); write_bytes(p, b''); replace(x, a=1)")
    assert not changes(file)


def test_a_forbidden_import_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    from barrow.cli import main\n")
    assert imported_parts(file) == {"cli"}


def test_public_names() -> None:
    assert barrow.__all__ == [
        "Document",
        "Runtime",
        "archive",
        "checkpoint",
        "config",
        "corpus",
        "engine",
        "errors",
        "images",
        "launch",
        "mix",
        "models",
        "nn",
        "parallel",
        "recipes",
        "runtime",
        "score",
        "stream",
        "tokens",
        "train",
        "verify",
        "weights",
    ]
    assert dir(barrow) == sorted(barrow.__all__)
    for name in barrow.__all__:
        assert getattr(barrow, name) is not None
    assert barrow.archive.__all__ == [
        "Archive",
        "BadLog",
        "Block",
        "Catalog",
        "Composition",
        "Document",
        "Frame",
        "Share",
        "Verification",
        "Writer",
        "composition",
        "open",
        "read_catalog",
        "verify",
    ]
    for part in (barrow.archive, barrow.corpus, barrow.nn):
        for name in part.__all__:
            assert getattr(part, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_the_sort"):
        _ = barrow.nothing_of_the_sort


def modules_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


def test_importing_barrow_loads_nothing_heavy() -> None:
    heavy = {"numpy", "zstandard", "msgspec", "fsspec", "typer", "rich", "jax", "torch", "pyarrow"}
    assert not heavy & modules_after("import barrow")


def test_recipes_load_no_more_than_they_need() -> None:
    heavy = {"jax", "numba", "pyarrow", "ray", "rich", "typer"}
    assert not heavy & modules_after("import barrow; barrow.corpus")
    needed = "from barrow.corpus import Domain, GopherQuality, Recipe, Records, Repair, Warc"
    assert not heavy & modules_after(needed)


def test_reading_an_archive_loads_no_framework() -> None:
    heavy = {"jax", "torch", "tensorflow", "datasets", "pyarrow", "ray", "numba", "rich", "typer"}
    assert not heavy & modules_after("import barrow.archive")


def test_tokenizers_load_no_library_before_they_are_used() -> None:
    """Models import tokens, and run where neither archives nor a command line are installed."""
    heavy = {"tokenizers", "fastokens", "zstandard", "msgspec", "fsspec", "typer", "rich", "jax"}
    assert not heavy & modules_after(
        "import barrow.tokens; barrow.tokens.load('bytes').encode('x')"
    )


def test_weights_load_neither_a_framework_nor_what_only_corpora_need() -> None:
    heavy = {"jax", "torch", "ml_dtypes", "safetensors", "zstandard", "msgspec", "typer", "rich"}
    assert not heavy & modules_after("import barrow.weights")


def test_what_computes_needs_nothing_of_the_archive() -> None:
    """They run where only JAX, optax and safetensors are installed."""
    absent = ["zstandard", "msgspec", "typer", "rich", "torch", "flax", "tokenizers"]
    hidden = f"sys.modules.update(dict.fromkeys({absent}))"
    parts = ("stream", "weights", "parallel", "checkpoint", "nn", "models", "train")
    assert "jax" in modules_after("\n".join([hidden, *(f"import barrow.{part}" for part in parts)]))


def test_token_models_run_where_archives_are_not_installed() -> None:
    """Scoring on an accelerator's machine: rows of ids in, log-probabilities out."""
    absent = ["zstandard", "msgspec", "typer", "rich", "torch", "flax", "tokenizers", "numba"]
    hidden = f"sys.modules.update(dict.fromkeys({absent}))"
    assert "jax" in modules_after(
        f"{hidden}\nimport barrow.score.models.decoder, barrow.score.windows"
    )


def test_a_stream_needs_numpy_alone() -> None:
    heavy = {"jax", "torch", "tensorflow", "zstandard", "msgspec", "numba", "rich", "typer"}
    assert not heavy & modules_after("import barrow.stream")


def test_the_type_marker_is_shipped() -> None:
    assert (SOURCE / "py.typed").exists()


def test_models_run_without_what_corpora_and_the_command_line_need() -> None:
    """They run where only JAX, optax and safetensors are installed. JAX itself tries zstandard."""
    absent = ["zstandard", "msgspec", "typer", "rich", "optax", "torch", "transformers"]
    absent += ["tokenizers", "fsspec", "xxhash"]
    hidden = f"sys.modules.update(dict.fromkeys({absent}))"
    assert "jax" in modules_after(f"{hidden}\nimport barrow.nn, barrow.models, barrow.models.text")
