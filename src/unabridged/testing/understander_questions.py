"""What the small reader answers from numbered evidence: the sentences that speak of what is asked."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["answer_question"]

_PARTS = re.compile(r"<evidence>\n(.*)\n</evidence>.*<question>\n(.*)\n</question>", re.DOTALL)
_LINE = re.compile(r"^- (.+?)((?: \[\d+\])+)$", re.MULTILINE)
_BLOCK = re.compile(r"^\[(\d+)\][^\n]*\n(.*?)(?=\n\n\[\d+\]|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_EMPTY = frozenset(
    "a an and are at be by did do does for from had has have he her him his how in is it its many much of on or she "  # noqa: SIM905 - words are read as words
    "that the their them there they this to was we were what when where which who whom whose why will with you".split()
)


def answer_question(asked: str) -> dict[str, Any]:
    """Sentences of the evidence that share every content word with the question, or most of them.

    >>> evidence = "<evidence>\\n- Ann lives in Bonn [1]\\n</evidence>"
    >>> answer_question(f"{evidence}\\n<question>\\nWhere does Ann live?\\n</question>")
    {'known': True, 'sentences': [{'text': 'Ann lives in Bonn.', 'sources': [1]}]}
    """
    found = _PARTS.search(asked)
    wanted = _words(found[2]) if found else frozenset()
    said: dict[str, list[int]] = {}
    for text, sources in _evidence(found[1] if found else ""):
        if wanted and 2 * len(wanted & _words(text)) > len(wanted):
            said.setdefault(text.rstrip(".!? ") + ".", []).extend(sources)
    sentences = [{"text": text, "sources": list(dict.fromkeys(sources))} for text, sources in list(said.items())[:3]]
    return {"known": bool(sentences), "sentences": sentences}


def _evidence(shown: str) -> list[tuple[str, list[int]]]:
    """Each line of facts with its numbers; where there is none that fits, each sentence of a passage."""
    lines = [(text, [int(n) for n in re.findall(r"\d+", numbers)]) for text, numbers in _LINE.findall(shown)]
    facts = [(text, numbers) for text, numbers in lines if not text.endswith(")")]
    for number, passage in _BLOCK.findall(shown):
        facts += [(sentence.strip(), [int(number)]) for sentence in _SENTENCE.findall(passage) if sentence.strip()]
    return facts


def _words(text: str) -> frozenset[str]:
    """The words that say something, without the endings of plain English."""
    words = re.findall(r"\w+", text.casefold())
    return frozenset(re.sub(r"(?<=\w{3})(?:ed|es|s|ing|e)$", "", word) for word in words if word not in _EMPTY)
