"""Embeddings for text of any length, and a memory that keeps its sources."""
