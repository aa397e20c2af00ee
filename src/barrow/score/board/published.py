"""The Pile paper's figures as a separate table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from barrow.pages.markup import Markup, element, paragraph, section


def published_section() -> Markup:
    """Reference rows, marked as published; no rank, no shade."""
    head = element(
        "tr",
        element("th", "Model", scope="col", class_="text"),
        _upright("Mean by weight"),
        *(_upright(component) for component in WEIGHTS),
    )
    rows = (
        element(
            "tr",
            element(
                "th",
                element("span", published.model),
                element("span", "published", class_="tag"),
                scope="row",
                class_="text",
            ),
            element("td", f"{published.weighted:.2f}", class_="number mean"),
            *(
                element("td", f"{published.bpb[component]:.2f}", class_="number")
                for component in WEIGHTS
            ),
        )
        for published in PUBLISHED
    )
    caption = "Published bits per byte by model and component of the Pile"
    return section(
        "published",
        "Published, for reference",
        paragraph(
            f"{SOURCE}. Other texts and other windows: these rows are shown separately and "
            "have no rank. The last three are the authors' own models, by what they were "
            "trained on. The mean by weight is computed here from the published figures."
        ),
        element(
            "div",
            element(
                "table",
                element("caption", element("span", caption)),
                element("thead", head),
                element("tbody", *rows),
            ),
            class_="scroll matrix",
            tabindex="0",
            role="region",
            aria_label=caption,
        ),
    )


def _upright(words: str) -> Markup:
    return element("th", element("span", words), scope="col", class_="upright")


SOURCE = "Gao et al., The Pile: An 800GB Dataset of Diverse Text for Language Modeling (2020)"


@dataclass(frozen=True)
class Published:
    """A model of the paper, and its bits per byte by component."""

    model: str
    bpb: Mapping[str, float]

    @property
    def weighted(self) -> float:
        """The mean by the components' weights in the Pile; computed here, not published."""
        return sum(WEIGHTS[name] * value for name, value in self.bpb.items()) / sum(
            WEIGHTS.values()
        )


# Shares of the Pile in percent, by component.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "Pile-CC": 18.11,
        "PubMed Central": 14.4,
        "Books3": 12.07,
        "OpenWebText2": 10.01,
        "ArXiv": 8.96,
        "Github": 7.59,
        "FreeLaw": 6.12,
        "StackExchange": 5.13,
        "USPTO Backgrounds": 3.65,
        "PubMed Abstracts": 3.07,
        "Gutenberg (PG-19)": 2.17,
        "OpenSubtitles": 1.55,
        "Wikipedia (en)": 1.53,
        "DM Mathematics": 1.24,
        "Ubuntu IRC": 0.88,
        "BookCorpus2": 0.75,
        "EuroParl": 0.73,
        "HackerNews": 0.62,
        "YoutubeSubtitles": 0.6,
        "PhilPapers": 0.38,
        "NIH ExPorter": 0.3,
        "Enron Emails": 0.14,
    }
)

_FIGURES = {
    "GPT-2 small": (
        1.0878,
        1.0759,
        1.1959,
        1.1111,
        1.3548,
        1.7912,
        1.0512,
        1.2981,
        0.8288,
        0.9524,
        1.2655,
        1.2465,
        1.1285,
        2.6911,
        1.8466,
        1.1295,
        2.3177,
        1.4433,
        2.0387,
        1.3203,
        0.9099,
        1.5888,
    ),
    "GPT-2 medium": (
        0.9992,
        0.9788,
        1.1063,
        1.0073,
        1.2305,
        1.3180,
        0.9321,
        1.1075,
        0.7564,
        0.8579,
        1.1140,
        1.1657,
        1.0213,
        2.5448,
        1.7187,
        1.0498,
        2.0204,
        1.2794,
        1.8412,
        1.2163,
        0.8323,
        1.4119,
    ),
    "GPT-2 large": (
        0.9582,
        0.9334,
        1.0588,
        0.9539,
        1.1778,
        1.7909,
        0.9017,
        1.0806,
        0.7202,
        0.8108,
        1.0820,
        1.1324,
        0.9795,
        2.4833,
        1.6427,
        1.0061,
        1.8770,
        1.3143,
        1.7355,
        1.1688,
        0.7946,
        1.4535,
    ),
    "GPT-2 XL": (
        0.9355,
        0.9044,
        1.0287,
        0.9171,
        1.1381,
        1.6486,
        0.8747,
        1.0504,
        0.6969,
        0.7810,
        1.0829,
        1.1129,
        0.9655,
        2.4377,
        1.6024,
        0.9783,
        1.7650,
        1.3361,
        1.6694,
        1.1327,
        0.7694,
        1.4222,
    ),
    "GPT-3 Ada": (
        0.9212,
        0.8633,
        0.9778,
        0.8727,
        1.0304,
        0.8761,
        0.8226,
        1.0096,
        0.6799,
        0.8130,
        0.9776,
        1.1116,
        0.8757,
        2.3249,
        1.3139,
        0.9754,
        1.0475,
        1.1736,
        1.3407,
        1.0362,
        0.7974,
        1.2634,
    ),
    "GPT-3 Babbage": (
        0.8483,
        0.7792,
        0.9005,
        0.7921,
        0.9259,
        0.7335,
        0.7381,
        0.8839,
        0.6230,
        0.7382,
        0.8749,
        1.0488,
        0.7863,
        2.2015,
        1.1968,
        0.9041,
        0.9363,
        1.0875,
        1.1876,
        0.9530,
        0.7326,
        1.1685,
    ),
    "GPT-3 Curie": (
        0.7849,
        0.7150,
        0.8284,
        0.7199,
        0.8453,
        0.6415,
        0.6667,
        0.8004,
        0.5752,
        0.6773,
        0.7930,
        0.9875,
        0.7047,
        2.1067,
        1.0995,
        0.8435,
        0.8415,
        1.0175,
        1.0639,
        0.8802,
        0.6784,
        1.0990,
    ),
    "GPT-3 DaVinci": (
        0.7070,
        0.6544,
        0.7052,
        0.6242,
        0.7702,
        0.5635,
        0.6006,
        0.7321,
        0.5280,
        0.6201,
        0.7115,
        0.9130,
        0.5953,
        2.0228,
        0.9915,
        0.7788,
        0.7519,
        0.9457,
        0.9469,
        0.8059,
        0.6239,
        1.0201,
    ),
    "1.3B on the Pile": (
        0.9989,
        0.6332,
        1.0734,
        0.9938,
        0.7945,
        0.5597,
        0.6978,
        0.8152,
        0.6731,
        0.7313,
        1.1426,
        1.0909,
        0.8961,
        1.5206,
        1.4085,
        1.0613,
        1.1202,
        1.0968,
        1.4269,
        1.1256,
        0.7347,
        0.8301,
    ),
    "1.3B on CC-100": (
        1.0873,
        1.1311,
        1.2264,
        1.2222,
        1.8159,
        1.6509,
        1.0221,
        1.5414,
        0.8772,
        1.0193,
        1.2780,
        1.1827,
        1.1807,
        3.1774,
        2.1243,
        1.1346,
        2.7141,
        1.4352,
        2.3287,
        1.4269,
        0.9713,
        1.3300,
    ),
    "1.3B on raw CC": (
        1.0287,
        0.9120,
        1.1366,
        1.0732,
        1.2642,
        0.9301,
        0.9468,
        1.1292,
        0.8455,
        0.9718,
        1.2235,
        1.2139,
        1.0252,
        2.6229,
        1.5691,
        1.0914,
        1.4917,
        1.2305,
        1.5607,
        1.2090,
        0.9225,
        1.0483,
    ),
}

PUBLISHED = tuple(
    Published(model, MappingProxyType(dict(zip(WEIGHTS, figures, strict=True))))
    for model, figures in _FIGURES.items()
)
