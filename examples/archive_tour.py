"""Write a small archive, read it in several ways, and see bad records reported."""

import tempfile
from pathlib import Path

import barrow
from barrow import Document

folder = Path(tempfile.mkdtemp()) / "corpus"

with barrow.archive.Writer(folder, shard_size=50_000, frame_size=10_000) as writer:
    for n in range(1000):
        domain = "Even" if n % 2 == 0 else "Odd"
        writer.add(Document(f"Document {n}. " * 20, {"pile_set_name": domain, "n": n}))

archive = barrow.archive.open(folder)
print(len(archive), "documents in", len(archive.paths), "shards")
print("number 500:", archive[500].meta)
print("ten to twelve:", [document.meta["n"] for document in archive[10:12]])
print("parts:", [len(archive.shard(rank, 3)) for rank in range(3)])

for share in barrow.archive.composition(archive).shares:
    print(f"{share.domain}: {share.documents} documents, {share.bytes:,} bytes")

print("bytes of text, by blocks:", sum(block.num_text_bytes for block in archive.blocks()))

foreign = folder.parent / "foreign.jsonl"
foreign.write_text('{"content": "fine", "id": 1}\n{"content": 7}\nnot json\n')
counted = barrow.archive.open(foreign, text_key="content", on_bad="count")
print([(document.text, document.meta) for document in counted], dict(counted.bad.counts))

shard = Path(archive.paths[0])
data = bytearray(shard.read_bytes())
data[1000] ^= 1
shard.write_bytes(data)
print("after one flipped bit:", barrow.archive.verify(folder).problems[0])
