"""Repair of encodings beside ftfy, and dropping boilerplate lines, in one run.

    python benchmarks/bench_repair.py --data ARCHIVE [--mb 40] [--passes 3]

Speeds are MB (10^6 bytes) of UTF-8 text per second of processor time, one core, best of several
passes. Then planted damage: sentences in many languages, read as Windows-1252 or Latin-1 once or
twice; how many each gives back exactly, and how many good ones it changes.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

import barrow.archive
from barrow.corpus.filters.boilerplate.boilerplate import DropBoilerplate
from barrow.corpus.filters.filter import Rewriter
from barrow.corpus.filters.repair import Repair
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.text.mojibake import repair_controls, repair_mojibake

SENTENCES = """
It’s “fine” — really… nothing to see here.
Der Größe nach: Äpfel, Öl, Übung und „Straße“ – ganz einfach.
Voilà l’été : « déjà vu », cœur, naïveté… à 5 °C.
El niño comió piñas; ¿dónde está la montaña? ¡Allí!
São Paulo não é só uma cidade; a ação começa amanhã.
Zażółć gęślą jaźń, powiedział Łukasz.
Příliš žluťoučký kůň úpěl ďábelské ódy.
Árvíztűrő tükörfúrógép, mondta Őze.
Bugün hava çok güzel, değil mi? Şu ışığa bak.
Hôm nay trời đẹp quá, phải không?
Привет, мир! Это обычное предложение.
Добрий день, як справи? Їжак їсть яблуко.
Καλημέρα κόσμε, τι κάνεις σήμερα;
שלום עולם, מה שלומך היום?
مرحبا بالعالم، كيف حالك اليوم؟
नमस्ते दुनिया, आप कैसे हैं?
สวัสดีชาวโลก วันนี้เป็นอย่างไร
你好，世界。今天天气很好。
こんにちは、世界。今日はいい天気です。
안녕하세요 세계. 오늘은 날씨가 좋네요.
The price is £5 or €6, about ½ of ¥1,000 ± 3%.
We have x ≤ y → z ∈ ℝ, so ∑ a² ≠ ∞.
Party 🎉 tonight 😀 at eight!
Þetta reddast, sagði Ægir á Íslandi.
Blåbær på Ærø og Åland – smørrebrød!
“CAFÉ…” STAND DORT, UND ‘ÜBER™’ DARUNTER.
""".strip().split("\n")


def damaged(text: str, encoding: str, times: int) -> str:
    for _ in range(times):
        shown = [bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in text.encode()]
        text = "".join(shown)
    return text


def speed(work: Callable[[], object], megabytes: float, passes: int) -> float:
    best = float("inf")
    for _ in range(passes):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return megabytes / best


def apply(rewriter: Rewriter, texts: list[Texts]) -> None:
    for some in texts:
        for i in np.flatnonzero(rewriter.touches(some)).tolist():
            rewriter.rewrite(some.text_of(i), {})


def ours(text: str) -> str:
    return repair_controls(repair_mojibake(text)[0])[0]


def main() -> None:
    import ftfy

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an archive")
    parser.add_argument("--mb", type=float, default=40)
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    scratch = Scratch()
    texts: list[Texts] = []
    size = 0
    for block in barrow.archive.open(options.data).blocks():
        metas: list[dict[str, object]] = [{}] * len(block)
        texts.append(Texts(block.text.copy(), block.offsets.copy(), metas, scratch))
        size += block.num_text_bytes
        if size >= options.mb * 1e6:
            break
    megabytes = size / 1e6
    strings = [some.text_of(i) for some in texts for i in range(len(some))]
    repair, drop = Repair(), DropBoilerplate()
    apply(repair, texts)
    apply(drop, texts)
    few = strings[::4]
    part = sum(len(text.encode()) for text in few) / 1e6
    fixes = ftfy.TextFixerConfig(unescape_html=False, uncurl_quotes=False, normalization=None)
    rows = [
        ("barrow Repair: touches", speed(lambda: [repair.touches(t) for t in texts], megabytes, 5)),
        ("barrow Repair", speed(lambda: apply(repair, texts), megabytes, 5)),
        (
            f"ftfy {version('ftfy')} fix_encoding, {part:.1f} MB",
            speed(lambda: [ftfy.fix_encoding(text) for text in few], part, options.passes),
        ),
        (
            "ftfy fix_text without entities, quotes, NFC",
            speed(lambda: [ftfy.fix_text(text, fixes) for text in few], part, options.passes),
        ),
        (
            "barrow DropBoilerplate: touches",
            speed(lambda: [drop.touches(t) for t in texts], megabytes, 5),
        ),
        ("barrow DropBoilerplate", speed(lambda: apply(drop, texts), megabytes, 5)),
    ]
    print(f"{platform.machine()}, Python {platform.python_version()}, {megabytes:.1f} MB\n")
    print("| | MB/s | barrow Repair is |\n|---|---|---|")
    for name, rate in rows:
        print(f"| {name} | {rate:.1f} | {rows[1][1] / rate:.1f}× |")
    print("\n| damage | sentences | barrow gives back | ftfy gives back |\n|---|---|---|---|")
    for encoding in ("cp1252", "latin-1"):
        for times in (1, 2):
            pairs = [(text, damaged(text, encoding, times)) for text in SENTENCES]
            mine = sum(ours(bad) == good for good, bad in pairs)
            theirs = sum(ftfy.fix_encoding(bad) == good for good, bad in pairs)
            print(f"| {encoding} × {times} | {len(pairs)} | {mine} | {theirs} |")
    mine = sum(ours(text) == text for text in SENTENCES)
    theirs = sum(ftfy.fix_encoding(text) == text for text in SENTENCES)
    print(f"| none | {len(SENTENCES)} | {mine} | {theirs} |")
    both = [(ours(text), ftfy.fix_encoding(text), text) for text in few]
    changed = [(a, b) for a, b, text in both if text not in (a, b)]
    only = [sum(a != t == b for a, b, t in both), sum(b != t == a for a, b, t in both)]
    print(f"\nOf {len(few):,} documents both change {len(changed)},", end=" ")
    print(f"{sum(a == b for a, b in changed)} of them to the same text;", end=" ")
    print(f"only barrow {only[0]}, only ftfy {only[1]}.")


if __name__ == "__main__":
    main()
