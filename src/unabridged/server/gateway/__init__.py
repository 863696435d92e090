"""The gateway: embeddings for text of any length, in the shapes that clients already speak."""

from __future__ import annotations

from fastapi import APIRouter

from unabridged.server.gateway import cohere, ollama, openai, tei

__all__ = ["router"]

router = APIRouter()
for _shape in (openai, cohere, ollama, tei):
    router.include_router(_shape.router)
