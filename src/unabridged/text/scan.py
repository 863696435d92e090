"""One pass over a text: which characters are letters, digits, spaces, line feeds, as maps of bits.

Bit ``i & 63`` of word ``i >> 6`` stands for character ``i``. A map is an eighth of a byte a
character, so everything after the first pass costs next to nothing: runs are followed by shifts
and ANDs, however long they are, and never character by character.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Bits = NDArray[np.uint64]
    Codes = NDArray[Any]

__all__ = ["Scan", "bits_at", "later", "spread"]

# Characters a pass: what a level-2 cache holds with its temporaries. A multiple of 64.
_BLOCK = 1 << 16
# Shifts as arrays of no dimension: half as long to apply as numpy's scalars.
_BY = tuple(np.array(by, np.uint64) for by in range(65))


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """The classes of a text's characters, each a map of bits.

    ``letters`` and ``digits`` are ASCII's; ``spaces`` is what :meth:`str.isspace` says; ``wide`` is
    Chinese, Japanese and Korean script (with its punctuation and full-width forms), and is there
    only where asked for. Each map has ``size // 64 + 1`` words; the bits past the end are 0.
    """

    size: int
    letters: Bits
    digits: Bits
    spaces: Bits
    feeds: Bits
    wide: Bits | None = None

    @classmethod
    def of(cls, text: str, *, wide: bool = False) -> Scan:
        """Look at each character once.

        >>> Scan.of("ab 1").letters.tolist()
        [3]
        """
        size = len(text)
        maps = np.zeros((5 if wide else 4, (size // 64 + 1) * 8), np.uint8)
        for start in range(0, size, _BLOCK):
            codes = _codes(text[start : start + _BLOCK])
            at = start >> 3
            for row, mask in zip(maps, _classes(codes, wide=wide), strict=False):
                packed = np.packbits(mask, bitorder="little")
                row[at : at + len(packed)] = packed
        words = maps.view("<u8")
        return cls(size, words[0], words[1], words[2], words[3], words[4] if wide else None)


def _codes(piece: str) -> Codes:
    """The code points, in the narrowest width that holds them all, one a character."""
    if piece.isascii():
        return np.frombuffer(piece.encode("ascii"), np.uint8)
    try:
        narrow = np.frombuffer(piece.encode("utf-16-le"), "<u2")
    except UnicodeEncodeError:  # a lone surrogate
        narrow = np.zeros(0, np.uint16)
    # numpy's own strings are UTF-32, and take surrogates as they come.
    return narrow if len(narrow) == len(piece) else np.array([piece]).view(np.uint32)


def _classes(codes: Codes, *, wide: bool) -> Iterator[NDArray[np.bool_]]:
    """Letters, digits, spaces, line feeds and, where asked for, wide characters.

    Each mask is good until the next one is asked for.
    """
    spare, mask = np.empty_like(codes), np.empty(len(codes), np.bool_)
    np.bitwise_or(codes, codes.dtype.type(32), out=spare)
    yield _between(spare, 97, 122, spare, mask)
    yield _between(codes, 48, 57, spare, mask)
    yield _spaces(codes, spare, mask)
    yield np.equal(codes, 10, out=mask)
    if wide:
        yield _wide(codes)


def _between(
    codes: Codes, low: int, high: int, spare: Codes | None = None, mask: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """``low <= code <= high`` in two passes: what is below wraps round to the top."""
    kind = codes.dtype.type
    return np.less_equal(np.subtract(codes, kind(low), out=spare), kind(high - low), out=mask)


def _spaces(codes: Codes, spare: Codes, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """White space as :meth:`str.isspace` knows it."""
    _between(codes, 28, 32, spare, mask)
    mask |= _between(codes, 9, 13, spare)
    if codes.dtype.itemsize > 1:
        _add_other_spaces(codes, mask)
    return mask


def _add_other_spaces(codes: Codes, spaces: NDArray[np.bool_]) -> None:
    """The white space of Unicode outside ASCII, as :meth:`str.isspace` knows it."""
    for code in (0x85, 0xA0, 0x1680, 0x3000):
        spaces |= codes == code
    general = _between(codes, 0x2000, 0x205F)
    if general.any():
        spaces |= _between(codes, 0x2000, 0x200A)
        for code in (0x2028, 0x2029, 0x202F, 0x205F):
            spaces |= codes == code


def _wide(codes: Codes) -> NDArray[np.bool_]:
    """CJK radicals to Yi, Hangul, compatibility and full-width forms, the supplementary planes of Han."""
    if codes.dtype.itemsize == 1:
        return np.zeros(len(codes), np.bool_)
    wide = _between(codes, 0x2E80, 0xA4CF)
    wide |= _between(codes, 0xAC00, 0xD7FF)
    wide |= _between(codes, 0xF900, 0xFAFF)
    wide |= _between(codes, 0xFE30, 0xFFEF)
    if codes.dtype.itemsize == 4:
        wide |= _between(codes, 0x20000, 0x3FFFF)
    return wide


def later(bits: Bits, by: int) -> Bits:
    """Every bit moved ``by`` characters towards the end of the text; what leaves it is lost."""
    words, rest = divmod(by, 64)
    if words:
        moved = np.zeros_like(bits)
        if words < len(bits):
            moved[words:] = bits[: len(bits) - words]
        return later(moved, rest) if rest else moved
    moved = bits << _BY[rest]
    carried = moved[1:]
    np.bitwise_or(carried, bits[:-1] >> _BY[64 - rest], out=carried)
    return moved


def spread(seeds: Bits, runs: Bits, step: int) -> Bits:
    """The seeds, and every ``step``-th character after each as far as its run goes on.

    The distance covered doubles with each round, so a run of any length costs its logarithm.
    """
    reached, span = seeds, _all_of(runs, step)
    while np.count_nonzero(span):
        hop = later(reached, step)
        hop &= span
        hop |= reached
        reached = hop
        further = later(span, step)
        further &= span
        span = further
        step *= 2
    return reached


def _all_of(runs: Bits, back: int) -> Bits:
    """The characters of a run that have ``back - 1`` others of it right before them."""
    if back == 1:
        return runs
    half = _all_of(runs, (back + 1) // 2)
    return half & later(half, back // 2)


def bits_at(bits: Bits) -> NDArray[np.int64]:
    """The positions of the bits that are set, ascending."""
    full = bits.nonzero()[0]
    if 2 * len(full) > len(bits):
        return np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_).nonzero()[0]
    flags = np.unpackbits(bits[full].view(np.uint8), bitorder="little")
    found = flags.view(np.bool_).nonzero()[0]
    return (full[found >> 6] << 6) + (found & 63)
