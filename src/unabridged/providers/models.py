"""The model table: what is known beforehand of each embeddings model (``data/models.tsv``).

Figures in public tables are often wrong, so what a server refuses overrides them
(:mod:`.limits`). The table is read once, on first use.
"""

from __future__ import annotations

import csv
import difflib
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from unabridged.types import Limit

__all__ = ["ModelInfo", "all_models", "known_model", "nearest_model", "unknown_model"]

# What the plugin `memory-lancedb-pro` documents; a configuration in its compatibility mode follows it.
_COMPAT_TOKENS = {
    "jina-embeddings-v5-text-small": 8192,
    "text-embedding-3-small": 8192,
    "text-embedding-3-large": 8192,
    "gemini-embedding-001": 2048,
}
_PROVIDERS = {
    "azure": "azure-openai",
    "azure-openai": "azure-openai",
    "azure_openai": "azure-openai",
    "azureopenai": "azure-openai",
    "gemini": "google-gemini",
    "google": "google-gemini",
    "google-gemini": "google-gemini",
    "google_genai": "google-gemini",
    "vertex": "google-vertex",
    "vertex_ai": "google-vertex",
    "vertexai": "google-vertex",
    "google-vertex": "google-vertex",
    "nim": "nvidia-nim",
    "nvidia": "nvidia-nim",
    "nvidia_nim": "nvidia-nim",
    "nvidia-nim": "nvidia-nim",
    "aws": "bedrock",
    "amazon": "bedrock",
    "bedrock": "bedrock",
    "voyageai": "voyage",
    "jinaai": "jina",
    "jina-ai": "jina",
    "mistralai": "mistral",
    "zai": "zhipu",
    "zhipuai": "zhipu",
    "bigmodel": "zhipu",
    "ark": "volcengine",
    "doubao": "volcengine",
    "qwen": "dashscope",
    "aliyun": "dashscope",
    "tongyi": "dashscope",
    "together_ai": "together",
    "togetherai": "together",
    "fireworks_ai": "fireworks",
    "workers-ai": "cloudflare",
    "github": "github-models",
    "ibm": "watsonx",
    "cohereai": "cohere",
}
_REGION = re.compile(r"^(?:us|eu|apac|ap|global|us-gov|jp|au|ca|sa|me|af)\.(?=amazon\.|cohere\.|twelvelabs\.)")
_TAIL = re.compile(
    r"(?:[-_.:@](?:gguf|onnx|mlx|safetensors|latest|preview|default|exp|openvino|(?:i?q\d(?:_[a-z0-9]+)*)|f16|fp16"
    r"|f32|fp32|bf16|int8|int4|uint8|q8|q4|[248]bit|awq|gptq|qat|dwq|ct2|\d{1,3}|v\d:\d))+$"
)
_STUDIO = "text-embedding-"  # LM Studio's prefix for every model it serves


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the table knows of one model at one provider.

    ``limit.input_tokens`` is ``None`` for a static model, which takes texts of any length.
    ``widths`` are the Matryoshka widths as written (``256,512`` or ``32..1024``); ``query`` and
    ``document`` how the two roles are told apart (a parameter or a prefix); ``normalized`` whether
    vectors come with unit length, ``None`` if that is not known; ``source`` is ``checked`` where
    every figure was, else ``partly checked``.
    """

    model: str
    provider: str
    limit: Limit
    dimensions: int | None = None
    widths: str = ""
    normalized: bool | None = None
    query: str = ""
    document: str = ""
    note: str = ""
    source: str = "table"

    def allows(self, width: int) -> bool:
        """Whether vectors of this width can be had.

        >>> known_model("jina-embeddings-v3").allows(256), known_model("mistral-embed").allows(256)
        (True, False)
        """
        if width == self.dimensions:
            return True
        low, dots, high = self.widths.partition("..")
        if dots:
            return int(low) <= width <= int(high)
        return str(width) in self.widths.split(",")


def known_model(name: str | None, provider: str | None = None, *, compat: bool = False) -> ModelInfo | None:
    """What the table knows of a model under any usual spelling; ``None`` if nothing.

    ``models/…``, ``org/…``, ``:latest``, ``:0.6b-q8_0``, ``-GGUF``, regional prefixes and case make no
    difference. Without a provider of the table, the smallest of the model's rows is taken, field by
    field. ``compat`` follows the documentation of ``memory-lancedb-pro`` where it differs.

    >>> known_model("openai/text-embedding-3-small").limit.input_tokens
    8192
    >>> known_model("us.cohere.embed-english-v3").limit.input_chars
    2048
    >>> known_model("constructor") is None
    True
    """
    if not isinstance(name, str) or not name.strip():
        return None
    table = _by_spelling()
    found = [table[spelling] for spelling in _spellings(name) if spelling in table]
    if not found:
        return None
    info = _choose(found, provider or _provider_in(name))
    return _as_documented(info) if compat else info


def all_models() -> tuple[ModelInfo, ...]:
    """Every row of the table, in its order."""
    return tuple(info for info, _ in _rows())


def nearest_model(name: str) -> str | None:
    """The known name most like this one, if one is.

    >>> nearest_model("text-embeding-3-smal")
    'text-embedding-3-small'
    """
    spelled = {spelling: info.model for info, _ in _rows() for spelling in _spellings(info.model)}
    near = difflib.get_close_matches(_fold(str(name))[:120], list(spelled), n=1, cutoff=0.75)
    return spelled[near[0]] if near else None


def unknown_model(name: object, limit: Limit) -> str:
    """One line for a model that is not in the table: what holds, and what may have been meant (case 8).

    >>> unknown_model("x1", Limit(input_tokens=8192))
    "the model 'x1' is not in the table: 8192 tokens a text are assumed until the server says otherwise"
    """
    near = nearest_model(name) if isinstance(name, str) else None
    shown = repr(str(name)[:80]) if str(name).strip() else "without a name"
    meant = f"; did you mean {near!r}?" if near else ""
    return (
        f"the model {shown} is not in the table: {limit.input_tokens} tokens a text are assumed "
        f"until the server says otherwise{meant}"
    )


@cache
def _rows() -> tuple[tuple[ModelInfo, tuple[str, ...]], ...]:
    text = (files("unabridged") / "data" / "models.tsv").read_text(encoding="utf-8")
    reader = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return tuple((_info(row), tuple(filter(None, row["aliases"].split("|")))) for row in reader)


def _info(row: dict[str, str]) -> ModelInfo:
    limit = Limit(
        input_tokens=None if row["input_tokens"] == "inf" else _number(row["input_tokens"]),
        input_chars=_number(row["input_chars"]),
        request_inputs=_number(row["request_inputs"]),
        request_tokens=_number(row["request_tokens"]),
    )
    return ModelInfo(
        row["model"],
        row["provider"],
        limit,
        _number(row["dimensions"]),
        row["widths"],
        {"yes": True, "no": False}.get(row["normalized"]),
        row["query"],
        row["document"],
        row["note"],
        "checked" if row["checked"] == "yes" else "partly checked",
    )


def _number(cell: str) -> int | None:
    return int(cell) if cell else None


@cache
def _by_spelling() -> dict[str, tuple[ModelInfo, ...]]:
    table: dict[str, list[ModelInfo]] = {}
    for info, aliases in _rows():
        for spelling in {*_spellings(info.model), *map(_fold, aliases)}:
            table.setdefault(spelling, []).append(info)
    return {spelling: tuple(infos) for spelling, infos in table.items()}


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip().replace("_", "-").replace(" ", "-")


def _spellings(name: str) -> list[str]:
    """Names under which a model may be listed, the most telling first."""
    full = _REGION.sub("", unicodedata.normalize("NFKC", name[:300]).casefold().strip().rsplit("::", 1)[-1])
    last = _REGION.sub("", full.rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf"))
    found: list[str] = []
    for form in (full, last):
        base, colon, tag = form.partition(":")
        bare_tag = _TAIL.sub("", f":{tag}").lstrip(":") if colon else ""
        joined = f"{base}-{bare_tag}" if bare_tag else base
        found += [form, joined, _TAIL.sub("", joined), _TAIL.sub("", base)]
    found.append(_TAIL.sub("", full.replace("/", "-")))
    found += [form.removeprefix(_STUDIO) for form in found if form.startswith(_STUDIO)]
    return list(dict.fromkeys(_fold(form) for form in found if form))


def _provider_in(name: str) -> str | None:
    """``azure/text-embedding-3-large`` names its provider, and a tag as in ``bge-m3:567m`` is Ollama's."""
    head, slash, _ = name.casefold().strip().partition("/")
    if slash and (head in _PROVIDERS or any(head == info.provider for info, _ in _rows())):
        return head
    return "ollama" if ":" in name and "::" not in name else None


def _choose(found: list[tuple[ModelInfo, ...]], provider: str | None) -> ModelInfo:
    """The provider's own row under the most telling spelling; else the smallest under that spelling."""
    wanted = (provider or "").casefold().strip()
    wanted = _PROVIDERS.get(wanted, wanted)
    own = next((info for rows in found for info in rows if info.provider == wanted), None)
    if own is not None:
        return own
    rows = found[0]
    smallest = min(rows, key=lambda info: info.limit.input_tokens or float("inf"))
    limit = smallest.limit
    for info in rows:
        limit = limit.tighten(info.limit)
    return replace(smallest, limit=limit)


def _as_documented(info: ModelInfo) -> ModelInfo:
    tokens = _COMPAT_TOKENS.get(info.model)
    if tokens is None or tokens == info.limit.input_tokens:
        return info
    return replace(
        info,
        limit=replace(info.limit, input_tokens=tokens),
        source="memory-lancedb-pro",
        note="compat: as documented there",
    )
