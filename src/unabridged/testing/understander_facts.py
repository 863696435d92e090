"""What the small reader makes of facts side by side: the same, at odds, or neither."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["compare_facts", "same_fact"]

_LISTED = re.compile(r"^(\d+)\. (.*?)(?: \[[^\[\]]*\])?(?: \(compare with ([\d, ]+)\))?$", re.MULTILINE)
_MONEY = re.compile(r"([$€£])\s?(\d[\d,]*(?:\.\d+)?)\s?(K|M|B|thousand|million|billion)?\b", re.IGNORECASE)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9}
_PASSIVE = re.compile(r"^(?P<object>.+?) (?:is|was|were|are) (?P<verb>\w+) by (?P<subject>.+)$")
# Of each of these a subject has one at a time.
_ONE_AT_A_TIME = (
    re.compile(r"\b(?:lives?|lived|resides?|moved?|moves)\b(?: in| to)?"),
    re.compile(r"\b(?:works?|worked|is employed|joined)\b(?: at| for| by)?"),
    re.compile(r"\b(?:is )?married\b(?: to)?"),
    re.compile(r"\b(?:is|was) based in|\bheadquarters (?:is|are) in"),
)


def compare_facts(asked: str) -> dict[str, list[dict[str, Any]]]:
    """Decisions on new facts, each held against the known ones that it may be compared with.

    >>> compare_facts("Known facts:\\n1. Ann lives in Bonn\\n\\nNew facts:\\n1. Ann moved to Rome (compare with 1)")
    {'decisions': [{'fact': 1, 'verdict': 'contradicted', 'known': [1]}]}
    """
    before, _, after = asked.partition("New facts:")
    known = {int(number): fact for number, fact, _ in _LISTED.findall(before)}
    return {"decisions": [_decided(int(n), fact, offered, known) for n, fact, offered in _LISTED.findall(after)]}


def _decided(number: int, fact: str, offered: str, known: dict[int, str]) -> dict[str, Any]:
    places = [int(place) for place in re.findall(r"\d+", offered) if int(place) in known]
    same = [place for place in places if same_fact(known[place], fact)]
    odds = [place for place in places if _at_odds(known[place], fact)]
    if same:
        return {"fact": number, "verdict": "duplicate", "known": same[:1]}
    return {"fact": number, "verdict": "contradicted" if odds else "new", "known": odds}


def same_fact(one: str, other: str) -> bool:
    """Whether two sentences say the same: in either voice, amounts by their value.

    >>> same_fact("Acme was bought by Bolt for $1M", "Bolt bought Acme for $1,000,000.")
    True
    """
    return _plain(one) == _plain(other)


def _plain(fact: str) -> tuple[str, ...]:
    text = _MONEY.sub(_amount, fact.strip().rstrip(".")).casefold()
    tail = ""
    found = re.search(r"\s(?:for|in|on|since|at)\s[$€£\d].*$", text)
    if found:
        text, tail = text[: found.start()], found[0].strip()
    passive = _PASSIVE.match(text)
    if passive:
        text = f"{passive['subject']} {passive['verb']} {passive['object']}"
    return (*text.replace("the ", "").split(), tail)


def _amount(found: re.Match[str]) -> str:
    value = float(found[2].replace(",", "")) * _SCALE.get((found[3] or "").lower(), 1)
    return f"{found[1]}{value:.2f}"


def _at_odds(one: str, other: str) -> bool:
    for slot in _ONE_AT_A_TIME:
        first, second = slot.search(one), slot.search(other)
        if first and second and one[: first.start()].strip() == other[: second.start()].strip():
            return _first_words(one[first.end() :]) != _first_words(other[second.end() :])
    return False


def _first_words(rest: str) -> str:
    """The object: up to a date or a preposition."""
    return re.split(r"\s(?:in|since|on|for|until|from)\s", rest.strip(" ."))[0].casefold()
