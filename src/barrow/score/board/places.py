"""Places in a ranking, as far as intervals settle them.

A result is clearly better than another where its interval lies wholly below the other's. Its place
is the range from one more than the number of clearly better results to the number of all but the
clearly worse ones: 1–3 says that the order of the first three is not settled.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

Interval = tuple[float, float] | None


def places(intervals: Sequence[Interval]) -> list[tuple[int, int]]:
    """The first and the last place each result may have, counted from 1.

    An interval that is not known (None) settles nothing.
    """
    ends = [(-math.inf, math.inf) if interval is None else interval for interval in intervals]
    lows = sorted(low for low, _ in ends)
    highs = sorted(high for _, high in ends)
    return [(bisect_left(highs, low) + 1, bisect_right(lows, high)) for low, high in ends]
