"""Is an answer to be trusted? Count, index, width and values, before anything is stored (promise 7).

Every provider hands its raw vectors to :func:`vectors_from` (JSON rows) or :func:`checked` (an
array), and gets float32 of shape ``(texts, width)`` in the order of the texts, or a
:class:`~unabridged.errors.BadReply` that says what is wrong and where.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import BadReply
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from unabridged.types import FaultKind, Vector, Vectors

__all__ = ["Plateau", "bad_reply", "bad_values", "checked", "vectors_from"]

_NUMBERS = frozenset({int, float, type(None)})
_SHOWN = 10  # so many positions are named in a message


def vectors_from(
    items: Iterable[tuple[object, object]], *, count: int, width: int | None = None, provider: str
) -> Vectors:
    """Read ``(index, vector)`` pairs into an array in the order of their indices.

    A vector is a list of numbers or base64 of little-endian float32 values. An index of ``None``
    everywhere means that the answer is in the order of the request. ``width`` is what was asked
    for or is known; without it all vectors must agree.

    Returns float32 of shape ``(count, width)``. Raises :class:`~unabridged.errors.BadReply` with a
    fault of kind ``bad_reply`` (count, index, width) or ``bad_values`` (NaN, infinite, null, zero).

    >>> vectors_from([(1, [0.0, 1.0]), (0, [1.0, 0.0])], count=2, provider="openai").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    pairs = list(items)
    rows = _in_order(pairs, count, provider)
    parsed = [_row(raw, at, provider) for at, raw in enumerate(rows)]
    _same_width(parsed, width, provider)
    return checked(np.stack(parsed), count=count, width=width, provider=provider)


def checked(vectors: NDArray[Any], *, count: int, width: int | None = None, provider: str) -> NDArray[np.float32]:
    """Check an array of shape ``(count, width)`` and give it back as contiguous float32.

    >>> checked(np.array([[0.0, 2.0]]), count=1, provider="local").dtype
    dtype('float32')
    """
    if vectors.ndim != 2 or len(vectors) != count:
        found = f"an array of shape {vectors.shape}" if vectors.ndim != 2 else _plural(len(vectors), "vector")
        raise bad_reply(f"{found} for {_plural(count, 'text')}", provider=provider)
    if vectors.shape[1] == 0 or (width is not None and vectors.shape[1] != width):
        expected = "at least 1" if width is None else width
        raise bad_reply(f"vectors are {vectors.shape[1]} wide, {expected} expected", provider=provider)
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.ascontiguousarray(vectors, dtype=np.float32)
        squares = np.einsum("ij,ij->i", out, out)
    if not (np.isfinite(squares).all() and squares.all()):  # one cheap pass; the rest only when it doubts
        _refuse_values(out, provider)
    return out


def bad_reply(problem: str, *, provider: str, indices: Sequence[int] = (), kind: FaultKind = "bad_reply") -> BadReply:
    """An error for an answer that has the wrong shape.

    >>> str(bad_reply("2 vectors for 3 texts", provider="openai"))
    'openai: bad reply: 2 vectors for 3 texts'
    """
    fault = Fault(kind, "input" if indices else "request", indices=tuple(indices))
    return BadReply(f"{provider}: {kind.replace('_', ' ')}: {problem}", fault)


def bad_values(problem: str, *, provider: str, indices: Sequence[int]) -> BadReply:
    """An error for vectors whose values cannot be used; ``indices`` are the texts they belong to."""
    return bad_reply(f"{problem} at {_named(indices)}", provider=provider, indices=indices, kind="bad_values")


def _in_order(pairs: list[tuple[object, object]], count: int, provider: str) -> list[object]:
    if len(pairs) != count:
        raise bad_reply(f"{_plural(len(pairs), 'vector')} for {_plural(count, 'text')}", provider=provider)
    indices = [index for index, _ in pairs]
    if all(index is None for index in indices):
        return [raw for _, raw in pairs]
    rows: dict[int, object] = {}
    for index, raw in pairs:
        if type(index) is not int:
            what = "no index" if index is None else f"an index of type {type(index).__name__}"
            raise bad_reply(f"{what} among {_plural(count, 'vector')}", provider=provider)
        if not 0 <= index < count:
            raise bad_reply(f"index {index} is not in 0 … {count - 1}", provider=provider)
        if index in rows:
            missing = sorted(set(range(count)).difference(i for i in indices if type(i) is int))
            raise bad_reply(f"index {index} twice, {_named(missing)} missing", provider=provider)
        rows[index] = raw
    return [rows[index] for index in range(count)]


def _row(raw: object, at: int, provider: str) -> Vector:
    if isinstance(raw, str):
        return _decoded(raw, at, provider)
    if isinstance(raw, list):
        if not _NUMBERS.issuperset(map(type, raw)):
            nested = any(isinstance(value, list) for value in raw)
            problem = "a list of vectors (one for each token?)" if nested else "something that is no number"
            raise bad_reply(f"{problem} where the vector of text {at} should be", provider=provider)
        try:
            with np.errstate(over="ignore"):
                return np.array(raw, dtype=np.float32)  # null becomes NaN, and is refused as such
        except OverflowError:
            raise bad_values("a number out of range", provider=provider, indices=[at]) from None
    if raw is None:
        raise bad_values("null instead of a vector", provider=provider, indices=[at])
    raise bad_reply(f"a vector of type {type(raw).__name__} for text {at}", provider=provider)


def _decoded(raw: str, at: int, provider: str) -> Vector:
    try:
        data = base64.b64decode(raw, validate=True)
    except (binascii.Error, ValueError):
        raise bad_reply(f"the vector of text {at} is not base64", provider=provider) from None
    if len(data) % 4:
        raise bad_reply(f"the vector of text {at} has {len(data)} bytes, not a multiple of 4", provider=provider)
    return np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)


def _same_width(rows: list[Vector], width: int | None, provider: str) -> None:
    expected = width if width is not None else len(rows[0])
    wrong = [at for at, row in enumerate(rows) if len(row) != expected]
    if wrong:
        found = len(rows[wrong[0]])
        raise bad_reply(
            f"the vector of {_named(wrong)} is {found} wide, {expected} expected",
            provider=provider,
        )


def _refuse_values(out: NDArray[np.float32], provider: str) -> None:
    broken = np.flatnonzero(~np.isfinite(out).all(axis=1)).tolist()
    if broken:
        raise bad_values("NaN, null or infinite values", provider=provider, indices=broken)
    zero = np.flatnonzero(~out.any(axis=1)).tolist()
    if zero:
        raise bad_values("a vector of zeros", provider=provider, indices=zero)


def _named(indices: Sequence[int]) -> str:
    rest = len(indices) - _SHOWN
    names = ", ".join(map(str, indices[:_SHOWN]))
    return f"index {names}" + (f" and {rest} more" if rest > 0 else "")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


class Plateau:
    """Notices a provider that cuts silently: its count of tokens stands still while texts grow.

    A text has a token for at most every eight characters or so. Where a provider bills fewer, and
    exactly as many as its limit or as for another text of quite another length, it has cut them.

    >>> seen = Plateau(limit=512)
    >>> seen.suspect([9000], 512)
    'input cut silently? 512 tokens billed for 9000 characters'
    """

    _CHARS_PER_TOKEN = 8
    _SMALLEST = 32  # tokens; below that, equal counts are chance

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._seen: dict[int, int] = {}  # tokens billed -> the fewest characters they were billed for

    def suspect(self, chars: Sequence[int], tokens: int | None) -> str | None:
        """Whether ``tokens`` for texts of so many characters looks like a cut; a sentence, or ``None``."""
        if not tokens or tokens % len(chars) or tokens // len(chars) < self._SMALLEST:
            return None
        each, fewest = tokens // len(chars), min(chars)
        if fewest <= each * self._CHARS_PER_TOKEN:
            return None
        if len(self._seen) >= 1000:  # a bound on memory; real plateaus come back at once
            self._seen.clear()
        known = self._seen.setdefault(each, fewest)
        if each == self._limit or fewest >= 1.2 * known or known >= 1.2 * fewest:
            return f"input cut silently? {tokens} tokens billed for {sum(chars)} characters"
        return None
