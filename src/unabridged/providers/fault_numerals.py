"""Numbers written as words, in digits: "eight thousand", "achttausend", 八千, "1.31e6" (pure).

The words are data (``numerals`` in ``data/fault_lexicon.txt``). Many are something else in another
language (Polish "ten", Turkish "on"), so a text's language is told first, by its small words.
"""

from __future__ import annotations

import re
from functools import cache

from unabridged.providers.fault_words import WORD, lexicon_lines, normal

__all__ = ["in_digits", "languages"]

_CHINESE = {mark: value for value, mark in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000, "億": 10**8, "亿": 10**8}
_CHINESE_RUN = re.compile(
    r"(?<![\d第每])[零〇一二两兩三四五六七八九十百千万萬億亿]{1,12}"
    r"(?=\s?[个個]?\s?(?:token|令牌|词元|詞元|标记|字|条|條|篇|段|项|項|份|句|文|トークン|件|バイト|個|本|汉|漢))"
)
_POWER = re.compile(r"(?<![\w.])(\d{1,6}(?:\.\d{1,6})?)e\+?(\d{1,2})(?![\w.])")
_SCALED = re.compile(r"(?<![\w.,])(\d{1,4}(?:[.,]\d{1,3})?) ?((?:[^\W\d_]|[\u0900-\u0963]){2,12})")
_MOST = 10**12
_OWN_SCRIPT = ("ru", "uk", "hi")

_Numeral = tuple[str, int]  # how it counts ("=", "x", "+") and for how much


@cache
def _numerals() -> dict[str, dict[str, _Numeral]]:
    """By language, each number word in normal form."""
    table: dict[str, dict[str, _Numeral]] = {}
    for language, tag, entries in lexicon_lines():
        if tag == "numerals":
            table.setdefault(language, {}).update(
                (normal(word.replace("_", "'")), _numeral(value))
                for word, _, value in (entry.partition("=") for entry in entries)
            )
    return table


def _numeral(value: str) -> _Numeral:
    if value == "+":
        return "+", 0
    return ("x", int(value[1:])) if value.startswith("x") else ("=", int(value))


@cache
def _small_words() -> dict[str, tuple[str, ...]]:
    """The languages of each small word."""
    table: dict[str, tuple[str, ...]] = {}
    for language, tag, entries in lexicon_lines():
        if tag == "small":
            for word in map(normal, entries):
                table[word] = (*table.get(word, ()), language)
    return table


@cache
def _any_numeral() -> re.Pattern[str]:
    """Whether a text may hold a number word at all: most hold none."""
    words = {word for numerals in _numerals().values() for word, (how, _) in numerals.items() if how != "+"}
    return re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)))


def languages(text: str) -> list[str]:
    """Those that most small words are of: more than one, as Russian and Ukrainian, may be as likely."""
    votes: dict[str, int] = {}
    for found in WORD.finditer(text):
        for language in _small_words().get(found[0], ()):
            votes[language] = votes.get(language, 0) + 1
    most = max(votes.values(), default=0)
    return [language for language, count in votes.items() if count == most]


def in_digits(text: str) -> str:
    """A normal text with its number words in digits.

    >>> in_digits("it can take eight thousand tokens, yours has nine thousand five hundred")
    'it can take 8000 tokens, yours has 9500'
    >>> in_digits("模型最多处理八千个词元"), in_digits("must be one of two values"), in_digits("1.31e6 tokens")
    ('模型最多处理8000个词元', 'must be one of two values', '1310000 tokens')
    """
    text = _POWER.sub(_powered, text)
    text = _CHINESE_RUN.sub(lambda found: str(_chinese(found[0])), text)
    if not _any_numeral().search(text):
        return text
    numerals = _numerals_of(languages(text))
    return _worded(_SCALED.sub(lambda found: _scaled(found, numerals), text), numerals)


def _numerals_of(languages: list[str]) -> dict[str, _Numeral]:
    """The number words of these languages, and of those that no other script shares."""
    own = [language for language in _numerals() if language in (*languages, *_OWN_SCRIPT)] if languages else _numerals()
    return {word: how for language in own for word, how in _numerals()[language].items()}


def _powered(found: re.Match[str]) -> str:
    value = float(found[1]) * 10.0 ** int(found[2])
    return str(int(value)) if value < _MOST else found[0]


def _scaled(found: re.Match[str], numerals: dict[str, _Numeral]) -> str:
    """Digits and a word: "300 thousand", "1,5 million"."""
    how, size = numerals.get(found[2], ("=", 0))
    if how != "x" or size < 1000:
        return found[0]
    return str(int(float(found[1].replace(",", ".")) * size))


def _chinese(run: str) -> int:
    if len(run) == 1 and run in _CHINESE_SCALES:
        return _CHINESE_SCALES[run]
    total = part = digit = 0
    for mark in run:
        size = _CHINESE_SCALES.get(mark, 0)
        if not size:
            digit = _CHINESE[mark]
        elif size < 10_000:
            part, digit = part + (digit or 1) * size, 0
        else:
            total, part, digit = total + (part + digit or 1) * size, 0, 0
    return total + part + digit


def _worded(text: str, numerals: dict[str, _Numeral]) -> str:
    """Each run of number words as one number; a lone small one stays a word ("one of two")."""
    pieces: list[str] = []
    run: list[_Numeral] = []
    start = end = at = 0
    for found in [*WORD.finditer(text), None]:
        parts = _parts(found[0], numerals) if found else []
        joins = bool(run) and found is not None and re.fullmatch(r"[ \-]{1,2}", text[end : found.start()]) is not None
        if parts and parts[0][0] == "+" and not joins:
            parts = []
        if run and not (parts and joins):
            pieces += [text[at:start], _value(run, text[start:end])]
            at, run = end, []
        if found is not None and parts:
            start = start if run else found.start()
            if parts[0][0] != "+":
                end = found.end()
                run += parts
            elif run:
                end_of_joint = found.end()
                end = end_of_joint if _goes_on(text, end_of_joint, numerals) else end
    return "".join([*pieces, text[at:]])


def _goes_on(text: str, at: int, numerals: dict[str, _Numeral]) -> bool:
    following = re.compile(r"[ \-]([^\W\d_]+)").match(text, at)
    return bool(following and numerals.get(following[1], ("+", 0))[0] != "+")


def _parts(word: str, numerals: dict[str, _Numeral]) -> list[_Numeral]:
    """A number word, or one put together out of several ("fünfhundert", "ottomila")."""
    if word in numerals:
        return [numerals[word]]
    parts: list[_Numeral] = []
    at = 0
    while at < len(word):
        length = next((size for size in range(min(14, len(word) - at), 1, -1) if word[at : at + size] in numerals), 0)
        if not length:
            return []
        part = numerals[word[at : at + length]]
        parts += [part] if part[0] != "+" else []
        at += length
    return parts if len(parts) > 1 else []


def _value(run: list[_Numeral], written: str) -> str:
    total = part = 0
    for how, size in run:
        if how == "=":
            part += size
        elif size < 1000:
            part = max(part, 1) * size if part < 100 else part + size
        else:
            total, part = total + max(part, 1) * size, 0
    value = total + part
    return str(value) if 3 <= value < _MOST else written
