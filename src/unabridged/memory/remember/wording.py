"""When two sentences say the same without a model being asked: amounts, and who does what to whom (pure).

``$1M`` and ``1,000,000 dollars`` are one amount; "Acme acquired Beta" and "Beta was acquired by Acme" one
fact. Everything here is a rule that holds always; where one could be wrong, the words stay as they are
and a model is asked (resolution.py).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

__all__ = ["Wording", "amounts", "wording"]

_CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur",
    "£": "gbp", "gbp": "gbp", "pound sterling": "gbp", "pounds sterling": "gbp",
    "¥": "jpy", "jpy": "jpy", "yen": "jpy", "chf": "chf", "₹": "inr", "inr": "inr", "rupees": "inr",
}  # fmt: skip
_SCALES = {
    "k": 3, "thousand": 3, "m": 6, "mn": 6, "mm": 6, "mio": 6, "million": 6, "millions": 6,
    "b": 9, "bn": 9, "billion": 9, "billions": 9, "t": 12, "tn": 12, "trillion": 12, "trillions": 12,
}  # fmt: skip
_WORDS: dict[str, str] = {
    "a": "1", "an": "1", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "half a": "0.5",
}  # fmt: skip
_SIGN = r"US\$|[$€£¥₹]|(?:USD|EUR|GBP|JPY|CHF|INR)(?=\s?\d)"
_LONG = r"thousand|millions?|billions?|trillions?"
# A letter right after a number scales it where money is spoken of, or where it is a capital: 5m may be metres.
_SHORT = r"mio|mm|mn|bn|tn|[kKmMbBtT]"
_NAMED = r"dollars?|euros?|pounds? sterling|yen|rupees|USD|EUR|GBP|JPY|CHF|INR"
_ONES = "|".join(word for word in _WORDS if " " not in word)
_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|(?!0\d)\d+)(?:\.\d+)?(?![\d]|[-/:.,]\d)"  # no part of a date, a time, a version
_AMOUNT = re.compile(
    rf"(?<![\w.,:/-])(?P<sign>{_SIGN})?\s?(?P<number>{_DIGITS}|(?P<word>half a|{_ONES})"
    rf"(?=\s(?:{_LONG})\b))"
    rf"(?:(?P<short>{_SHORT})(?![\w])|[\s-](?P<long>{_LONG})\b)?"
    rf"(?:\s?(?P<percent>%|per\s?cent\b)|\s(?P<named>{_NAMED})\b)?",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[\w·#%$€£¥₹:.]*\w[%]?|\S")
_NOW, _THEN = r"(?:is|are|being|gets)", r"(?:was|were|been|got)"
_HELP = rf"(?:(?:has|have|had|will)\s+)?(?:{_NOW}|{_THEN})(?:\s+(?:{_NOW}|{_THEN}))?"
_PASSIVE = re.compile(rf"(?:{_HELP}\s+)?(?P<verb>\w+)\s+by", re.IGNORECASE)  # a relation, with or without its helper
_HELPED = re.compile(rf"\b(?P<help>{_HELP})\s+(?P<verb>\w+)\s+by\b", re.IGNORECASE)  # in a sentence
_PAST = re.compile(rf"\b(?:{_THEN}|has|have|had)\b", re.IGNORECASE)
_ARTICLES = frozenset(("a", "an", "the"))
# Verbs whose past no ending shows: the base, then the past, then the participle where it is another word.
_IRREGULAR = {
    form: verb.partition(" ")[0]
    for verb in (
        "write wrote written", "build built", "make made", "lead led", "buy bought", "sell sold", "run ran",
        "give gave given", "take took taken", "know knew known", "hold held", "win won", "send sent", "pay paid",
        "choose chose chosen", "drive drove driven", "begin began begun", "teach taught", "beat beaten",
        "draw drew drawn", "fly flew flown", "find found", "oversee oversaw overseen", "leave left", "bring brought",
    )
    for form in verb.split()[1:]
}  # fmt: skip
_ENDS = "\N{MIDDLE DOT}"  # between a stem and what its ending says


@dataclass(frozen=True, slots=True)
class Wording:
    """What a statement comes down to: who acts, on whom, and the words, in no order.

    ``agent`` and ``patient`` are the ids of the entities as an active sentence would have them.
    """

    agent: str
    patient: str
    relation: str
    words: tuple[str, ...]


def amounts(text: str) -> str:
    """A text with its amounts in one spelling.

    >>> amounts("raised $1M") == amounts("raised US$1,000,000") == amounts("raised one million dollars")
    True
    >>> amounts("grew 5 percent, 5m deep"), amounts("v1.2.3")
    ('grew 5%, 5m deep', 'v1.2.3')
    """
    return _AMOUNT.sub(_amount, unicodedata.normalize("NFKC", text))


def _amount(found: re.Match[str]) -> str:
    short, sign, named = found["short"], found["sign"], found["named"]
    if short and not (sign or named or short.isupper() or short in {"k", "bn", "mn", "tn", "mio"}):
        return found[0]
    number = _WORDS.get((found["word"] or "").casefold(), found["number"].replace(",", ""))
    try:
        value = Decimal(number) * 10 ** _SCALES.get((short or found["long"] or "").casefold(), 0)
    except InvalidOperation:  # pragma: no cover - the pattern admits numbers alone
        return found[0]
    plain = f"{value.normalize():f}"
    if found["percent"]:
        return f"{plain}%"
    money = _CURRENCIES.get((sign or named or "").casefold().strip())
    return f"{money}:{plain}" if money else plain


@lru_cache(maxsize=8192)  # 8,192 statements: every one is held against its neighbours, 40 microseconds each
def wording(source_id: str, relation: str, target_id: str, fact: str) -> Wording:
    """What a statement comes down to; equal ones are one fact.

    >>> one = wording("acme", "acquired", "beta", "Acme acquired Beta for $1M")
    >>> one == wording("beta", "was acquired by", "acme", "Beta was acquired by Acme for $1,000,000.")
    True
    >>> one == wording("beta", "acquired", "acme", "Beta acquired Acme for $1M")
    False
    """
    said, fact = relation.replace("_", " ").strip(), amounts(fact)
    turned = _PASSIVE.fullmatch(said) or _turned(said, fact)
    agent, patient = (target_id, source_id) if turned else (source_id, target_id)
    verb = turned["verb"] if turned else said
    return Wording(agent, patient, " ".join(map(_stem, _tokens(verb))), tuple(sorted(_tokens(fact))))


def _turned(relation: str, fact: str) -> re.Match[str] | None:
    """The passive in a fact whose relation is spelled as the verb alone: "acquired", "Beta was acquired by Acme"."""
    found = _HELPED.search(fact)
    return found if found and [_stem(_told(found["verb"]))] == [*map(_stem, _tokens(relation))] else None


def _tokens(text: str) -> list[str]:
    """The words that count, each with what its ending says: no articles, no passive's helpers, no punctuation."""
    plain = _HELPED.sub(_active, text)
    words = (token.rstrip(".") for token in _TOKEN.findall(plain.casefold()))
    return [_told(word) for word in words if word not in _ARTICLES and any(map(str.isalnum, word))]


def _active(found: re.Match[str]) -> str:
    """A passive's verb as an active sentence of the same time has it."""
    when = "past" if _PAST.search(found["help"]) else "s"
    return f"{_stem(_told(found['verb'].casefold()))}{_ENDS}{when}"


def _told(word: str) -> str:
    """A word as its stem and what its ending says: works and worked are two, wrote and written one."""
    if _ENDS in word or not (word.isascii() and word.isalpha()):
        return word
    if word in _IRREGULAR:
        return f"{_bare(_IRREGULAR[word])}{_ENDS}past"
    if word.endswith("ed") and len(word) > 4:
        return f"{_bare(word[:-2])}{_ENDS}past"
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return f"{_bare(word[:-1])}{_ENDS}s"
    return _bare(word)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _stem(word: str) -> str:
    return word.partition(_ENDS)[0]
