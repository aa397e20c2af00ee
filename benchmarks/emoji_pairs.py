"""Emoji as image–text pairs: the same things drawn by several vendors, with their names.

The packages `emoji-datasource-VENDOR` (google, twitter, apple, facebook) hold 64-pixel drawings and
a table of names. Get and unpack them, then:

    npm pack emoji-datasource-google emoji-datasource-twitter emoji-datasource-facebook
    npm pack emoji-datasource-apple
    for v in google twitter facebook apple; do
        mkdir $v && tar xzf emoji-datasource-$v-*.tgz -C $v --strip-components=1
    done
    python benchmarks/emoji_pairs.py google twitter facebook apple --out pairs

That writes pairs/VENDOR.jsonl, one line a drawing, and pairs/classes.txt, the names of what every
vendor has drawn. Train on some vendors, and classify the drawings of another one:

    cd pairs
    barrow tokens pairs index google.jsonl twitter.jsonl facebook.jsonl --out train --check
    barrow tokens pairs index apple.jsonl --out test --check

The drawings belong to their vendors; see the licences in the packages. None is kept here.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any


def captions(emoji: dict[str, Any]) -> list[str]:
    """Its name in lower case, and its short names with blanks: the first is the class."""
    names = [emoji["name"] or emoji["short_name"], *emoji["short_names"]]
    clean = (" ".join(name.lower().replace("_", " ").replace("-", " ").split()) for name in names)
    return list(dict.fromkeys(clean))


def drawings(package: Path) -> tuple[str, dict[str, tuple[Path, list[str]]]]:
    """The vendor of an unpacked package, and by class its drawings and captions."""
    vendor = next(path.name for path in sorted((package / "img").iterdir()) if path.is_dir())
    found = {}
    for emoji in json.loads((package / "emoji.json").read_text(encoding="utf-8")):
        image = package / "img" / vendor / "64" / emoji["image"]
        if emoji[f"has_img_{vendor}"] and image.is_file():
            texts = captions(emoji)
            found.setdefault(texts[0], (image, texts))
    return vendor, found


def main() -> None:
    """Write the pairs of every package, and the classes that all have."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", nargs="+", type=Path, help="folders of unpacked packages")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shared-only", action="store_true", help="only what all have drawn")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    vendors = dict(drawings(package) for package in options.packages)
    shared = set.intersection(*(set(found) for found in vendors.values()))
    for vendor, found in vendors.items():
        lines = [
            {"path": os.path.relpath(image, options.out), "captions": texts}
            for name, (image, texts) in found.items()
            if name in shared or not options.shared_only
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (options.out / f"{vendor}.jsonl").write_text(text, encoding="utf-8")
        print(f"{vendor}: {len(lines):,} drawings")
    (options.out / "classes.txt").write_text("\n".join(sorted(shared)) + "\n", encoding="utf-8")
    print(f"{len(shared):,} classes: chance is {1 / len(shared):.3%}")


if __name__ == "__main__":
    main()
