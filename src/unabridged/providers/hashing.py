"""A deterministic model without a model: a hashed bag of words, for tests and for trying things out.

It is fast, needs nothing, gives the same vector for the same text everywhere and for ever, and it
refuses like a server does: over-long texts, too many inputs, blank texts.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from unabridged.errors import ConfigError, Overflow, ProviderError
from unabridged.types import Fault, Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unabridged.types import Request, Unit, Vector

__all__ = ["HashingProvider", "HashingTokenizer"]

# SPEC C3: a run of ASCII letters costs ⌈n/4⌉, a run of digits ⌈n/3⌉, any other character 1, white space 0.
_TOKEN = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,3}|\S")
# A word, or one character of a script that is written without spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+|\S")
_LIMIT = Limit(input_tokens=8192, request_inputs=2048)
_SHORT = 65_536


class HashingTokenizer:
    """Counts as the default estimator does (SPEC C3).

    >>> HashingTokenizer().count("unabridged, 12345 字")
    7
    """

    name = "hashing"

    def count(self, text: str) -> int:
        """How many tokens ``text`` costs."""
        if len(text) < _SHORT:
            return len(_TOKEN.findall(text))  # half the time of counting matches, and a list as long as the text
        return sum(1 for _ in _TOKEN.finditer(text))


class HashingProvider:
    """Hashed bag of words, unit length, with a real limit.

    ``limit`` is what it refuses over; ``announced=False`` hides it from the caller, as a server
    does; ``numbers=False`` refuses without saying the limit or the size; ``indexed=False``
    without saying which text. A blank text is refused (``empty_input``), as most servers do.

    >>> from unabridged.types import Request
    >>> HashingProvider(dimensions=64).send(Request(("a text", "another"))).vectors.shape
    (2, 64)
    """

    name = "hashing"
    host = "process"

    def __init__(
        self,
        *,
        model: str = "bag-of-words",
        dimensions: int = 256,
        limit: Limit = _LIMIT,
        announced: bool = True,
        numbers: bool = True,
        indexed: bool = True,
    ) -> None:
        if type(dimensions) is not int or dimensions < 1:
            raise ConfigError("dimensions", f"found {dimensions!r}, expected a whole number above 0")
        self.model = model
        self.dimensions = dimensions
        self.tokenizer = HashingTokenizer()
        self._limit = limit
        self._announced = announced
        self._numbers = numbers
        self._indexed = indexed

    @property
    def limit(self) -> Limit:
        """The limit in force, or an empty one if it is not announced."""
        return self._limit if self._announced else Limit()

    @property
    def settings(self) -> Mapping[str, str]:
        """The version of the hash."""
        return {"hash": "crc32/1"}

    def send(self, request: Request) -> Reply:
        """Hash every text. Raises :class:`~unabridged.errors.Overflow` over the limit."""
        counts = [self.tokenizer.count(text) for text in request.texts]
        self._refuse(request.texts, counts)
        width = request.dimensions or self.dimensions
        vectors = np.stack([_hashed(text, width) for text in request.texts])
        return Reply(vectors, tokens=sum(counts), model=self.model)

    async def asend(self, request: Request) -> Reply:
        """The same; it never waits."""
        return self.send(request)

    def close(self) -> None:
        """Nothing to give back."""

    async def aclose(self) -> None:
        """Nothing to give back."""

    def _refuse(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        limit = self._limit
        self._refuse_request(len(texts), limit.request_inputs, "inputs")
        empty = [at for at, text in enumerate(texts) if not text.strip()]
        if empty or not texts:
            fault = Fault("empty_input", "input", indices=tuple(empty))
            raise ProviderError(f"hashing: input {_first(empty)} is empty", fault)
        sizes: list[tuple[Unit, Sequence[int], int | None, int | None]] = [
            ("tokens", counts, limit.input_tokens, limit.request_tokens),
            ("chars", [len(text) for text in texts], limit.input_chars, None),
            ("bytes", [_bytes(text) for text in texts], limit.input_bytes, limit.request_bytes),
        ]
        for unit, actual, each, together in sizes:
            self._refuse_inputs(actual, each, unit)
            self._refuse_request(sum(actual), together, unit)

    def _refuse_inputs(self, sizes: Sequence[int], limit: int | None, unit: Unit) -> None:
        over = [at for at, size in enumerate(sizes) if limit is not None and size > limit]
        if not over:
            return
        at, actual = over[0], sizes[over[0]]
        who = f"input {at}" if self._indexed else "an input"
        stated = f"{who} has {actual} {unit}, the limit is {limit}"
        message = stated if self._numbers else f"{who} is too long"
        fault = Fault(
            "input_overflow",
            "input",
            limit=limit if self._numbers else None,
            actual=actual if self._numbers else None,
            unit=unit,
            indices=tuple(over) if self._indexed else (),
        )
        raise Overflow(f"hashing: {message}", fault)

    def _refuse_request(self, size: int, limit: int | None, unit: Unit) -> None:
        if limit is None or size <= limit:
            return
        stated = f"{size} {unit} in one request, the limit is {limit}"
        fault = Fault(
            "batch_count" if unit == "inputs" else "request_overflow",
            limit=limit if self._numbers else None,
            actual=size if self._numbers else None,
            unit=unit,
        )
        raise Overflow(f"hashing: {stated if self._numbers else f'too many {unit}'}", fault)


def _hashed(text: str, width: int) -> Vector:
    vector = np.zeros(width, dtype=np.float32)
    for word, times in Counter(_WORD.findall(text.casefold())).items():
        code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        vector[(code & 0x7FFFFFFF) % width] += times**0.5 if code >> 31 else -(times**0.5)
    norm = float(np.sqrt(np.dot(vector, vector)))
    if norm == 0:  # words that cancel each other out still need a direction
        vector[len(text) % width] = norm = 1.0
    return vector / np.float32(norm)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _first(indices: Sequence[int]) -> str:
    return str(indices[0]) if indices else "list"
