"""What is to be embedded, in the forms that clients send it: a text, texts, token ids, lists of those."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, MissingExtra
from unabridged.server.problems import Problem
from unabridged.text.tokens import as_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unabridged.embedding.embedder import Embedder
    from unabridged.types import Role

__all__ = ["role_of", "texts_of"]

# Clients that make token ids without knowing the model use this one (FINDINGS §4).
_CUSTOMARY = "cl100k_base"
_MARKS = {"[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>"}
_QUERY = {"query", "search_query", "retrieval.query", "retrieval_query", "code.query", "nl2code.query"}
_DOCUMENT = {
    "document",
    "passage",
    "search_document",
    "retrieval.passage",
    "retrieval_document",
    "code.passage",
    "nl2code.passage",
    "classification",
    "clustering",
    "separation",
    "text-matching",
    "semantic_similarity",
}
_Decode = "Callable[[list[int]], str]"


def role_of(given: str | None, param: str) -> Role:
    """The role that an ``input_type`` of anybody's means; without one, a document.

    >>> role_of("search_query", "input_type"), role_of(None, "input_type"), role_of("passage", "input_type")
    ('query', 'document', 'document')
    """
    word = (given or "document").lower()
    if word in _QUERY:
        return "query"
    if word in _DOCUMENT:
        return "document"
    raise Problem(400, f"{param}: expected 'query', 'document' or a like word", code="invalid_value", param=param)


def texts_of(given: Any, embedder: Embedder, param: str = "input") -> list[str]:
    """The texts: as they are, or decoded from token ids by the model's own tokenizer.

    Raises :class:`~unabridged.server.problems.Problem` 400 that names the position of what is wrong.
    """
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list) or not given:
        expected = "expected a text, a list of texts, token ids, or a list of lists of token ids"
        raise Problem(400, f"{param}: {expected}", code="invalid_input", param=param)
    if type(given[0]) is int:
        return [_decoded(given, embedder, param)]
    return [_text(one, embedder, f"{param}[{at}]") for at, one in enumerate(given)]


def _text(one: Any, embedder: Embedder, where: str) -> str:
    if isinstance(one, str):
        return one
    if isinstance(one, list) and one:
        return _decoded(one, embedder, where)
    raise Problem(400, f"{where}: expected a text or token ids", code="invalid_input", param=where)


def _decoded(ids: Sequence[Any], embedder: Embedder, where: str) -> str:
    for at, token in enumerate(ids):
        if type(token) is not int or token < 0:
            raise Problem(400, f"{where}[{at}]: expected a token id", code="invalid_input", param=where)
    try:
        return _decoder(embedder)(list(ids))
    except _UnknownTokenError as unknown:
        detail = f"{where}[{unknown.at}]: the token id is not in the vocabulary of {unknown.name}; send the text itself"
        raise Problem(400, detail, code="invalid_token", param=where) from None
    except (MissingExtra, ConfigError):
        detail = f"{where}: no tokenizer for token ids is installed here; send the text itself"
        raise Problem(400, detail, code="invalid_input", param=where) from None


class _UnknownTokenError(Exception):
    """A token id that a vocabulary does not have."""

    def __init__(self, at: int, name: str) -> None:
        self.at = at
        self.name = name


def _decoder(embedder: Embedder) -> Callable[[list[int]], str]:
    own = embedder.provider.tokenizer
    raw = getattr(own, "raw", None)
    if raw is not None and hasattr(raw, "id_to_token"):
        return lambda ids: _of_pieces(raw, str(getattr(own, "name", "the model")), ids)
    return _customary()


def _of_pieces(raw: Any, name: str, ids: list[int]) -> str:
    """By a ``tokenizers.Tokenizer``."""
    from tokenizers import decoders

    size = raw.get_vocab_size()
    unknown = next((at for at, token in enumerate(ids) if token >= size), None)
    if unknown is not None:
        raise _UnknownTokenError(unknown, name)
    if raw.decoder is not None:
        return str(raw.decode(ids, skip_special_tokens=True))
    pieces = [piece for piece in map(raw.id_to_token, ids) if piece not in _MARKS]
    return str(decoders.WordPiece(prefix="##", cleanup=False).decode(pieces))


@lru_cache(maxsize=1)
def _customary() -> Callable[[list[int]], str]:
    as_tokenizer(_CUSTOMARY)  # says which extra is missing
    encoding = _encoding()

    def decode(ids: list[int]) -> str:
        known: list[int] = []
        for at, token in enumerate(ids):
            if token > encoding.max_token_value:
                raise _UnknownTokenError(at, _CUSTOMARY)
            known.append(token)
        try:
            return str(encoding.decode(known))
        except KeyError:  # a gap in the vocabulary
            raise _UnknownTokenError(_gap(encoding, known), _CUSTOMARY) from None

    return decode


def _gap(encoding: Any, ids: list[int]) -> int:
    for at, token in enumerate(ids):
        try:
            encoding.decode([token])
        except KeyError:
            return at
    return 0


def _encoding() -> Any:
    from importlib import import_module

    for library in ("quicktok", "tiktoken"):
        try:
            return import_module(library).get_encoding(_CUSTOMARY)
        except (ImportError, OSError, ValueError):
            continue
    raise MissingExtra("tiktoken", "tokenizers")
