"""The gateway: embeddings for text of any length, in the shapes that clients already speak."""

from __future__ import annotations

from fastapi import APIRouter

__all__ = ["router"]

router = APIRouter()
