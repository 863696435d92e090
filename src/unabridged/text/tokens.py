"""Token counting: the estimator, characters, bytes, and adapters for exact tokenizers.

>>> as_tokenizer(None).count("Hello, world")
5
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, MissingExtra
from unabridged.text.estimate import CJK_COSTS, Estimate
from unabridged.text.exact import BytePairs, Counted, Pieces
from unabridged.text.measure import Characters, Costs, Measure, Utf8Bytes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Characters", "Costs", "Estimate", "Measure", "Utf8Bytes", "as_tokenizer"]

_PLAIN: dict[str, Callable[[], Measure]] = {
    "": Estimate,
    "estimate": Estimate,
    "characters": Characters,
    "chars": Characters,
    "bytes": Utf8Bytes,
}
# The estimator with the cost of a CJK character in a vocabulary: "estimate/cl100k".
_CALIBRATED = "estimate/"


def as_tokenizer(spec: str | object | None = None) -> Measure:
    """Make a tokenizer from a name, a tokenizer of another library, or any object with ``count(text)``.

    Names are ``estimate`` (also ``None``; ``estimate/cl100k`` and the like, calibrated for CJK text in
    the vocabularies of :data:`~unabridged.text.estimate.CJK_COSTS`), ``characters``, ``bytes``, an encoding's
    (``cl100k_base``, ``o200k_base``, …) or the path of a ``tokenizer.json``.

    Raises:
        ConfigError: The name is not known, or the object cannot count.
        MissingExtra: The library that has this encoding is not installed.
    """
    if spec is None:
        return Estimate()
    if isinstance(spec, str):
        return _by_name(spec)
    if isinstance(spec, Measure):
        return spec
    return _wrapped(spec)


def _by_name(name: str) -> Measure:
    if name in _PLAIN:
        return _PLAIN[name]()
    if name.startswith(_CALIBRATED) and name.removeprefix(_CALIBRATED) in CJK_COSTS:
        return Estimate(cjk=CJK_COSTS[name.removeprefix(_CALIBRATED)])
    if name.endswith(".json"):
        if not Path(name).is_file():
            raise ConfigError("tokenizer", f"there is no file {name}")
        tokenizers = _imported("tokenizers")
        return Pieces.of(tokenizers.Tokenizer.from_file(name), Path(name).stem)
    for library in ("quicktok", "tiktoken"):
        try:
            return BytePairs.of(import_module(library).get_encoding(name))
        except (ImportError, KeyError, ValueError, RuntimeError):
            continue
    raise ConfigError("tokenizer", f"{name!r} is not known; known are {', '.join(filter(None, _PLAIN))}, …")


def _imported(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise MissingExtra(library, "tokenizers") from None


def _wrapped(thing: Any) -> Measure:
    if hasattr(thing, "decode_single_token_bytes"):
        return BytePairs.of(thing)
    if hasattr(thing, "no_truncation") and hasattr(thing, "encode"):
        return Pieces.of(thing)
    if hasattr(thing, "count"):
        return Counted(thing, getattr(thing, "name", type(thing).__name__))
    raise ConfigError("tokenizer", f"found a {type(thing).__name__}, expected a name or an object with count(text)")
