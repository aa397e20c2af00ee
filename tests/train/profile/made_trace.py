"""Traces as the profiler writes them, made of a few events whose times are known."""

from __future__ import annotations

from pathlib import Path

from jax.profiler import ProfileData

# Name, start and end in milliseconds, statistics.
Event = tuple[str, float, float, dict[str, str]]


def write_trace(folder: Path, planes: dict[str, dict[str, list[Event]]]) -> Path:
    """A trace of planes, each with its lines of events."""
    text = "".join(_plane(name, lines) for name, lines in planes.items())
    path = folder / "plugins" / "profile" / "now" / "host.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(ProfileData.text_proto_to_serialized_xspace(text))
    return folder


def _plane(name: str, lines: dict[str, list[Event]]) -> str:
    events = {event[0] for line in lines.values() for event in line}
    stats = {key for line in lines.values() for event in line for key in event[3]}
    of_event, of_stat = (
        {word: k for k, word in enumerate(sorted(words), 1)} for words in (events, stats)
    )
    text = [f'planes {{ name: "{name}"']
    for title, line in lines.items():
        text.append(f'lines {{ name: "{title}" timestamp_ns: 1000000')
        for word, start, end, known in line:
            times = f"offset_ps: {round(start * 1e9)} duration_ps: {round((end - start) * 1e9)}"
            held = "".join(
                f'stats {{ metadata_id: {of_stat[key]} str_value: "{value}" }}'
                for key, value in known.items()
            )
            text.append(f"events {{ metadata_id: {of_event[word]} {times} {held} }}")
        text.append("}")
    for kind, known_words in (("event_metadata", of_event), ("stat_metadata", of_stat)):
        text += [
            f'{kind} {{ key: {k} value {{ id: {k} name: "{word}" }} }}'
            for word, k in known_words.items()
        ]
    return "\n".join([*text, "}\n"])
