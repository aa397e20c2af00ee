"""What every reader, filter and stage makes of fixed samples, and the version it has.

A build does not repeat a task whose key it knows, and code of barrow counts in a key by its version
alone. So an output may not change at the same version: a guard against stale caches, no proof that
an output is right. ``python -m tests.corpus.test_outputs`` writes the table, and refuses while a
version is to be raised.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import zstandard
from safetensors.numpy import load_file
from tests.samples import test_samples
from tests.samples.batches import batches
from tests.samples.table import SAMPLES, Sample

import barrow
from barrow import Document, config
from barrow.corpus import (
    C4,
    BadWords,
    ByLanguage,
    C4Lines,
    Decontamination,
    Deduplication,
    DmMathematics,
    Domain,
    DropBoilerplate,
    Filter,
    FineWeb,
    GitHub,
    GopherQuality,
    GopherRepetition,
    Language,
    Length,
    LicenceRule,
    Lines,
    Mixture,
    Passages,
    Pattern,
    PlainText,
    Quality,
    Ratios,
    Reader,
    Recipe,
    RedactPii,
    RejectPii,
    Repair,
    Rewriter,
    Rewritten,
    Splits,
    Texts,
    Unigrams,
    UrlRule,
    Where,
)
from barrow.corpus import Sample as Sampled
from barrow.corpus.build import build as corpus_build
from barrow.corpus.build.examine import EXAMINE, Inputs, Settings
from barrow.corpus.build.split import SPLIT
from barrow.corpus.build.split import Settings as SplitSettings
from barrow.corpus.classifier.model import ClassifierSettings, save_classifier
from barrow.corpus.kernels.scratch import Scratch
from barrow.engine import Engine, File, Stage, Stages, Task
from barrow.errors import ConfigError
from barrow.tokens import load
from barrow.tokens.store import build as store_build

TABLE = Path(__file__).with_name("outputs.json")
WRITE = "python -m tests.corpus.test_outputs"


class Entry(NamedTuple):
    """The version of a class or stage, and hashes of its sample and of what it makes of it."""

    version: int
    sample: str
    output: str


Table = Mapping[str, Entry]


def complaints(before: Table, now: Table) -> list[str]:
    """Outputs that changed at the same version, and how to raise it."""
    return [
        f"{name} makes something else of its sample at version {new.version}, so caches are stale: "
        f"raise {raised(name)}, then run {WRITE}"
        for name, new in now.items()
        if name in before
        and new.output != before[name].output
        and new.sample == before[name].sample
        and new.version <= before[name].version
    ]


# What there is ------------------------------------------------------------------------------------


@cache
def parts() -> dict[str, Any]:
    """All readers, filters and rewriters (classes) and all stages of the package, by name."""
    source = Path(barrow.__path__[0])
    for file in sorted(source.rglob("*.py")):
        if re.search(
            r"= Stage\(|\b(Reader|Filter|Rewriter)\b.*\):$", file.read_text(), re.MULTILINE
        ):
            module = file.relative_to(source.parent).with_suffix("")
            importlib.import_module(".".join(module.parts).removesuffix(".__init__"))
    found: dict[str, Any] = {}
    for base in (Reader, Filter, Rewriter):
        for kind in subclasses(base):
            if kind.__module__.startswith("barrow.") and dataclasses.is_dataclass(kind):
                found[kind.__name__] = kind
    for module in [m for name, m in sys.modules.items() if name.startswith("barrow.")]:
        for thing in vars(module).values():
            if isinstance(thing, Stage):
                found[thing.name] = thing
    return found


def subclasses(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


def version_of(part: Any) -> int:
    if hasattr(part, "extractor"):  # a reader
        return int(part.extractor.partition("/")[2])
    version: int = part.version
    return version


def raised(name: str) -> str:
    """The next version, and where it is written."""
    part = parts()[name]
    new = version_of(part) + 1
    if isinstance(part, Stage):
        return f'Stage("{name}", {new}, …) in {part.function.__module__}'
    if hasattr(part, "extractor"):
        return f'{name}.extractor to "{part.extractor.partition("/")[0]}/{new}"'
    return f"{name}.version to {new}"


# Hashes -------------------------------------------------------------------------------------------


def hash_of(value: Any) -> str:
    """Of anything that is JSON but for arrays, bytes and dataclasses; of floats, six digits."""
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def plain(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        kind = "float" if value.dtype.kind == "f" else value.dtype.str
        return [kind, list(value.shape), plain(value.tolist())]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


def content_of(path: Path) -> Any:
    """What a file or folder holds, but for how it is compressed."""
    if path.is_dir():
        return {one.name: content_of(one) for one in sorted(path.iterdir())}
    if path.suffix == ".zst":
        with path.open("rb") as file:
            packed = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            return packed.read()
    if path.suffix == ".safetensors":
        return load_file(path)
    if path.suffix == ".json":
        said = json.loads(path.read_text())
        if path.name == "entry.json":  # size and checksums of a compressed file
            return {key: said.get(key) for key in ("documents", "content_bytes")}
        return said
    return path.read_bytes()


# Readers ------------------------------------------------------------------------------------------

AS_THEY_ARE: Mapping[type[Reader], Mapping[str, str]] = {
    PlainText: {"a.txt": "A barrow.\r\n\r\n\r\nBlick \n", "b.txt": "\0\1\2" * 50},
    DmMathematics: {"train-easy/algebra__a.txt": "Solve x + 1 = 3 for x.\n2\nLet y = 4.\n4\n"},
    GitHub: {
        "heap/heap.py": f"# {'stones ' * 20}\n{test_samples.CODE}\n",
        "heap/README.md": "# Heap\n\n" + "A heap of stones. " * 20,
        "heap/package.json": '{"license": "MIT"}',
        "heap/node_modules/no.js": "no();\n" * 50,
    },
}


def made_by_readers(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    articles = test_samples.articles()[:20]
    told = hash_of(articles)
    for sample in SAMPLES:
        # Two files: most formats have two forms, in turn.
        home = importlib.import_module(sample.files.__module__)
        with patch.object(home, "batches", lambda some, _: batches(some, 10), create=True):
            chosen = articles[:4] if sample.folder == "printed_papers" else articles
            files = dict(sample.files(iter(chosen)))
        yield read(sample, files, folder, (told, inspect.getsource(home)))
    for kind, texts in AS_THEY_ARE.items():
        files = {name: text.encode() for name, text in texts.items()}
        yield read(Sample(kind.__name__, kind()), files, folder, texts)


def read(
    sample: Sample, files: Mapping[str, bytes], folder: Path, made_of: Any
) -> tuple[str, Any, Any]:
    root = folder / sample.folder
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    if type(sample.reader).folders:
        items = [item for path in sorted(root.iterdir()) for item in sample.reader.read(path)]
    else:
        items = list(test_samples.read(sample, root))
    said = [(x.text, x.meta, x.domain) if isinstance(x, Document) else x for x in items]
    return type(sample.reader).__name__, made_of, said


# Filters ------------------------------------------------------------------------------------------

PROSE = "The mound on the hill was raised by people whose names have been lost to us, and of old. "
TEXTS = (
    *("", "Hi.", "barrow " * 60, PROSE, PROSE * 4, PROSE.replace(". ", ".\n") * 8, PROSE * 40),
    *(PROSE * 4 + tail for tail in ("# # # #", "... … ...", "{ x }", "lorem ipsum", "\tcookies")),
    "\n".join(f"- {word} is one of the stones that we have" for word in PROSE.split()),
    "\n".join(f"{word} of the hill and the river ..." for word in PROSE.split()) + "\nOne more.",
    "\n".join(f"Line {n} of {n * n} is here\n\n" + "to stay. " * (n % 5) for n in range(30)),
    "\n".join(f"{'-' * (n % 2)} The {n} stones of it are there to be seen." for n in range(9)),
    "\n".join(f"Stone {n} of the hill is to be had{'...' * (n % 2)}" for n in range(9)),
    "\n\n".join([PROSE, *(f"Part {n} of it is {n * n} feet long." for n in range(4)), PROSE]),
    "\n".join(
        f"Here is stone {n % 13} that was of the {'long ' * (n % 13)}barrow." for n in range(14)
    ),
    "# the # of # heather and # that have # " + PROSE * 3,
    "Palaeoanthropological reinterpretations notwithstanding, be the archaeologists of " * 9,
    "The mound of the mound. " * 3,
    "The stones and a stone of 1234567890 hands to be had.",
    "12 34 56 78 90 !!! ??? " * 20 + "the and",
    "AN OLD MOUND, AND THE STONES OF IT! THAT IS TO BE WITH US. " * 9,
    "Write to joe@host.org or call +1 415 555 0134 or (030) 123 4567, from 165.123.34.86 only.",
    "2a02:8071:b5a:1d00::5, card 4539 5787 6362 1486, IBAN DE89370400440532013000, or a key.",
    f"The key is {'AKIA'}Q7RT2LMX5CVB4NZK.",
    "By mail a@host.org b@host.org c@host.org d@host.org from 165.123.34.86 91.189.93.70 only.",
    "Home\nAbout us\nLog in\nShare on Facebook\nAll rights reserved.\n© 2020 A Company\n" + PROSE,
    "Please enable javascript.\nWe use cookies.\nTerms of use\nPrivacy policy\n"
    + PROSE.replace(". ", ".\n") * 6,
    "Itâ€™s a cafÃ© of the hill.\r\nA zero\u200bwidth, a \x07bell, ﬁne\u00a0spaces.\ufeff " * 3,
    "Der alte Hügel wurde von Menschen gebaut, an deren Namen sich niemand mehr erinnert. " * 6,
    "丘の上の古い塚は、今では誰も名前を覚えていない人々によって造られました。" * 12,
    "山上的古老土丘是由今天没有人记得名字的人们建造的。" * 12,
    "Старый курган на холме построили люди, имён которых сегодня никто не помнит. " * 5,
)
LICENCES = ("CC-BY-4.0", "CC-BY-NC", "MIT OR GPL-3.0", "MIT AND GPL-2.0+", "", "LicenseRef-CC-BY")
URLS = ("https://good.example/a", "http://ads.example/", "https://good.example/x.pdf", "")
METAS = [
    {"id": f"{n:016x}-{n:08x}", "licence": LICENCES[n % 6], "url": URLS[n % 4]}
    for n in range(len(TEXTS))
]


def of_people(text: str, meta: dict[str, Any]) -> bool:
    return "people" in text or meta["licence"] == ""


def filters(folder: Path) -> list[Filter | Rewriter]:
    """At least one of every class."""
    model, table, words = folder / "model.safetensors", folder / "table.csv", folder / "words.txt"
    weights = np.arange(1024, dtype=np.float32) % 7 / 4 - 0.75
    save_classifier(model, ClassifierSettings(10, min_characters=3), weights, 0.0)
    table.write_text("word,count\nthe,700\nmound,50\nof,300\n")
    words.write_text("stones\n山上\n")
    return [
        BadWords({"en": words, "zh": words}, keep_fraction=0.3),
        *(ByLanguage(), ByLanguage(language="ja")),
        *(C4(), C4(lorem_ipsum=True, curly_bracket=True), C4Lines(), DropBoilerplate(), FineWeb()),
        *(GopherQuality(), GopherRepetition(), GopherRepetition(top_ngrams=())),
        *(GopherRepetition(None, None, None, None, (), ((n, 0.1),)) for n in (8, 10)),
        *(Language(), Length(30, 3000)),
        LicenceRule(("CC-BY-*", "MIT"), ("*-NC-*",)),
        Pattern("stones?", max_matches=2, min_matches=1),
        *(Quality(model), Quality(model, sampling="threshold")),
        Ratios(min_letters=0.5, max_digits=0.2, max_capitals=0.5, max_symbols=0.3),
        *(RedactPii(), RejectPii(dict.fromkeys(("email", "ip", "phone"), 0), {"secret": 1.0})),
        *(RejectPii(dict.fromkeys(("card", "bank", "secret"), 0), {}), Repair(), Sampled(0.5)),
        Unigrams(table, max_mean=-1.0),
        UrlRule(("ads.example",), ("*.pdf",), without_url="reject"),
        Where(of_people),
    ]


def made_by_filters(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    texts = Texts.of_strings(TEXTS, METAS, Scratch())
    made: dict[str, list[Any]] = {}
    samples: dict[str, list[Any]] = {}
    for step in (one.resolved() for one in filters(folder)):
        name = type(step).__name__
        settings = json.dumps(config.identity(step), sort_keys=True).replace(str(folder), "")
        samples.setdefault(name, []).append(settings)
        made.setdefault(name, []).append(
            decided(step, texts) if isinstance(step, Filter) else rewritten(step, texts)
        )
    for name, outputs in made.items():
        yield name, (samples[name], TEXTS, METAS), outputs


def decided(rule: Filter, texts: Texts) -> list[Any]:
    """Decisions with their causes; codes also where each threshold is exactly what a text has."""
    codes, values = (array.tolist() for array in rule.decide(texts))
    causes = [
        (rule.cause(rule.reasons[code - 1], value), value) if code else "kept"
        for code, value in zip(codes, values, strict=True)
    ]
    there = [changed.decide(texts).code for _, changed in at_thresholds(rule, texts)]
    return [causes, there, rule.describe(texts)._asdict()]


def at_thresholds(rule: Filter, texts: Texts) -> Iterator[tuple[str, Filter]]:
    """Each number's name, and the rule with one that a text has: what ``<`` and ``<=`` decide."""
    before = rule.decide(texts)
    for name, number in vars(rule).items():
        if type(number) not in (int, float) or name == "seed":
            continue
        found: list[float] = []
        for extreme in (-5, 0, 1, 8, 100, 10**6):
            if (changed := with_number(rule, name, type(number)(extreme))) is not None:
                codes, values = changed.decide(texts)
                found += values[(codes != 0) & (codes != before.code)].tolist()
        found = sorted(set(found or before.value[before.code != 0].tolist()))
        for value in sorted({found[len(found) * k // 4] for k in range(4 if found else 0)}):
            if (changed := with_number(rule, name, type(number)(value))) is not None:
                yield name, changed


def with_number(rule: Filter, name: str, value: float) -> Filter | None:
    try:
        return replace(rule, **{name: value})
    except ConfigError:
        return None


def rewritten(step: Rewriter, texts: Texts) -> list[Any]:
    new = [step.rewrite(texts.text_of(i), texts.metas[i]) for i in range(len(texts))]
    return [step.touches(texts).tolist(), [(one.text, one.found) for one in new]]


# Stages -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JsonLines(Reader):
    """A document a line."""

    extractor = "json_lines/1"
    patterns = ("*.jsonl",)

    def read(self, path: Path) -> Iterator[Document]:
        for line in path.read_text().splitlines():
            meta = json.loads(line)
            yield Document(meta.pop("text"), meta)

    def spans(self, path: Path, target: int) -> list[tuple[int, ...]]:
        return [(at,) for at in range(0, path.stat().st_size, target)]


@dataclass(frozen=True)
class Loud(Rewriter):
    """Shouts where it says heather."""

    def touches(self, texts: Texts) -> Any:
        return np.array(["heather" in texts.text_of(i) for i in range(len(texts))])

    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:
        del meta
        return Rewritten(text.replace("heather", "HEATHER"), {"heather": text.count("heather")})


def is_no_draft(text: str, meta: dict[str, Any]) -> bool:
    return not meta.get("draft") and bool(text)


PLACES = ("hill", "river", "valley", "meadow", "lane", "wood", "field", "ridge", "path", "stone")
PLACES += ("heather", "moor")


def documents() -> Iterator[dict[str, Any]]:
    """Texts with copies, near-copies, shared lines and passages, and an item of a test."""
    shared = " ".join(
        f"Here the {PLACES[n % 12]} meets the {PLACES[n * 5 % 12]}." for n in range(9)
    )
    for n in range(24):
        said = " ".join(
            f"The {PLACES[k * (n + 3) % 12]} of {PLACES[(k + n) % 12]} number {n * k} is old."
            for k in range(30)
        )
        yield {"text": said, "url": f"https://a.example/{n}", "date": "2024-01-02"}
        if n % 4 == 1:
            yield {"text": said, "title": f"A copy of {n}"}
        if n % 4 == 0:
            yield {"text": f" {said}\n", "id": n, "licence": "CC BY 4.0"}
            yield {"text": said + " Once more.", "language": "en"}
            yield {"text": f"{said} {said[::-1]}", "url": f"https://a.example/{n}#b"}
            yield {
                "text": f"Part {n}.\nOne line.\nAnother line.\nA third line.\n{shared} {said[n:]}"
            }
    yield {"text": "A draft.", "draft": True}
    yield {
        "text": "Nobody knows how many of these old stones were carried up here by hand, they say."
    }
    yield {"text": " "}


class Recorded(Stages):
    """Stages that note what went into every task, and what came out."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: dict[str, list[tuple[Any, Any]]] = {}

    def run(self, label: str, tasks: Sequence[Task[Any]]) -> list[Any]:
        outputs = super().run(label, tasks)
        for task, output in zip(tasks, outputs, strict=True):
            sample = config.to_dict(task.settings), contents(task.inputs)
            self.seen.setdefault(task.stage.name, []).append((sample, content_of(output.folder)))
        return outputs


def contents(inputs: Any) -> Any:
    """Inputs with what is in files in place of their names."""
    if isinstance(inputs, File):
        return content_of(inputs.path)
    if isinstance(inputs, tuple):
        return [contents(one) for one in inputs]
    if dataclasses.is_dataclass(inputs):
        return {f.name: contents(getattr(inputs, f.name)) for f in dataclasses.fields(inputs)}
    return inputs


def made_by_stages(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    raw, quiz = folder / "raw" / "notes", folder / "quiz.jsonl"
    raw.mkdir(parents=True)
    lines = [json.dumps(document) + "\n" for document in documents()]
    (raw / "a.jsonl").write_text("".join(lines[::2]))
    (raw / "b.jsonl").write_text("".join(lines[1::2]))
    quiz.write_text(
        '{"text": "how many of these old stones were carried up here by hand they say"}\n'
    )
    domain = Domain(
        "Notes",
        JsonLines(),
        "CC0-1.0",
        epochs=1.5,
        retrieved="2024-05-06",
        filters=(Loud(), Where(is_no_draft)),
    )
    recipe = Recipe(
        "outputs",
        {"notes": domain},
        deduplication=Deduplication(
            similarity=92 / 93,  # exactly that of some pairs
            lines=Lines(min_bytes=9),
            passages=Passages(min_words=20),
            url="newest",
        ),
        decontamination=Decontamination((str(quiz),)),
        splits=Splits(0.1, 0.1),
        mixture=Mixture(by="epochs"),
        shard_size=20_000,
    )
    recorded: list[Recorded] = []

    def recording(*arguments: Any) -> Recorded:
        recorded.append(Recorded(*arguments))
        return recorded[-1]

    with (
        patch.object(corpus_build, "Stages", recording),
        patch.object(store_build, "Stages", recording),
    ):
        corpus_build.build(
            recipe, root=folder / "raw", out=folder / "corpus", engine=Engine(num_workers=0)
        )
        store_build.tokenize(raw / "a.jsonl", tokenizer=load("bytes"), out=folder / "store")
    large = SPLIT.task("", SplitSettings(JsonLines(), "", 5_000), File(raw / "a.jsonl", ""))
    with recording(recorded[0]._store, Engine(num_workers=0)) as stages:
        stages.run("", [large])
    for name, tasks in {k: v for stages in recorded for k, v in stages.seen.items()}.items():
        yield name, [sample for sample, _ in tasks], [made for _, made in tasks]


# The table ----------------------------------------------------------------------------------------


def entries(folder: Path) -> Table:
    """The table of now."""
    found = {}
    for made_by in (made_by_readers, made_by_filters, made_by_stages):
        inside = folder / made_by.__name__
        inside.mkdir()
        for name, sample, output in made_by(inside):
            found[name] = Entry(version_of(parts()[name]), hash_of(sample), hash_of(output))
    return dict(sorted(found.items()))


def known() -> Table:
    return {name: Entry(**entry) for name, entry in json.loads(TABLE.read_text()).items()}


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        now = entries(Path(folder))
    if TABLE.exists() and (found := complaints(known(), now)):
        sys.exit("\n".join(found))
    rows = [f'"{name}": {json.dumps(entry._asdict())}' for name, entry in now.items()]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def test_outputs_change_with_their_version_only(tmp_path: Path) -> None:
    """Every reader, filter and stage has a sample, and an entry of now in the table."""
    now = entries(tmp_path)
    assert sorted(parts()) == list(now), "what has no sample here gets one"
    assert complaints(known(), now) == []
    assert now == known(), f"the table is not of now: run {WRITE}"


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("PlainText", 'PlainText.extractor to "plain_text/3"'),
        ("Length", "Length.version to 2"),
        ("Repair", "Repair.version to 2"),
        ("tokens.join", 'Stage("tokens.join", 2, …) in barrow.tokens.store.join'),
    ],
)
def test_a_changed_output_names_the_version_to_raise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, where: str
) -> None:
    before = known()[name]
    changed = before._replace(output="other")
    (said,) = complaints({name: before}, {name: changed})
    assert f"raise {where}, then run" in said
    for fine in (
        before,
        changed._replace(version=before.version + 1),
        changed._replace(sample="other"),
    ):
        assert complaints({name: before}, {name: fine}) == []
    assert complaints({}, {name: changed}) == []
    table = tmp_path / "outputs.json"
    monkeypatch.setattr(sys.modules[__name__], "TABLE", table)
    made = {name: before}
    monkeypatch.setattr(sys.modules[__name__], "entries", lambda _: made)
    write()
    assert known() == made
    made[name] = changed
    with pytest.raises(SystemExit, match="caches are stale"):
        write()
    assert known() == {name: before}
    made[name] = changed._replace(version=before.version + 1)
    write()
    assert known() == made


def test_a_changed_comparison_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of whole numbers, ``<=`` is ``<`` with the next threshold."""
    decide = GopherQuality.decide
    monkeypatch.setattr(
        GopherQuality,
        "decide",
        lambda self, texts: decide(replace(self, min_words=self.min_words + 1), texts),
    )

    def found() -> list[str]:
        made = made_by_filters(tmp_path)
        now = {n: Entry(version_of(parts()[n]), hash_of(s), hash_of(o)) for n, s, o in made}
        return complaints(known(), now)

    (said,) = found()
    assert said.startswith("GopherQuality makes something else of its sample at version 1")
    assert "raise GopherQuality.version to 2" in said
    monkeypatch.setattr(GopherQuality, "version", 2)
    assert found() == []


def test_samples_are_at_every_threshold(tmp_path: Path) -> None:
    """The next number above or below a threshold decides otherwise, about some text."""
    texts = Texts.of_strings(TEXTS, METAS, Scratch())
    numbers, decisive = set(), set()
    for step in filters(tmp_path):
        if isinstance(step, Filter):
            kind = type(step).__name__
            numbers |= {(kind, k) for k, v in vars(step).items() if type(v) in (int, float)}
            for name, rule in at_thresholds(step, texts):
                value = vars(rule)[name]
                beside = [value - 1, value + 1]
                if isinstance(value, float):
                    beside = [np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
                others = [with_number(rule, name, type(value)(other)) for other in beside]
                codes = [r.decide(texts).code.tolist() for r in (rule, *others) if r is not None]
                if any(code != codes[0] for code in codes):
                    decisive.add((kind, name))
    # What is drawn, or compared with what no decision tells.
    assert numbers - decisive == {
        *(("BadWords", "keep_fraction"), ("Quality", "alpha"), ("Unigrams", "unseen")),
        *(("ByLanguage", "min_score"), ("ByLanguage", "budget"), ("FineWeb", "short_line")),
        *(("Language", name) for name in ("min_score", "min_letters", "min_letter_share")),
        *((kind, "seed") for kind in ("BadWords", "Quality", "Sample")),
    }


def test_a_raised_version_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(step: Filter | Rewriter) -> str:
        return EXAMINE.task("", Settings(0, 1, {"": (step,)}), Inputs(File("", ""))).key

    steps = (GopherQuality(), ByLanguage(), Length(1), Repair())
    first = [key(step) for step in steps]
    # Version 1 leaves no trace: the tasks of builds before filters had versions stay done.
    assert '"source"' not in json.dumps(config.identity(ByLanguage()))
    monkeypatch.setattr(GopherQuality, "version", 2)
    monkeypatch.setattr(Repair, "version", 2)
    again = [key(step) for step in steps]
    assert [one == other for one, other in zip(first, again, strict=True)] == [
        *(False, False, True, False)
    ]


if __name__ == "__main__":
    from tests.corpus.test_outputs import write as written

    written()
