"""The tokenizer of the embedded default model, built from the vocabulary that ships with us.

The vocabulary is BERT's (English, uncased, 30,522 entries; Apache-2.0, see ``data/NOTICE``). Built
here from its parts, it has neither the truncation nor the padding that model files carry.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from unabridged.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["WordPiece"]

UNKNOWN, OPEN, CLOSE = 100, 101, 102  # [UNK], [CLS], [SEP]: their lines in the vocabulary
_BLOCK = 256_000  # characters encoded at once: one encode of 20 MB took 3.3 GB (FINDINGS §1)


class WordPiece:
    """Counts exactly as the model does, without the two special tokens around each text.

    ``raw`` is the ``tokenizers.Tokenizer`` itself (no truncation, no padding, no special tokens),
    for whoever needs offsets.

    >>> WordPiece().count("unabridged")
    3
    """

    name = "bert-base-uncased"
    specials = 2  # [CLS] … [SEP]

    def __init__(self) -> None:
        try:
            import tokenizers  # noqa: F401
        except ImportError:
            raise MissingExtra("tokenizers", "local") from None

    @property
    def raw(self) -> Any:
        """The ``tokenizers.Tokenizer``."""
        return _raw()

    def count(self, text: str) -> int:
        """How many tokens ``text`` costs, in bounded memory."""
        return sum(len(self.raw.encode(block)) for block in _blocks(_clean(text)))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, without special tokens."""
        return [encoding.ids for encoding in self.raw.encode_batch_fast([_clean(text) for text in texts])]


def _clean(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 text can hold and the tokenizer refuses."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def _blocks(text: str) -> Iterator[str]:
    """Pieces that end at white space, where no token of this vocabulary can go across."""
    start = 0
    while len(text) - start > _BLOCK:
        end = max(text.rfind(space, start + 1, start + _BLOCK) for space in " \n\t")
        if end < 0:  # one word, longer than a block: find where it ends
            ends = [at for at in (text.find(space, start + _BLOCK) for space in " \n\t") if at > 0]
            end = min(ends, default=len(text))
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _raw() -> Any:
    """One for the process: it takes 30 ms to make, keeps nothing of a text, and every provider has the same."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    with as_file(files("unabridged") / "data" / "bert_uncased_vocab.txt") as path:
        vocabulary = models.WordPiece.read_file(str(path))
    model = models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106
    raw = Tokenizer(model)
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return raw
