"""A forgiving reader for JSON, Python's ``repr`` and JavaScript's object notation (pure).

Error texts quote mappings in all three, often cut off in the middle. This reads what is there, in
one pass over the text, and stops where it no longer understands.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["parse_loose"]

_DEEPEST = 12
_TOKEN = re.compile(
    r"\s*(?:(?P<string>[bru]?(?:\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'))"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[A-Za-z_$][\w$.]*)"
    r"|(?P<mark>[{}\[\](),:=])"
    r"|(?P<open>[\"']))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " ", "0": " "}
_WORDS = {"true": True, "false": False, "none": None, "null": None, "undefined": None}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}


def parse_loose(text: str, at: int) -> tuple[Any, int]:
    """Read the structure that starts at ``at``; return its value and where it ends.

    >>> parse_loose("x {'a': (1, None), 'b': 'cut o", 2)
    ({'a': [1, None], 'b': 'cut o'}, 30)
    """
    return _Parser(text, at).value(0)


class _Parser:
    """One token at a time; ``value`` is the only entry."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int) -> tuple[Any, int]:
        kind, token = self._next()
        if kind == "mark" and token in _CLOSERS and depth < _DEEPEST:
            read = self._mapping if token.startswith("{") else self._items
            return read(_CLOSERS[token], depth), self.at
        return self._scalar(kind, token), self.at

    def _next(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            self.at = min(self.at + 1, len(self.text))
            return ("end" if self.at >= len(self.text) else "junk"), ""
        self.at = found.end()
        return str(found.lastgroup), found[str(found.lastgroup)]

    def _peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found["mark"] or "" if found else ""

    def _scalar(self, kind: str, token: str) -> Any:
        if kind == "string":
            return _unescape(token.lstrip("bru")[1:-1])
        if kind == "open":  # a string that the text cuts off
            rest, self.at = self.text[self.at :], len(self.text)
            return _unescape(rest)
        if kind == "number":
            return float(token) if set(token) & set(".eE") else int(token[:18])
        return _WORDS.get(token.casefold(), token)

    def _mapping(self, closer: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while self.at < len(self.text):
            kind, token = self._next()
            if kind == "end" or (kind == "mark" and token == closer):
                break
            if kind in ("mark", "junk"):
                continue
            key = str(self._scalar(kind, token))
            if self._peek() in (":", "="):
                self._next()
                result[key] = self.value(depth + 1)[0]
        return result

    def _items(self, closer: str, depth: int) -> list[Any]:
        result: list[Any] = []
        while self.at < len(self.text):
            mark = self._peek()
            if mark == closer:
                self._next()
                break
            if mark in (",", ":", "=", "}", ")", "]"):
                self._next()
                continue
            value, _ = self.value(depth + 1)
            if self._peek() in (":", "=") and isinstance(value, str):  # FieldName(name=value) in a repr
                continue
            result.append(value)
        return result


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replace, text) if "\\" in text else text


def _replace(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _PLAIN.get(code, code)
