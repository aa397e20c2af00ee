"""Generated school mathematics: questions and exact answers.

The kinds of problems are those of DeepMind's mathematics_dataset, the wording is our own. Numbers
are integers and fractions throughout, so every answer is exact. The same module and seed give the
same problems on every machine and in every version of Python.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

_Item = TypeVar("_Item")
Problem = tuple[str, str]


def problems(module: str, seed: int, num: int) -> Iterator[Problem]:
    """So many questions with their answers; `module` is one of `MODULES`."""
    if module not in _MAKERS:
        raise ValueError(f"module must be one of {', '.join(MODULES)}, got {module!r}")
    draw = _Draw(f"{module}/{seed}")
    for _ in range(num):
        yield _MAKERS[module](draw)


class _Draw:
    """Random choices from `random()` alone, which Python promises not to change."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random  # noqa: S311 - nothing secret

    def below(self, bound: int) -> int:
        return int(self._random() * bound)

    def between(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def of(self, items: Sequence[_Item]) -> _Item:
        return items[self.below(len(items))]

    def some(self, items: Sequence[_Item], num: int) -> list[_Item]:
        """So many of them, none twice, in any order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(num)]

    def integer(self, max_digits: int) -> int:
        """Of either sign, of any number of digits as often as of any other."""
        size = self.between(1, max_digits)
        return self.between(0, 10**size - 1) * self.of((1, 1, -1))

    def nonzero(self, bound: int) -> int:
        return self.between(1, bound) * self.of((1, -1))

    def decimal(self, max_digits: int, max_places: int) -> Fraction:
        return Fraction(self.integer(max_digits), 10 ** self.between(0, max_places))

    def number(self) -> Fraction:
        """An integer, a decimal or a fraction, as comparisons are made of."""
        kind = self.below(4)
        if kind == 0:
            return Fraction(self.nonzero(20), self.between(2, 20))
        return self.decimal(3, 2) if kind == 1 else Fraction(self.integer(4))


# How numbers are written --------------------------------------------------------------------------


def _written(value: Fraction | int) -> str:
    """As a decimal where that ends soon, else as a fraction."""
    value = Fraction(value)
    if value.denominator in (1, 10, 100, 1000, 2, 4, 5, 8, 20, 25, 50, 125, 10**4, 10**5, 10**6):
        return _as_decimal(value)
    return str(value)


def _as_decimal(value: Fraction) -> str:
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _polynomial(coefficients: Sequence[int], variable: str) -> str:
    """Highest power first; coefficient k belongs to power k."""
    terms = ""
    for power in range(len(coefficients) - 1, -1, -1):
        coefficient = coefficients[power]
        if coefficient == 0:
            continue
        letters = ("", variable)[min(power, 1)] + (f"**{power}" if power > 1 else "")
        size = abs(coefficient)
        word = str(size) if not letters else letters if size == 1 else f"{size}*{letters}"
        if terms:
            terms += f" {'-' if coefficient < 0 else '+'} {word}"
        else:
            terms = f"-{word}" if coefficient < 0 else word
    return terms or "0"


def _base(value: int, base: int) -> str:
    digits = ""
    rest = abs(value)
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits = "0123456789abcdef"[digit] + digits
    return f"-{digits}" if value < 0 else digits


_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven")
_ORDINALS = ("", "", "second", "third", "fourth", "fifth", "sixth")
_LETTERS = "abcdfghjkmnpqrstuvwxyz"


# Arithmetic ---------------------------------------------------------------------------------------


def _add_or_subtract(draw: _Draw) -> Problem:
    a, b = draw.decimal(8, 4), draw.decimal(8, 4)
    x, y = _as_decimal(a), _as_decimal(b)
    form, result = draw.of(
        (
            ("What is {x} plus {y}?", a + b),
            ("Add {x} and {y}.", a + b),
            ("Work out {x} + {y}.", a + b),
            ("What is {x} minus {y}?", a - b),
            ("Take {y} away from {x}.", a - b),
            ("What is the difference between {x} and {y}?", abs(a - b)),
        )
    )
    return form.format(x=x, y=y), _as_decimal(result)


def _multiply(draw: _Draw) -> Problem:
    a, b = draw.decimal(5, 3), draw.decimal(4, 2)
    form = draw.of(("What is {} times {}?", "Multiply {} by {}.", "Work out {} * {}."))
    return form.format(_as_decimal(a), _as_decimal(b)), _as_decimal(a * b)


def _divide(draw: _Draw) -> Problem:
    b = draw.nonzero(999)
    a = b * draw.integer(4) if draw.below(2) else draw.integer(6)
    form = draw.of(("What is {} divided by {}?", "Divide {} by {}.", "Work out {} / {}."))
    return form.format(a, b), str(Fraction(a, b))


def _mixed(draw: _Draw) -> Problem:
    text, value = _expression(draw, draw.between(3, 6))
    form = draw.of(("Work out {}.", "What is the value of {}?", "Evaluate {}.", "What is {}?"))
    return form.format(text), str(value)


def _expression(draw: _Draw, num_numbers: int) -> tuple[str, Fraction]:
    """An expression of so many numbers, in brackets where it needs them, and its value."""
    if num_numbers == 1:
        number = draw.nonzero(draw.of((10, 10, 100)))
        return (str(number) if number > 0 else f"({number})"), Fraction(number)
    num_left = draw.between(1, num_numbers - 1)
    left, a = _expression(draw, num_left)
    right, b = _expression(draw, num_numbers - num_left)
    left = left if num_left == 1 else f"({left})"
    right = right if num_numbers - num_left == 1 else f"({right})"
    sign = draw.of("+-*/" if b else "+-*")
    value = a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b
    return f"{left} {sign} {right}", value


# Numbers ------------------------------------------------------------------------------------------


def _common_divisor(draw: _Draw) -> Problem:
    common = draw.between(1, 300)
    a, b = common * draw.between(1, 900), common * draw.between(1, 900)
    word = draw.of(("greatest common divisor", "highest common factor"))
    form = draw.of(("What is the {} of {} and {}?", "Find the {} of {} and {}."))
    return form.format(word, a, b), str(math.gcd(a, b))


def _common_multiple(draw: _Draw) -> Problem:
    common = draw.between(1, 60)
    a, b = common * draw.between(1, 90), common * draw.between(1, 90)
    word = draw.of(("least common multiple", "lowest common multiple"))
    form = draw.of(("What is the {} of {} and {}?", "Find the {} of {} and {}."))
    return form.format(word, a, b), str(math.lcm(a, b))


def _prime_factors(draw: _Draw) -> Problem:
    number = draw.between(2, 10 ** draw.between(2, 7))
    factors: list[int] = []
    rest, factor = number, 2
    while rest > 1:
        if factor * factor > rest:
            factor = rest
        if rest % factor == 0:
            factors.append(factor)
            while rest % factor == 0:
                rest //= factor
        factor += 1
    form = draw.of(("Which primes divide {}?", "List the prime factors of {}."))
    return form.format(number), ", ".join(map(str, factors))


def _base_conversion(draw: _Draw) -> Problem:
    value = draw.integer(6)
    source, target = draw.some(range(2, 17), 2)
    form = draw.of(("Write {} (base {}) in base {}.", "What is {} (base {}) in base {}?"))
    return form.format(_base(value, source), source, target), _base(value, target)


def _place_value(draw: _Draw) -> Problem:
    places = ("units", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands")
    number = abs(draw.integer(7))
    place = draw.below(min(len(str(number)), len(places)))
    form = draw.of(("What is the {} digit of {}?", "Which is the {} digit of {}?"))
    return form.format(places[place], number), str(number)[-1 - place]


def _rounding(draw: _Draw) -> Problem:
    nearest = ("integer", "ten", "hundred", "thousand", "ten thousand")
    places = draw.between(-4, 5)
    unit = Fraction(1, 10) ** places
    while True:
        value = draw.decimal(8, 6)
        # No halves: rounding conventions differ.
        if (value / unit * 2) % 2 != 1:
            break
    rounded = round(value / unit) * unit
    if places > 0:
        plural = "" if places == 1 else "s"
        words = f"to {_COUNTS[places]} decimal place{plural}"
    else:
        words = f"to the nearest {nearest[-places]}"
    form = draw.of(("Round {} {}.", "What is {} rounded {}?"))
    return form.format(_as_decimal(value), words), _as_decimal(rounded)


# Comparison ---------------------------------------------------------------------------------------


def _numbers(draw: _Draw, num: int) -> list[Fraction]:
    """So many, no two the same."""
    found: list[Fraction] = []
    while len(found) < num:
        value = draw.number()
        if value not in found:
            found.append(value)
    return found


def _listed(values: Sequence[Fraction]) -> str:
    return ", ".join(map(_written, values))


def _sort(draw: _Draw) -> Problem:
    values = _numbers(draw, draw.between(3, 8))
    falling = draw.below(2) == 1
    word = draw.of(("descending", "decreasing") if falling else ("ascending", "increasing"))
    form = draw.of(("Sort {} in {} order.", "Put {} in {} order."))
    return form.format(_listed(values), word), _listed(sorted(values, reverse=falling))


def _kth_biggest(draw: _Draw) -> Problem:
    values = _numbers(draw, draw.between(3, 7))
    biggest = draw.below(2) == 1
    k = draw.between(1, min(len(values), 6))
    word = f"{_ORDINALS[k]} {'biggest' if biggest else 'smallest'}".strip()
    answer = sorted(values, reverse=biggest)[k - 1]
    if draw.below(2):
        letters = "abcdefg"[: len(values)]
        options = "  ".join(f"({c}) {_written(v)}" for c, v in zip(letters, values, strict=True))
        return f"Which is the {word} value?  {options}", letters[values.index(answer)]
    return f"What is the {word} value in {_listed(values)}?", _written(answer)


def _closest(draw: _Draw) -> Problem:
    while True:
        target, *values = _numbers(draw, draw.between(4, 7))
        distances = sorted(abs(value - target) for value in values)
        if distances[0] < distances[1]:
            break
    answer = min(values, key=lambda value: abs(value - target))
    form = draw.of(("Which of {1} is closest to {0}?", "What is the nearest to {0} in {1}?"))
    return form.format(_written(target), _listed(values)), _written(answer)


# Algebra and calculus -----------------------------------------------------------------------------


def _linear_1d(draw: _Draw) -> Problem:
    x = draw.of(_LETTERS)
    solution = draw.integer(2)
    a, b = draw.nonzero(30), draw.between(-90, 90)
    c = draw.nonzero(30)
    c = c if c != a else -a
    d = (a - c) * solution + b
    left, right = _polynomial((b, a), x), _polynomial((d, c), x)
    form = draw.of(("Solve {} = {} for {}.", "Let {} = {}. What is {}?"))
    return form.format(left, right, x), str(solution)


def _linear_2d(draw: _Draw) -> Problem:
    x, y = draw.some(_LETTERS, 2)
    u, v = draw.between(-20, 20), draw.between(-20, 20)
    while True:
        a, b, c, d = (draw.nonzero(15) for _ in range(4))
        if a * d != b * c:
            break
    equations = []
    for first, second in ((a, b), (c, d)):
        left = _polynomial((0, first), x)
        size = "" if abs(second) == 1 else f"{abs(second)}*"
        left += f" {'-' if second < 0 else '+'} {size}{y}"
        equations.append(f"{left} = {first * u + second * v}")
    name, solution = draw.of(((x, u), (y, v)))
    form = draw.of(("Solve {}, {} for {}.", "Let {} and {}. What is {}?"))
    return form.format(*equations, name), str(solution)


def _value(coefficients: Sequence[int], x: int) -> int:
    result = 0
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def _sequence(draw: _Draw) -> Problem:
    degree = draw.of((1, 1, 2, 2, 3))
    coefficients = [draw.integer(4), *(draw.integer(2) for _ in range(degree - 1))]
    coefficients.append(draw.nonzero(99 if degree == 1 else 9))
    # One term more than the degree takes, so that the rule can be checked.
    terms = [_value(coefficients, n) for n in range(1, degree + 4 + draw.below(3))]
    form = draw.of(("What is the next term in {}?", "What comes after {}?", "Continue: {}."))
    return form.format(", ".join(map(str, terms[:-1]))), str(terms[-1])


def _coefficients(draw: _Draw, max_degree: int, bound: int) -> list[int]:
    """Of a polynomial of degree one at least, some of them zero."""
    degree = draw.between(1, max_degree)
    inner = [draw.between(-bound, bound) * draw.of((0, 1, 1)) for _ in range(degree)]
    return [*inner, draw.nonzero(bound)]


def _differentiate(draw: _Draw) -> Problem:
    x = draw.of(_LETTERS)
    coefficients = _coefficients(draw, 5, 400)
    order = draw.between(1, 3)
    result = coefficients
    for _ in range(order):
        result = [power * result[power] for power in range(1, len(result))]
    word = ("derivative", "second derivative", "third derivative")[order - 1]
    form = draw.of(("Find the {} of {} with respect to {}.", "What is the {} of {} wrt {}?"))
    return form.format(word, _polynomial(coefficients, x), x), _polynomial(result, x)


def _expand(draw: _Draw) -> Problem:
    x = draw.of(_LETTERS)
    factors = [_coefficients(draw, 2, 12) for _ in range(draw.between(2, 3))]
    product = [1]
    for factor in factors:
        longer = [0] * (len(product) + len(factor) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(factor):
                longer[i + j] += a * b
        product = longer
    text = "*".join(f"({_polynomial(factor, x)})" for factor in factors)
    form = draw.of(("Expand {}.", "Multiply out {}."))
    return form.format(text), _polynomial(product, x)


def _evaluate(draw: _Draw) -> Problem:
    f, x = draw.some(_LETTERS, 2)
    coefficients = _coefficients(draw, 3, 40)
    at = draw.between(-20, 20)
    form = draw.of(("What is {}({})?", "Give {}({}).", "Work out {}({})."))
    question = f"Let {f}({x}) = {_polynomial(coefficients, x)}. {form.format(f, at)}"
    return question, str(_value(coefficients, at))


# Probability and measurement ----------------------------------------------------------------------


def _letters_picked(draw: _Draw) -> Problem:
    letters = draw.some(_LETTERS, draw.between(2, 5))
    bag = [letter for letter in letters for _ in range(draw.between(1, 4))]
    bag = draw.some(bag, len(bag))
    picked = draw.some(bag, draw.between(2, min(4, len(bag))))
    if draw.below(4) == 0:  # a letter that may not occur at all
        picked[-1] = draw.of(letters)
    have, want = Counter(bag), Counter(picked)
    ways = math.prod(math.comb(have[letter], num) for letter, num in want.items())
    chance = Fraction(ways, math.comb(len(bag), len(picked)))
    shown = "".join(bag)
    if draw.below(2):
        shown = "{" + ", ".join(f"{letter}: {have[letter]}" for letter in letters) + "}"
    wanted = [f"{num} {letter}" for letter, num in want.items()]
    listing = " and ".join(filter(None, (", ".join(wanted[:-1]), wanted[-1])))
    what = f"{_COUNTS[len(picked)]} letters are picked without replacement"
    if draw.below(2):
        question = f"From {shown}, {what}. What is the probability of picking {listing}?"
    else:
        question = f"What is the probability of picking {listing} when {what} from {shown}?"
    return question, str(chance)


_UNITS: tuple[dict[str, Fraction], ...] = (
    {
        "millimetres": Fraction(1, 1000),
        "centimetres": Fraction(1, 100),
        "metres": Fraction(1),
        "kilometres": Fraction(1000),
    },
    {
        "milligrams": Fraction(1, 1000),
        "grams": Fraction(1),
        "kilograms": Fraction(1000),
        "tonnes": Fraction(10**6),
    },
    {"millilitres": Fraction(1, 1000), "centilitres": Fraction(1, 100), "litres": Fraction(1)},
    {
        "milliseconds": Fraction(1, 1000),
        "seconds": Fraction(1),
        "minutes": Fraction(60),
        "hours": Fraction(3600),
        "days": Fraction(86400),
        "weeks": Fraction(7 * 86400),
    },
)


def _conversion(draw: _Draw) -> Problem:
    units = draw.of(_UNITS)
    source, target = draw.some(tuple(units), 2)
    fraction = Fraction(draw.between(1, 40), draw.between(2, 8))
    value = fraction if draw.below(3) == 0 else abs(draw.decimal(5, 3))
    form = draw.of(("How many {t} are there in {v} {s}?", "Convert {v} {s} to {t}."))
    answer = value * units[source] / units[target]
    return form.format(v=_written(value), s=source, t=target), _written(answer)


def _time(draw: _Draw) -> Problem:
    start, minutes = draw.below(24 * 60), draw.between(1, 719)
    kind = draw.below(3)
    if kind == 0:
        form = "How many minutes are there from {} to {}?"
        return form.format(_clock(start), _clock(start + minutes)), str(minutes)
    word, end = (("after", start + minutes), ("before", start - minutes))[kind - 1]
    form = draw.of(("What is {} minutes {} {}?", "What time is it {} minutes {} {}?"))
    return form.format(minutes, word, _clock(start)), _clock(end)


def _clock(minutes: int) -> str:
    hour, minute = divmod(minutes % (24 * 60), 60)
    return f"{(hour - 1) % 12 + 1}:{minute:02d} {'AM' if hour < 12 else 'PM'}"


_MAKERS: dict[str, Callable[[_Draw], Problem]] = {
    "algebra__linear_1d": _linear_1d,
    "algebra__linear_2d": _linear_2d,
    "algebra__sequence_next_term": _sequence,
    "arithmetic__add_or_sub": _add_or_subtract,
    "arithmetic__div": _divide,
    "arithmetic__mixed": _mixed,
    "arithmetic__mul": _multiply,
    "calculus__differentiate": _differentiate,
    "comparison__closest": _closest,
    "comparison__kth_biggest": _kth_biggest,
    "comparison__sort": _sort,
    "measurement__conversion": _conversion,
    "measurement__time": _time,
    "numbers__base_conversion": _base_conversion,
    "numbers__gcd": _common_divisor,
    "numbers__lcm": _common_multiple,
    "numbers__list_prime_factors": _prime_factors,
    "numbers__place_value": _place_value,
    "numbers__round_number": _rounding,
    "polynomials__evaluate": _evaluate,
    "polynomials__expand": _expand,
    "probability__letters": _letters_picked,
}

MODULES = tuple(_MAKERS)
