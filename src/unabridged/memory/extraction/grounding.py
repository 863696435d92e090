"""Where in a text a quote stands: the bytes that a fact is grounded in (pure).

Models copy nearly exactly: another apostrophe, white space folded, an ellipsis, a capital. Those are found; a
quote that the text does not have is not made up.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["Ground"]

Span = tuple[int | None, int | None]
_NOWHERE: Span = (None, None)
_LONGEST = 4000  # characters of a quote: a chunk is some 5,000
_NEAR = 400  # characters within which two names stand in one statement
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\]|\[…\])\s*")
_ALIKE = {
    "'": "['’‘ʼ`]",
    "’": "['’‘ʼ`]",
    "‘": "['’‘ʼ`]",
    '"': '["“”„«»]',
    "“": '["“”„«»]',
    "”": '["“”„«»]',
    "-": "[-‐‑–—−]",
    "–": "[-‐‑–—−]",
    "—": "[-‐‑–—−]",
}
_EDGES = " \t\r\n\"'“”„«»‘’`.,;:!?…"


class Ground:
    """A text in which quotes are looked for.

    >>> ground = Ground("Café: “Alice  works at Acme”, he said.")
    >>> ground.quote('"Alice works at Acme"'), ground.quote("Bob works")
    ((10, 30), (None, None))
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ascii = text.isascii()

    def quote(self, said: Any) -> Span:
        """The bytes of a quote, or ``(None, None)``."""
        return self._bytes(self._find(said))

    def mention(self, name: str, aliases: tuple[str, ...], said: Any) -> Span:
        """The bytes where a thing is named: by its name or an alias, else by the quote given."""
        for one in (name, *aliases):
            found = self._word(one)
            if found:
                return self._bytes(found)
        return self._bytes(self._find(said))

    def statement(self, said: Any, source: tuple[str, ...], target: tuple[str, ...]) -> Span:
        """The bytes that state a fact: its quote, else the closest place that has both names."""
        found = self._find(said)
        return self._bytes(found or self._nearest(source, target))

    def _find(self, said: Any) -> tuple[int, int] | None:
        if not isinstance(said, str) or not said.strip() or len(said) > _LONGEST:
            return None
        at = self._text.find(said.strip())
        if at >= 0:
            return at, at + len(said.strip())
        quote = said.strip(_EDGES)
        found = self._alike(quote) if quote else None
        if found is None and (parts := [part for part in _ELLIPSIS.split(quote) if part]) and len(parts) > 1:
            return self._between(parts)
        return found

    def _alike(self, quote: str, start: int = 0) -> tuple[int, int] | None:
        """A quote but for white space, case, and the shape of quotes and dashes."""
        pattern = r"\s+".join(
            "".join(_ALIKE.get(letter) or re.escape(letter) for letter in word) for word in quote.split()
        )
        found = re.compile(pattern, re.IGNORECASE).search(self._text, start)
        return found.span() if found else None

    def _between(self, parts: list[str]) -> tuple[int, int] | None:
        first = self._alike(parts[0].strip(_EDGES))
        if first is None:
            return None
        end = first[1]
        for part in parts[1:]:
            found = self._alike(part.strip(_EDGES), end)
            if found is None:
                return None
            end = found[1]
        return first[0], end

    def _word(self, name: str) -> tuple[int, int] | None:
        """A name as a word of its own if it is one anywhere; in scripts without spaces inside another one."""
        for found in self._all(name):
            before, after = self._text[found[0] - 1 : found[0]], self._text[found[1] : found[1] + 1]
            if not ((before.isalnum() and name[0].isalnum()) or (after.isalnum() and name[-1].isalnum())):
                return found
        return None if name.isascii() else next(iter(self._all(name)), None)

    def _all(self, name: str) -> list[tuple[int, int]]:
        pattern = r"\s+".join(map(re.escape, name.split()))
        return [found.span() for found in re.finditer(pattern, self._text, re.IGNORECASE)] if pattern else []

    def _nearest(self, source: tuple[str, ...], target: tuple[str, ...]) -> tuple[int, int] | None:
        ones = [span for name in source for span in self._all(name)]
        others = [span for name in target for span in self._all(name)]
        pairs = ((min(a[0], b[0]), max(a[1], b[1])) for a in ones[:50] for b in others[:50])
        best = min(pairs, key=lambda span: span[1] - span[0], default=None)
        return best if best is not None and best[1] - best[0] <= _NEAR else None

    def _bytes(self, span: tuple[int, int] | None) -> Span:
        if span is None:
            return _NOWHERE
        if self._ascii:
            return span
        start = len(self._text[: span[0]].encode("utf-8", "surrogatepass"))
        return start, start + len(self._text[span[0] : span[1]].encode("utf-8", "surrogatepass"))
