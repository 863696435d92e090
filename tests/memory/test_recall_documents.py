"""Whole documents by their own vector and their nearest chunk's, together (SPEC L16)."""

import numpy as np
import pytest

from unabridged.memory import Memory
from unabridged.memory.recall.score import blended
from unabridged.types import Chunk


def unit(*parts):
    vector = np.array(parts, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def document(tx, name, *vectors):
    """A document of as many chunks as vectors; its own vector is their mean."""
    texts = [f"{name} part {number}" for number in range(len(vectors))]
    made = tx.artifact("\n".join(texts), source=name, vector=unit(*np.mean(vectors, axis=0)))
    at = 0
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        tx.chunk(made, Chunk(number, at, at + len(text), at, at + len(text), text, 3), vector=vector)
        at += len(text) + 1


def test_L16_a_document_is_found_by_its_nearest_chunk_and_by_all_of_it():
    query = unit(1, 0, 0)
    near, far = unit(0.9, 0.4359, 0), unit(0, 0, 1)
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            document(tx, "one near chunk", near, far, far)
            document(tx, "as near, and all of it", near, near, near)
            document(tx, "all of it a little", *[unit(0.6, 0.8, 0)] * 3)
        hits = memory.recall("anything", vector=query, lanes="vector", kinds="document", threshold=0.0)
        assert [hit.evidence[0].source for hit in hits][0] == "as near, and all of it"  # noqa: RUF015 - reads as it is
        assert {hit.evidence[0].source for hit in hits[:2]} == {"as near, and all of it", "one near chunk"}


@pytest.mark.parametrize(("kinds", "most"), [("document", 12), (None, 5)])
def test_as_many_documents_as_are_asked_for_where_nothing_else_is(kinds, most):
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            for number in range(15):
                document(tx, f"d{number}", *[unit(1, number / 30, 0)] * 2)
        hits = memory.recall("part", vector=unit(1, 0, 0), kinds=kinds, limit=12 if kinds else 40, threshold=0.0)
        assert sum(hit.kind == "document" for hit in hits) >= most


def test_a_cosine_is_blended_where_both_are_known():
    assert blended(0.2, 0.6) == pytest.approx(0.5)
    assert (blended(None, 0.6), blended(0.2, None), blended(None, None)) == (0.6, 0.2, None)
