"""Which of a refusal's numbers is the limit, which the actual, which the excess (pure).

Words and magnitude decide together: what overflowed is more than what is allowed, whatever the order
in which a message names them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

from unabridged.providers.fault_lexicon import mark
from unabridged.providers.fault_numbers import Number, find_numbers, prepare
from unabridged.providers.fault_places import mask_indices
from unabridged.providers.fault_words import spell_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unabridged.providers.fault_numbers import NumberUnit

__all__ = ["Measured", "by_shape", "choose", "numbers_in", "with_fields"]

_Option = tuple[float, Number | None, Number | None]

_LIMIT_FIELDS = (
    "n_ctx",
    "max_length",
    "maxlength",
    "limit_value",
    "maximum",
    "context_length",
    "max_input_tokens",
    "max_items",
    "maxitems",
    "max_batch_size",
    "token_limit",
    "limit",
    "max_input_length",
    "allowed",
    "max_allowed",
    "max",
    "max_tokens",
    "max_batch_tokens",
)
_ACTUAL_FIELDS = (
    "n_prompt_tokens",
    "actual_length",
    "actual",
    "token_count",
    "input_tokens",
    "prompt_tokens",
    "num_tokens",
    "requested",
    "received",
    "tokens",
    "length",
    "count",
    "given",
    "provided",
    "total_tokens",
)
_UNIT_TAGS: dict[str, NumberUnit] = {"tok": "tokens", "char": "chars", "byte": "bytes"}
_SIZE_TAGS = frozenset(("tok", "char", "byte", "size", "count", "text", "item", "batch"))
_BARE_NAMES = frozenset(("n", "num", "cur", "size", "len"))
_ROLE_TAGS = frozenset(("max", "got", "context"))
_SHAPES = re.compile(
    r"inclusive range \[-?\d+, ?(?P<last>\d+)\]"
    r"|index-select invalid index \d+ with dim size (?P<only>\d+)|is not in \[0, ?(?P<end>\d+)"
    r"|tensor (?:a )?\((?P<a>\d+)\).{0,60}?(?:tensor b|existing size) \((?P<b>\d+)\)"
    r"|\(\d+, ?(?P<g>\d+), ?(?P<same1>\d+)\) and \(\d+, ?(?P<h>\d+), ?(?P=same1)\) cannot"
    r"|lhs: \[\d+, ?(?P<i>\d+), ?(?P<same2>\d+)\], rhs: \[\d+, ?(?P<j>\d+), ?(?P=same2)\]"
    r"|other than 1\. (?P<c>\d+) by (?P<d>\d+)|expected \[-1, ?(?P<e>\d+)\], got \[\d+, ?(?P<f>\d+)\]"
    r"|got: (?P<k>\d+) expected: (?P<l>\d+)"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the numbers of a refusal say, each ``None`` where they do not."""

    limit: int | None = None
    actual: int | None = None
    excess: int | None = None
    unit: NumberUnit = ""


def numbers_in(text: str, *, status: int | None = None) -> list[Number]:
    """The quantities of a normal text, without those that name places in the request."""
    return find_numbers(prepare(mask_indices(text)), status=status)


def choose(numbers: Sequence[Number], *, ordered: bool = True, least: float = 0.9) -> Measured:
    """Choose limit, actual and excess among numbers.

    ``ordered`` asks that the actual be no less than the limit: true of every overflow, not of rates.
    ``least`` is the score that a role needs.

    >>> choose(numbers_in("got 600 tokens, at most 512 are allowed"))
    Measured(limit=512, actual=600, excess=None, unit='tokens')
    >>> choose(numbers_in("too long by 88 tokens"))
    Measured(limit=None, actual=None, excess=88, unit='tokens')
    """
    excess = max((n for n in numbers if n.as_excess), key=lambda n: n.as_excess, default=None)
    if excess is not None and any(n.as_limit >= 2.5 and n.value < excess.value for n in numbers):
        excess.as_actual, excess = max(excess.as_actual, 2.5), None  # "700 tokens too long (limit: 512)"
    rest = _merge([n for n in numbers if n is not excess])
    options: list[_Option] = [(least, None, None)]
    for number in rest:
        options += [(number.as_limit, number, None), (number.as_actual, None, number)]
    # Two numbers and no third: what they are to each other says more than the words.
    order = 0.0 if not ordered else 3.1 if len(rest) == 2 else 0.6
    for limit, actual in permutations(rest, 2):
        if actual.value >= limit.value or not ordered:
            options.append((limit.as_limit + actual.as_actual + order + _likeness(limit, actual), limit, actual))
    if len(rest) == 1:
        options += [(8.0, low, high) for low, high in permutations(numbers, 2) if _meet(low, high)]
    _, limit_number, actual_number = max(options, key=lambda option: (option[0], option[2].value if option[2] else 0))
    return Measured(
        _value(limit_number),
        _value(actual_number),
        _value(excess),
        _common_unit(limit_number, actual_number, excess),
    )


def _value(number: Number | None) -> int | None:
    return None if number is None else number.value


def _common_unit(*numbers: Number | None) -> NumberUnit:
    return next((n.unit for n in numbers if n and n.unit not in ("", "other")), "")


def _meet(limit: Number, actual: Number) -> bool:
    """The same value twice, once as a limit and once as the actual: less than 512 allowed, 512 given."""
    told = limit.as_limit >= 2.5 > limit.as_actual and actual.as_actual >= 2.5 > actual.as_limit
    return told and limit.value == actual.value


def _likeness(limit: Number, actual: Number) -> float:
    """Tokens are not compared with texts."""
    return 0.5 if limit.unit == actual.unit or not (limit.unit and actual.unit) else -2.0


def _merge(numbers: Sequence[Number]) -> list[Number]:
    """The same value said twice is one number, with the better of its scores."""
    merged: dict[int, Number] = {}
    for number in numbers:
        known = merged.get(number.value)
        if known is None:
            merged[number.value] = replace(number)
        else:
            known.as_limit = max(known.as_limit, number.as_limit)
            known.as_actual = max(known.as_actual, number.as_actual)
            known.unit = known.unit or number.unit
    return list(merged.values())


def by_shape(text: str) -> Measured | None:
    """Frameworks that have no word for it: two sizes that should be equal, the smaller one the model's.

    >>> by_shape("the size of tensor a (685) must match the size of tensor b (512) at dimension 1").limit
    512
    """
    found = _SHAPES.search(text)
    named = found.groupdict() if found else {}
    if named.get("last"):
        return Measured(int(named["last"][:12]) + 1, None, None, "tokens")
    sizes = sorted(int(size[:12]) for name, size in named.items() if size and not name.startswith("same"))
    if not sizes:
        return None
    return Measured(sizes[0], sizes[1] if len(sizes) == 2 else None, None, "tokens")


def with_fields(measured: Measured, fields: Mapping[str, float]) -> Measured:
    """Named numbers of the reply (``n_ctx``, ``actual_length`` …) fill what its words leave open.

    >>> with_fields(Measured(), {"n_ctx": 512.0, "n_prompt_tokens": 600.0}).actual
    600
    """
    limit, actual, unit = measured.limit, measured.actual, measured.unit
    if limit is None:
        limit = next((int(fields[name]) for name in _LIMIT_FIELDS if fields.get(name, 0) >= 1), None)
    if actual is None and limit is not None:
        actual = next((int(fields[name]) for name in _ACTUAL_FIELDS if fields.get(name, 0) > limit), None)
    if limit is None or actual is None:
        limit, actual, unit = _by_names(limit, actual, unit, fields)
    return Measured(limit, actual, measured.excess, unit)


def _by_names(
    limit: int | None, actual: int | None, unit: NumberUnit, fields: Mapping[str, float]
) -> tuple[int | None, int | None, NumberUnit]:
    """Fields that no list names: ``max_tok``, ``tokens_found``, ``longitud_maxima``."""
    known = actual
    for name, value in fields.items():
        tags = {found.tag for found in mark(spell_out(name))} | ({"count"} if name in _BARE_NAMES else set())
        if value < 1 or "output" in tags or not tags & (_SIZE_TAGS | _ROLE_TAGS):
            continue
        counts: NumberUnit = "inputs" if tags & {"text", "item", "batch"} and not tags & {"size"} else ""
        named: NumberUnit = next((_UNIT_TAGS[tag] for tag in tags if tag in _UNIT_TAGS), counts)
        if tags & {"max", "may", "context"}:
            limit, unit = (int(value) if limit is None else limit), unit or named
        elif actual is None and (limit is None or value > limit):
            actual, unit = int(value), unit or named
    return limit, (known if limit is None or (actual or 0) <= limit else actual), unit
