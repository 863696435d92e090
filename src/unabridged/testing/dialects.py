"""Every dialect that the loopback provider speaks, by name."""

from __future__ import annotations

from unabridged.testing.dialect import Dialect
from unabridged.testing.openai_shaped import Azure, Jina, LlamaCpp, Mistral, Nim, SiliconFlow, Vllm, Voyage
from unabridged.testing.own_shapes import Bedrock, Cohere, Gemini, HuggingFace, Ollama, Tei, Vertex, Watsonx

__all__ = ["DIALECTS"]

DIALECTS: dict[str, Dialect] = {
    "azure": Azure(),
    "bedrock": Bedrock(),
    "cohere": Cohere(),
    "gemini": Gemini(),
    "huggingface": HuggingFace(),
    "jina": Jina(),
    "llamacpp": LlamaCpp(),
    "mistral": Mistral(),
    "nim": Nim(),
    "ollama": Ollama(),
    "openai": Dialect(),
    "siliconflow": SiliconFlow(),
    "tei": Tei(),
    "vertex": Vertex(),
    "vllm": Vllm(),
    "voyage": Voyage(),
    "watsonx": Watsonx(),
}
