"""The gateway: embeddings for text of any length, in the shapes that clients already speak."""

from __future__ import annotations

from fastapi import APIRouter

from unabridged.server.auth import needs
from unabridged.server.gateway import cohere, ollama, openai, tei

__all__ = ["direct", "router"]

router = APIRouter(dependencies=[needs("embed")])
for _shape in (openai, cohere, ollama, tei):
    router.include_router(_shape.router)

# Paths that are asked for most: the frame calls these without looking for a route.
direct = {
    ("POST", "/v1/embeddings"): openai.embeddings,
    ("POST", "/v2/embed"): cohere.embed_v2,
    ("POST", "/api/embed"): ollama.embed_,
    ("POST", "/embed"): tei.embed_,
}
