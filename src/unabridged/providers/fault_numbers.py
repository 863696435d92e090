"""The numbers of a refusal, and what the words around each one say it is (pure).

Digits of model names, ids, dates, versions, addresses and status codes are no quantities. What is a
quantity gets a unit and a score for each role it may have; :func:`~.fault_measure.measure` chooses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

from unabridged.providers.fault_lexicon import Mark, mark
from unabridged.providers.fault_words import concept, terms

__all__ = ["Number", "NumberUnit", "find_numbers", "prepare"]

NumberUnit = Literal["tokens", "chars", "bytes", "inputs", "tokens/min", "requests/min", "other", ""]

_MOST = 24
_LARGEST = 10**11  # beyond that it is an account, an identifier or a time
_AFTER: tuple[NumberUnit, ...] = ("tokens/min", "requests/min", "other", "tokens", "bytes", "chars", "inputs")
_BEFORE: tuple[NumberUnit, ...] = ("tokens/min", "requests/min", "tokens", "chars", "bytes", "inputs")
# What may stand between a number and its unit: "512) tokens", "512 input tokens", "512 个 token".
_BETWEEN = (
    r"[\s)\]'*-]{0,3}(?:(?:inputs?|prompt|total|maximum|max|enqueued|allowed|text|api|utf-8|unicode|of)'?\s+"
    r"|[个個の]\s?){0,2}"
)
_RANGE_DASH = re.compile(r"(?<![\w.\-])(\d{1,2}) ?[-~] ?(\d{2,})(?![\w\-])")
_SLASH = re.compile(r"(?<![\w/.\-])(\d{2,9}) ?/ ?(\d{2,9})(?![\w/.\-])")
_EACH = re.compile(r"(?<!\d)1(?=(?:リクエスト|回(?!\d)|度に|회|번에|次(?!数)))")  # "in one request", no quantity
_ONE = re.compile(
    r"\b(?:an? single|only one|just one|one) "
    r"(?=(?:input|text|document|string|item|instance)s? (?:per|in|at)\b)"
    r"|(?<=only support )one (?=input|text)|(?<=only supports )one (?=input|text)"
)
# "8 192 токенов", but not the status in "400 250 items".
_SPACED = re.compile(
    r"(?<![\w.,])(?!(?:4\d\d|5\d\d) (?!000))(?!\d{1,3} [45]\d\d[.;!?)])\d{1,3}(?: \d{3})+"
    r"(?=\s?(?:[.,;:!?)]?$|[.;!?)] |jetons?|caracteres|octets|tokens?\b"
    r"|token[ow]|токен|символ|байт|знак|zeichen|znak|bytes))"
)
_NUMBER = re.compile(
    r"(?<![a-z0-9_@*#])(?<!\d[.:/\-])(?<![a-z)\]][.\-/])"
    r"(?P<digits>\d{1,3}(?:[,.]\d{3})+(?!\d)|\d{1,15})(?P<part>\.\d{1,9})?"
    r"(?:\s?(?P<scale>(?:[kmg]i?b|[kmg]i?o|[кмг]б|[km])(?![a-z0-9а-я])|[万萬千만천]))?"
    r"(?!\d|[.:/\-]\d|(?!tok|char|byte|item|input|text|s\b|ms\b|rpm|tpm)[a-z_])"
)
_SCALES = {
    "k": 1000, "m": 1_000_000, "万": 10_000, "萬": 10_000, "千": 1000, "천": 1000, "만": 10_000,
    "kb": 1024, "kib": 1024, "mb": 1024**2, "mib": 1024**2, "gb": 1024**3, "gib": 1024**3,
    "кб": 1024, "мб": 1024**2, "гб": 1024**3,
    "ko": 1024, "mo": 1024**2, "go": 1024**3, "kio": 1024, "mio": 1024**2, "gio": 1024**3,
    "кіб": 1024, "міб": 1024**2,
}  # fmt: skip
_NAMES_A_STATUS = re.compile(
    r"\W{0,3}(?:client error|server error|error\b|bad request"
    r"|too many|payload|request|unauthor|forbidden|not found"
    r"|invalid|internal)"
)
_STATUSES = frozenset((400, 401, 402, 403, 404, 408, 409, 413, 422, 424, 429, 499, 500, 501, 502, 503, 504, 529))
_STATUS_BEFORE = re.compile(r"(?:error|api|http|status|code|occurred)\W*\(?\W*$")
# These follow the number that they make a limit, whatever stands before it.
_BINDING_LIMITS = frozenset(("以内", "以下", "未満", "까지", "이하", "이내", "を超", "を上回"))
_EXCESS_AFTER = re.compile(
    r"(?:tokens?|char\w*|bytes?|inputs?|items?|texts?|zeichen|jetons|токен\w*|символ\w*|トークン|文字)?\s*"
    r"(?:over\b|too (?:many|long|much)|above (?:the )?(?:max|limit)|more than (?:the )?(?:max|limit|allow)"
    r"|zu viel|zu lang|de trop|a mais|лишн|超過|オーバー)"
)
_CUT = re.compile(r"[,;:(){}\[\]。、；，]|\. ")
_RANGE = re.compile(
    r"\[\s?\x00\s?[,;-]\s?\x00\s?(?P<close>[\])])"
    r"|(?:\b(?:between|ranges?|from|zwischen|entre|от|tra)\b|范围|範圍|長さ|범위)[^\x00]{0,40}\x00[^\x00]{0,14}?"
    r"(?:\b(?:to|and|bis|und|et|a|y|e)\b|至|到|から|до|と|,|-)[^\x00]{0,4}\x00(?P<tail>.{0,14})"
)


@dataclass(slots=True)
class Number:
    """One quantity: its value, where it stands, its unit if the words say, and how well it fits each role."""

    value: int
    start: int
    end: int
    unit: NumberUnit = ""
    as_limit: float = 0.0
    as_actual: float = 0.0
    as_excess: float = 0.0


def prepare(text: str) -> str:
    """Write a normal text so that numbers are read one by one.

    >>> prepare("range 1-8192, 600/512 tokens, 8 192 токенов, a single text per request")
    'range 1 to 8192, 600 of limit 512 tokens, 8,192 токенов, 1 text per request'
    """
    text = _SPACED.sub(lambda found: found[0].replace(" ", ","), text)
    text = _EACH.sub("", text)
    text = _ONE.sub("1 ", _RANGE_DASH.sub(r"\1 to \2", text))
    return _SLASH.sub(r"\1 of limit \2", text)


def find_numbers(text: str, *, status: int | None = None) -> list[Number]:
    """Every quantity in a prepared text, with its unit and its scores, at most 24.

    >>> [(n.value, n.unit) for n in find_numbers("max 8k tokens for bge-m3, got 10,382 (error 400)")]
    [(8000, 'tokens'), (10382, 'tokens')]
    """
    numbers: list[Number] = []
    for found in _NUMBER.finditer(text):
        number = _read(found, text, status)
        if number is not None:
            numbers.append(number)
        if len(numbers) == _MOST:
            break
    _bind(numbers, text, mark(text) if numbers else [])
    numbers = [number for number in numbers if number.unit != "other"]  # of words, of seconds
    _bind_ranges(numbers, text)
    return numbers


def _read(found: re.Match[str], text: str, status: int | None) -> Number | None:
    part, scale = found["part"] or "", found["scale"] or ""
    if part.strip(".0") and not scale:
        return None
    value = float(re.sub(r"[,.]", "", found["digits"]) + (part if scale else "")) * _SCALES.get(scale, 1)
    left = text[max(0, found.start() - 32) : found.start()]
    right = text[found.end() : found.end() + 48]
    unit: NumberUnit = "bytes" if scale.endswith(("b", "б", "o")) else _unit_after(right)
    if unit == "other" or not 1 <= value < _LARGEST or (unit == "" and concept("no quantity after").search(left)):
        return None
    if _is_status(value, status, left, right, unit):
        return None
    return Number(int(value), found.start(), found.end(), unit)


def _is_status(value: float, status: int | None, left: str, right: str, unit: str) -> bool:
    """A status code: named by its phrase, in brackets after "error", or bare at the start."""
    if not 400 <= value < 600 or value == 512:  # the most usual limit, and no status
        return False
    if (_STATUS_BEFORE.search(left) and value in _STATUSES) or (value == status and not unit):
        return True
    if _NAMES_A_STATUS.match(right) and not left.rstrip().endswith(("of", "is", "than")):
        return True
    if unit:
        return False
    alone = not left.strip(" '\"(")
    if value == status and re.match(r"\s?[:\-]", right):
        return True
    return (alone or value == status) and (not left.strip(" '\"") or bool(_STATUS_BEFORE.search(left)))


@cache
def _after_unit() -> re.Pattern[str]:
    units = "|".join(f"(?P<u{at}>{terms(f'unit after: {unit}')})" for at, unit in enumerate(_AFTER))
    return re.compile(f"{_BETWEEN}(?:{units})")


@cache
def _before_unit() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<u{at}>{terms(f'unit before: {unit}')})" for at, unit in enumerate(_BEFORE)))


def _unit_after(right: str) -> NumberUnit:
    found = _after_unit().match(right)
    return _AFTER[int(str(found.lastgroup)[1:])] if found else ""


def _unit_before(left: str) -> NumberUnit:
    names = [str(found.lastgroup) for found in _before_unit().finditer(left)]
    return _BEFORE[int(names[-1][1:])] if names else ""


def _bind(numbers: list[Number], text: str, marks: list[Mark]) -> None:
    """Give each number its scores from the words between it and its neighbours."""
    taken = 0  # up to where the unit of the number before reaches
    for at, number in enumerate(numbers):
        before = max(numbers[at - 1].end if at else 0, number.start - 80)
        after = min(numbers[at + 1].start if at + 1 < len(numbers) else len(text), number.end + 48)
        left, right = _last_sentence(text[before : number.start]), _reach(text[number.end : after])
        from_left, to_right = number.start - len(left), number.end + _offset(text, number.end, right)
        ahead = [found for found in marks if number.end <= found.start < to_right]
        behind = [found for found in marks if from_left <= found.start < number.start]
        if (
            text[number.end : number.end + 2].strip() in ("个", "個", "개")
            and at
            and numbers[at - 1].unit in _SIZES.values()
        ):
            number.unit = numbers[at - 1].unit  # "512 个词元，目前为 700 个": of the same
        after_it, reach = _marked_after(number, ahead, text)
        number.unit = number.unit or after_it or _unit_before(text[max(before, taken) : number.start])
        number.unit = number.unit or _marked_before(number, [found for found in behind if found.start >= taken])
        taken = reach if number.unit == "inputs" else 0  # "8192 tokens, got 9000" goes on in tokens
        _score_left(number, left, behind)
        follower = numbers[at + 1].start if at + 1 < len(numbers) else len(text) + 9
        _score_right(number, right, [found for found in ahead if found.tag != "upto" or follower - found.end > 4])


def _offset(text: str, end: int, right: str) -> int:
    """How far a number's reach goes beyond its end."""
    return text.find(right, end) + len(right) - end if right else 0


_HAVE = frozenset(
    ("have", "has", "be", "contain", "hold", "haben", "sein", "avoir", "tener", "ter", "avere", "hebben", "zijn", "ha")
)
_SINGULAR = frozenset(
    ("text", "input", "document", "prompt", "passage", "sequence", "string", "item", "element", "query", "sentence")
)
_SIZES: dict[str, NumberUnit] = {"tok": "tokens", "char": "chars", "byte": "bytes", "word": "other", "sec": "other"}


def _marked_after(number: Number, ahead: list[Mark], text: str) -> tuple[NumberUnit, int]:
    """A size where its unit follows soon ("512 of its tokens"), a count where its noun stands beside it."""
    for found in ahead:
        if found.tag in _SIZES and found.start - number.end <= (2 if found.tag == "sec" else 24):
            return _SIZES[found.tag], found.end
    if number.unit == "inputs":
        return "", number.end + 12  # "50 strings": what follows it is its own
    for found in ahead:
        one = text[found.start : found.end] in _SINGULAR  # "n_ctx=512 prompt=530"
        if found.tag in ("text", "item") and found.start - number.end <= 3 and not one:
            return "inputs", found.end
    return "", 0


def _marked_before(number: Number, behind: list[Mark]) -> NumberUnit:
    sizes = [found for found in behind if found.tag in _SIZES and found.tag in ("tok", "char", "byte")]
    if sizes:
        return _SIZES[sizes[-1].tag]
    if behind and behind[-1].tag == "batch" and number.start - behind[-1].end <= 4:  # "batches of 32"
        return "inputs"
    for many, noun in pairwise(behind):
        if many.tag in ("count", "toomany") and noun.tag in ("text", "item"):
            return "inputs"
    return ""


def _last_sentence(left: str) -> str:
    cut = max(left.rfind(". "), left.rfind("。"), left.rfind("; "))
    rest = left[cut + 1 :] if cut >= 0 else left
    return rest if any(letter.isalpha() for letter in rest) else left


def _reach(right: str) -> str:
    """What still belongs to a number on its right: to the next comma, bracket or sentence."""
    right = right.lstrip(" )]'")
    cut = _CUT.search(right)
    return right[: cut.start()] if cut else right


def _score_left(number: Number, left: str, behind: list[Mark]) -> None:
    """The nearest word before a number that gives it a role; size words are a weak sign of the actual."""
    shift = number.start - len(left)
    if re.search(r"\w ?: ?$", left):  # "limit exceeded: 700": of either kind
        behind = [found for found in behind if found.tag != "exceed" or number.start - found.end > 3]
    limit = max(_last_end("limit before", left), _last_mark(behind, ("max", "may", "exceed", "fit")) - shift)
    actual = max(_last_end("actual before", left), _last_mark(behind, ("got",)) - shift)
    if limit >= 0 or actual >= 0:
        if limit >= actual or (limit >= 0 and left[limit:actual].strip() in _HAVE):  # "at most have 512 tokens"
            number.as_limit = 3.0
        else:
            number.as_actual = 3.0
    elif concept("perhaps actual before").search(left) or _last_mark(behind, ("be",)) >= 0:
        number.as_actual = 1.0
    if concept("excess before").search(left):
        number.as_excess = 4.0


def _score_right(number: Number, right: str, ahead: list[Mark]) -> None:
    limit, actual = concept("limit after").search(right), concept("actual after").search(right)
    if actual and (not limit or actual.start() <= limit.start()):
        number.as_actual = max(number.as_actual, 2.5)
    elif limit:
        number.as_limit = max(number.as_limit, 3.5 if limit[0] in _BINDING_LIMITS else 2.5)
    elif told := next((found.tag for found in ahead if found.tag in ("max", "may", "upto", "got")), ""):
        if told == "got":
            number.as_actual = max(number.as_actual, 2.5)
        else:
            number.as_limit = max(number.as_limit, 3.5 if told == "upto" else 2.5)
    if any(found.tag == "upto" for found in ahead):
        number.as_limit = max(number.as_limit, 3.5)
    if _EXCESS_AFTER.match(right):
        number.as_excess = 4.0


def _last_mark(marks: list[Mark], tags: tuple[str, ...]) -> int:
    return max((found.end for found in marks if found.tag in tags), default=-1)


def _last_end(name: str, text: str) -> int:
    return max((found.end() for found in concept(name).finditer(text)), default=-1)


def _bind_ranges(numbers: list[Number], text: str) -> None:
    """``[1, 8192]``, ``from 1 (inclusive) to 251 (exclusive)``: the upper end is the limit."""
    skeleton, places = _skeleton(numbers, text)
    for found in _RANGE.finditer(skeleton):
        ends = [at for at, place in enumerate(places) if found.start() <= place < found.end()]
        if len(ends) < 2 or numbers[ends[0]].value > numbers[ends[1]].value:
            continue
        low, high = numbers[ends[0]], numbers[ends[1]]
        low.as_limit = low.as_actual = -10.0
        high.as_limit, high.as_actual = 4.0, 0.0
        if "exclusive" in (found["tail"] or "") or found["close"] == ")":
            high.value -= 1
            high.unit = high.unit or "other"


def _skeleton(numbers: list[Number], text: str) -> tuple[str, list[int]]:
    """The text with each number as one NUL, and where those stand."""
    parts: list[str] = []
    places: list[int] = []
    at = length = 0
    for number in numbers:
        parts += [text[at : number.start], "\0"]
        length += number.start - at + 1
        places.append(length - 1)
        at = number.end
    return "".join([*parts, text[at:]]), places
