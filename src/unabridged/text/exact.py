"""Adapters for real tokenizers: tiktoken, quicktok, tokenizers, or any object with ``count(text)``.

A text is encoded in blocks of at most 256 KB, cut where tokens do not reach across: one call for
20 MB took 3.3 GB, and some encoders are quadratic in the longest run.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.text.estimate import Estimate
from unabridged.text.measure import Starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from unabridged.text.measure import Costs

    Offsets = NDArray[np.int64]

__all__ = ["BytePairs", "Counted", "Pieces", "blocks", "without_surrogates"]

# In characters; at most 4 bytes each.
_BLOCK = 1 << 16
_SURROGATES = re.compile("[\ud800-\udfff]")
# Before white space that follows a word, or after a line's end: vocabularies put the space first.
_SAFE = re.compile(r"(?s:.*)(?:(?<=\n)(?=\S)|(?<=\S)(?= \S))")


def without_surrogates(text: str) -> str:
    """The text as it can be sent: U+FFFD for each lone surrogate (as long, in characters and bytes).

    >>> without_surrogates("a\\ud800b") == "a\\ufffdb"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def blocks(text: str, size: int = _BLOCK) -> Iterator[tuple[int, int]]:
    """Ranges of at most ``size`` characters that tile the text, cut between words where there are any.

    >>> list(blocks("one two three", 9))
    [(0, 7), (7, 13)]
    """
    start = 0
    while len(text) - start > size:
        found = _SAFE.match(text, start + size // 2, start + size)
        end = found.end() if found and found.end() > start else start + size
        yield start, end
        start = end
    if start < len(text) or not text:
        yield start, len(text)


@dataclass(frozen=True, slots=True, eq=False)
class _Recounted:
    """Prefix sums in the whole text, and a recount for each slice, remembered.

    ``stands_alone`` tells whether no token can reach over an offset, whatever follows or came before:
    between two such offsets the prefix sums are exact. ``by_words`` says that a space belongs to the word
    after it, so that of a slice cut after spaces only the edges have to be counted.
    """

    text: str
    starts: Starts
    recount: Callable[[str], int]
    fixed: int = 0
    stands_alone: Callable[[str, int], bool] | None = None
    by_words: bool = False
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.starts.total + self.fixed

    def at(self, offset: int) -> int:
        return self.starts.at(offset)

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        return self.starts.many(offsets)

    def select(self, budget: int) -> int:
        return self.starts.select(budget)

    def between(self, start: int, end: int) -> int:
        found = self.known.get((start, end))
        if found is None:
            found = self._by_edges(start, end) if self.by_words else None
            if found is None:
                found = self.recount(self.text[start:end])
            self.known[start, end] = found
        return found

    def _by_edges(self, start: int, end: int) -> int | None:
        """The count where only a first word and a last space stand otherwise than in the whole text."""
        first, last = self._first_joint(start, end), self._last_joint(start, end)
        if first is None or last is None or first > last:
            return None
        middle = self.starts.at(last) - self.starts.at(first) + self.fixed
        return middle + self._alone(start, first) + self._alone(last, end)

    def _alone(self, start: int, end: int) -> int:
        return self.recount(self.text[start:end]) - self.fixed if end > start else 0

    def _first_joint(self, start: int, end: int) -> int | None:
        """The first offset from ``start`` on where tokens end, in the slice as in the whole."""
        if self._stands(start):
            return start
        if not self.text[start - 1].isspace() or self.text[start].isspace():
            return None
        found = _JOINT.search(self.text, start, min(end, start + _WORD))
        return None if found is None else found.start()

    def _last_joint(self, start: int, end: int) -> int | None:
        """The last offset before ``end`` where tokens end, in the slice as in the whole."""
        if self._stands(end):
            return end
        if not self.text[end - 1].isspace():
            return None
        near = max(start, end - _WORD)
        last = len(self.text[near:end].rstrip()) + near
        at = self.text.rfind(" ", near + 1, last)
        return at if at > near and _JOINT.match(self.text, at) and not self.text[at - 1].isspace() else None

    def _stands(self, at: int) -> bool:
        return at in {0, len(self.text)} or (self.stands_alone is not None and self.stands_alone(self.text, at))

    def is_sure(self, start: int, end: int) -> bool:
        alone, text = self.stands_alone, self.text
        return alone is not None and all(at in {0, len(text)} or alone(text, at) for at in (start, end))


def _opens_line(text: str, at: int) -> bool:
    """A line's start, indented or not, but for what may be one token with the line's end."""
    if text[at - 1] != "\n" or text[at] in _JOINED:
        return False
    if not text[at].isspace():
        return True
    indent = _INDENT.match(text, at, at + _WORD)
    return indent is not None


def _opens_word(text: str, at: int) -> bool:
    """After white space that no normalizer takes away (other control characters it may)."""
    return text[at - 1] in " \t\n\r"


_JOINT = re.compile(r"(?<=\S) (?=\S)")  # vocabularies put the space before a word, so tokens end before it
_INDENT = re.compile(r"[ \t]+(?=\S)")  # of a line that holds anything
_WORD = 64  # characters within which a first word has to end
# o200k takes slashes after line feeds into the token of the punctuation before them.
_JOINED = "/"
# Encodings whose pattern ends a token at the last of several line feeds, whatever follows.
_BY_LINES = ("cl100k_base", "o200k_base", "o200k_harmony", "llama3", "qwen3")


# Pre-tokenizers of the ``tokenizers`` library that drop white space and look at each word by itself.
_BY_WORDS = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")


def _concatenated(parts: list[Offsets]) -> Offsets:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _character_of_byte(piece: bytes) -> Offsets:
    """For each byte of the UTF-8 form, the character that it belongs to."""
    lead = (np.frombuffer(piece, np.uint8) & 0xC0) != 0x80
    return np.cumsum(lead, dtype=np.int64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class BytePairs:
    """tiktoken's and quicktok's encodings: ids whose bytes add up to the text."""

    name: str
    encode: Callable[[str], Any] = field(repr=False)
    length: Callable[[str], int] = field(repr=False)
    token_bytes: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, encoding: Any) -> BytePairs:
        """Wrap a ``tiktoken.Encoding`` or a ``quicktok`` tokenizer; special tokens are plain text here."""
        to_array, count = getattr(encoding, "encode_to_numpy", None), getattr(encoding, "count", None)
        encode = partial(to_array, disallowed_special=()) if to_array else encoding.encode_ordinary
        plain = encoding.encode_ordinary
        return cls(str(encoding.name), encode, count or (lambda text: len(plain(text))), _token_bytes(encoding))

    def count(self, text: str) -> int:
        """Tokens, exactly."""
        text = without_surrogates(text)
        if len(text) <= _BLOCK:
            return self.length(text)
        return sum(self.length(text[start:end]) for start, end in blocks(text))

    def measure(self, text: str) -> Costs:
        """Where each token starts."""
        sendable = without_surrogates(text)
        parts = [self._starts(sendable[start:end], start) for start, end in blocks(sendable)]
        alone = _opens_line if self.name.removesuffix("_offline") in _BY_LINES else None
        starts = Starts(_concatenated(parts), len(text))
        return _Recounted(text, starts, self.count, stands_alone=alone, by_words=alone is not None)

    def _starts(self, piece: str, origin: int) -> Offsets:
        ids = self.encode(piece)
        if isinstance(ids, list):  # by way of an array: twice as quick as from the list
            ids = np.frombuffer(array("I", ids), np.uint32) if ids else np.zeros(0, np.uint32)
        sizes = self.token_bytes[ids]
        starts = np.cumsum(sizes) - sizes
        if not piece.isascii():
            starts = _character_of_byte(piece.encode())[starts]
        return starts + origin if origin else starts


@lru_cache(maxsize=16)
def _token_bytes(encoding: Any) -> NDArray[np.int64]:
    """How many bytes each token stands for."""
    sizes = np.zeros(encoding.n_vocab, np.int64)
    for token in range(encoding.n_vocab):
        try:
            sizes[token] = len(encoding.decode_single_token_bytes(token))
        except KeyError:
            continue
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A ``tokenizers.Tokenizer``, without the truncation and padding that may be baked into its file.

    Counts include the special tokens that a model's input has (``[CLS]`` and ``[SEP]`` …).
    """

    tokenizer: Any = field(repr=False)
    name: str = "tokenizers"
    fixed: int = 0

    @classmethod
    def of(cls, tokenizer: Any, name: str = "tokenizers") -> Pieces:
        """Wrap a copy: the caller's own tokenizer keeps its settings."""
        if tokenizer.truncation is not None or tokenizer.padding is not None:
            tokenizer = type(tokenizer).from_str(tokenizer.to_str())
            tokenizer.no_truncation()
            tokenizer.no_padding()
        return cls(tokenizer, name, len(tokenizer.encode("").ids))

    def count(self, text: str) -> int:
        """Tokens, exactly, with the special ones."""
        text = without_surrogates(text)
        return self.fixed + sum(len(self._encode(text[start:end])) for start, end in blocks(text))

    def measure(self, text: str) -> Costs:
        """Where each token starts."""
        sendable = without_surrogates(text)
        parts = []
        for start, end in blocks(sendable):
            offsets = np.asarray(self._encode(sendable[start:end]).offsets, np.int64).reshape(-1, 2)
            parts.append(np.maximum.accumulate(offsets[:, 0]) + start)
        by_words = type(self.tokenizer.pre_tokenizer).__name__ in _BY_WORDS
        alone = _opens_word if by_words else None
        return _Recounted(text, Starts(_concatenated(parts), len(text)), self.count, self.fixed, alone)

    def _encode(self, piece: str) -> Any:
        return self.tokenizer.encode(piece, add_special_tokens=False)


# Characters that one call of a foreign ``count`` gets: few calls, and a share of the text small
# enough that the estimator's shape of it can be trusted in between.
_SAMPLE = 2048


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Any object with ``count(text) -> int``: counted by blocks, estimated within them."""

    counter: Any = field(repr=False)
    name: str = "counted"

    def count(self, text: str) -> int:
        """What the object says."""
        return int(self.counter.count(text))

    def measure(self, text: str) -> Costs:
        """The estimator's prefix sums, stretched block by block to what the object counts."""
        shape = Estimate().measure(text)
        fixed = max(0, self.count(""))
        ranges = list(blocks(text, _SAMPLE))
        costs = [max(0, self.count(text[start:end]) - fixed) for start, end in ranges]
        offsets = [0, *(end for _, end in ranges)]
        return _Stretched(text, self.count, shape, offsets, [0, *accumulate(costs)], fixed)


# How much of a block's cost follows the estimator's shape, beside its characters evenly: enough
# that prose fits, not so much that a word after a thousand spaces is charged for them all.
_SHAPE = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Stretched:
    """Between two counted offsets, costs follow the estimator's shape and the characters."""

    text: str
    recount: Callable[[str], int]
    shape: Costs
    offsets: list[int]
    sums: list[int]
    fixed: int
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.sums[-1] + self.fixed

    def at(self, offset: int) -> int:
        return self._within(self._block(self.offsets, offset), offset)

    def _block(self, marks: list[int], value: int) -> int:
        return max(0, min(bisect_right(marks, value) - 1, len(marks) - 2))

    def _weight(self, offset: int) -> int:
        return _SHAPE * self.shape.at(offset) + offset

    def _within(self, block: int, offset: int) -> int:
        origin, step = self._weight(self.offsets[block]), self.sums[block + 1] - self.sums[block]
        width = max(1, self._weight(self.offsets[block + 1]) - origin)
        return self.sums[block] - (origin - self._weight(offset)) * step // width

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        return np.fromiter((self.at(int(offset)) for offset in offsets), np.int64, len(offsets))

    def select(self, budget: int) -> int:
        if budget < 0:
            return 0
        block = self._block(self.sums, budget)
        inside = range(self.offsets[block], self.offsets[block + 1] + 1)
        return inside[0] + bisect_right(inside, budget, key=lambda offset: self._within(block, offset)) - 1

    def between(self, start: int, end: int) -> int:
        found = self.known.get((start, end))
        if found is None:
            found = self.known[start, end] = self.recount(self.text[start:end])
        return found

    def is_sure(self, start: int, end: int) -> bool:
        return False
