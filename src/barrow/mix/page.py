"""The page of a search: the mixture, what it changes, what helps what, the runs, the cost."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from barrow.mix.confirm import Verdict
from barrow.mix.find import Found
from barrow.mix.plan import size_label
from barrow.pages import frame
from barrow.pages.frame import static
from barrow.pages.markup import Markup, element, name, paragraph, section, table

_SHADES = 10  # of the heat map: classes t0 to t9
_WIDTH = 600.0
_ROW = 26.0


def page(found: Found) -> str:
    """The page as one HTML file, without a script."""
    return frame.page(
        "Mixture search",
        element(
            "header",
            paragraph("Mixture search", class_="eyebrow"),
            element("h1", headline(found)),
            paragraph(_lead(found), class_="lead"),
            *(paragraph(words, class_="lead") for words in remarks(found)),
        ),
        element("main", _weights(found), _changes(found), _transfer(found), _runs(found)),
        element(
            "footer", f"Made by barrow {version('barrow')}. Δ: bits per byte, lower is better."
        ),
        style=static("barrow.mix", "mix.css"),
    )


def headline(found: Found) -> str:
    """The answer in a few words, with what it rests on."""
    if not found.mixture["is_supported"]:
        return "The runs do not support any change"
    if found.verdict is None:
        size = size_label(round(found.mixture["params"]))
        return f"A better mixture by the law for {size} parameters, not confirmed yet"
    words = {
        "yes": "A better mixture, confirmed",
        "no": "The recommended mixture is worse",
        "not shown": "The recommended mixture is not shown to be better",
    }
    return f"{words[found.verdict.answer]} at {_rests_on(found.verdict)}"


def _rests_on(verdict: Verdict) -> str:
    seeds = max(1, len(verdict.seeds))
    return f"{size_label(verdict.params)} parameters with {seeds} seed{'s' * (seeds > 1)}"


def remarks(found: Found) -> list[str]:
    """List the notes beside the answer: how domains count, and whether the law held."""
    counts = found.mixture["counts"]
    same = max(counts.values()) - min(counts.values()) < 1e-9
    lines = [
        f"All {len(counts)} domains count the same in these figures, whatever their size; "
        "--target changes that."
        if same
        else "Domains count in these figures as the target says."
    ]
    if found.verdict is not None:
        lines += _disagreement(found.mixture["expected"]["current"], found.verdict)
    return lines


def _disagreement(expected: dict[str, Any], verdict: Verdict) -> list[str]:
    """Where neither interval holds the other's change, or a domain has the other sign."""
    middle, low, high = expected["objective"]
    one = verdict.objective
    assert one.low is not None
    assert one.high is not None
    is_outside = not low <= one.difference <= high and not one.low <= middle <= one.high
    turned = [
        domain
        for domain, values in expected["domains"].items()
        if (other := verdict.domains.get(domain)) is not None
        and other.low is not None
        and other.high is not None
        and (other.low > 0 > values[0] or other.high < 0 < values[0])
    ]
    if not is_outside and not turned:
        return []
    what = []
    if is_outside:
        what.append(f"the measured change, {one.difference:+.4f}, is not in the expected interval")
    if turned:
        what.append(f"the measured change has the other sign in {', '.join(turned)}")
    advice = (
        "Rely on the measured figures, and only for models like those of the confirmation "
        f"({_rests_on(verdict)}). Before training a larger one, search with more or larger "
        "--proxies or more --tokens-per-param, and --confirm nearer to its size."
    )
    return [f"Expected and measured disagree: {'; '.join(what)}.", advice]


def change(values: Sequence[float | None]) -> str:
    """A change with its interval."""
    middle, low, high = values
    if low is None or high is None:
        return f"{middle:+.4f}"
    return f"{middle:+.4f} ({low:+.4f} to {high:+.4f})"


def cost(found: Found) -> str:
    """What the runs took."""
    devices = sorted({group["device"] for group in found.groups.values() if "device" in group})
    on = f" on {', '.join(devices)}" if devices else ""
    return f"{found.tokens:,} tokens of training, {found.seconds / 60:.1f} minutes{on}"


def _lead(found: Found) -> str:
    expected = found.mixture["expected"]
    parts = [
        f"Expected against {words}: {change(expected[key]['objective'])} bits per byte, by the "
        f"law for {size_label(round(found.mixture['params']))} parameters."
        for key, words in (("current", "the current mixture"), ("uniform", "uniform weights"))
    ]
    if found.verdict is not None:
        verdict = found.verdict
        middle = change(
            (verdict.objective.difference, verdict.objective.low, verdict.objective.high)
        )
        pairs = "a pair" if len(verdict.seeds) < 2 else f"{len(verdict.seeds)} pairs"
        parts.append(
            f"Measured by {pairs} of runs of {size_label(verdict.params)} parameters on "
            f"{verdict.tokens:,} tokens each: {middle}, p = {verdict.objective.p:.2g}."
        )
        if len(verdict.seeds) > 1:
            each = zip(verdict.seeds, verdict.differences, strict=True)
            parts.append(", ".join(f"Seed {seed}: {value:+.4f}" for seed, value in each) + ".")
    return " ".join(parts)


def _weights(found: Found) -> Markup:
    made = found.mixture
    rows = [
        (
            name(domain),
            f"{made['current'][domain]:.2%}",
            f"{weight:.2%}",
            f"{made['low'][domain]:.2%} to {made['high'][domain]:.2%}",
            element("span", _bars(made["current"][domain], weight)),
        )
        for domain, weight in made["weights"].items()
    ]
    header = ("Domain", "Current", "Recommended", "Best weights, 95%", "")
    return section("weights", "Weights", table("Shares of tokens.", header, rows, text=(0, 4)))


def _bars(current: float, recommended: float) -> Markup:
    bars = (
        element("rect", x="0", y=str(y), width=f"{100 * share:.2f}", height="4", class_=kind)
        for y, share, kind in ((0, current, "current"), (5, recommended, "recommended"))
    )
    return element(
        "svg",
        *bars,
        viewBox="0 0 100 9",
        preserveAspectRatio="none",
        class_="bars",
        aria_hidden="true",
    )


def _changes(found: Found) -> Markup:
    expected = found.mixture["expected"]["current"]["domains"]
    measured = {} if found.verdict is None else found.verdict.domains
    rows = []
    for domain, values in expected.items():
        one = measured.get(domain)
        confirmed = "" if one is None else change((one.difference, one.low, one.high))
        counts = f"{found.mixture['counts'][domain]:.1%}"
        rows.append((name(domain), counts, change(values), confirmed))
    header = ("Domain", "Counts", "Expected Δ", "Measured Δ")
    return section(
        "changes",
        "What it changes",
        paragraph(
            "Bits per byte on validation text: recommended less current, with 95% intervals. The "
            "law's intervals say how well the runs determine it; the measured ones come from "
            "drawing documents."
        ),
        table("By domain.", header, rows),
    )


def _transfer(found: Found) -> Markup:
    transfer = found.mixture["transfer"]
    domains = list(found.mixture["weights"])
    rows = []
    for scored, row in transfer.items():
        cells = []
        for domain in domains:
            middle, low, high = row[domain]
            shade = min(_SHADES - 1, int(middle * _SHADES))
            title = f"{low:.2f} to {high:.2f}"
            cells.append(element("span", f"{middle:.2f}", class_=f"cell t{shade}", title=title))
        rows.append((name(scored), *cells))
    return section(
        "transfer",
        "What helps what",
        paragraph(
            "How much a domain (row) gains from tokens of another (column), as a share of the "
            "most that any gives it. Intervals are shown on hovering."
        ),
        table("Transfer.", ("", *map(name, domains)), rows, class_="figures matrix"),
    )


def _runs(found: Found) -> Markup:
    good = {n: found.objective(one["losses"]) for n, one in found.runs.items() if one["losses"]}
    low, high = min(good.values()), max(good.values())
    scale = (_WIDTH - 20) / ((high - low) or 1)
    sizes = sorted({run.params for run in found.plan.runs})
    shapes = [
        element(
            "circle",
            element("title", f"{run.name}: {good[run.name]:.4f}"),
            cx=f"{10 + scale * (good[run.name] - low):.1f}",
            cy=f"{_ROW * (sizes.index(run.params) + 0.5):.1f}",
            r="4",
            class_="run reused" if run.reused else "run",
        )
        for run in found.plan.runs
        if run.name in good
    ]
    label = f"Weighted bits per byte of {len(good)} runs, from {low:.3f} to {high:.3f}"
    chart = element(
        "svg",
        *shapes,
        viewBox=f"0 0 {_WIDTH:.0f} {_ROW * len(sizes):.0f}",
        class_="points",
        role="img",
        aria_label=label,
    )
    lost = {n: one["diverged"] for n, one in found.runs.items() if one["diverged"]}
    reused = {run.name: run.reused for run in found.plan.runs if run.reused}
    listed = [
        *(paragraph(name(run), f" diverged and is left out: {why}") for run, why in lost.items()),
        *(paragraph(name(run), f" is reused: {why}") for run, why in reused.items()),
        *(paragraph(name(n), f" is not reused: {why}") for n, why in found.plan.left_out.items()),
    ]
    return section(
        "runs",
        "Runs",
        paragraph(f"{label}; a row for each size: {', '.join(map(size_label, sizes))}."),
        element("figure", chart),
        paragraph(f"Cost: {cost(found)}."),
        *listed,
    )
