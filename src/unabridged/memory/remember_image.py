"""An image that comes with a text: kept beside it, found by what it shows, linked to whom it shows (SPEC A22, K8)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError
from unabridged.memory.values import normalise
from unabridged.memory.vectors import embed_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.records import Artifact
    from unabridged.memory.remember_run import Run
    from unabridged.memory.remember_store import Outcome

__all__ = ["remembered_image", "revision_of"]


def revision_of(text: str) -> str:
    """What a supplemental vector says it was made from: the SHA-256 of its document's text (SPEC K8)."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def remembered_image(run: Run, document: Artifact, outcomes: Sequence[Outcome]) -> str:
    """Keep the image of a request with its document; its id.

    ``image`` is bytes, a path, or ``{"data": …, "caption": …, "revision": …}``. Its vector comes from the
    embedder where that takes images, else from the caption. A revision that is not the document's is refused.
    """
    since, given = time.monotonic(), run.plan.request.image
    parts: Mapping[str, Any] = given if isinstance(given, Mapping) else {"data": given}
    data = parts.get("data")
    if not isinstance(data, bytes | str | Path):
        raise InputError("image: expected bytes, a path, or an object with data")
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    revision = revision_of(document.text)
    if parts.get("revision") not in (None, revision):
        raise InputError("image.revision: is not the document's; the vector was made from another text")
    known = run.memory.images.list(artifact=document).items
    if same := next((each for each in known if each.sha256 == hashlib.sha256(raw).hexdigest()), None):
        return same.id
    caption = parts.get("caption")
    vector, how = _vector(run, raw, caption)
    embedder = run.memory.embedder
    image = run.memory.images.add(
        raw,
        caption=caption,
        session_id=document.session_id,
        artifact=document,
        shows=_shown(caption or document.text, outcomes),
        metadata=document.metadata,
        provenance={"modality": "image", "representation": how, "role": "supplemental", "revision": revision},
        vector=vector,
        **({} if embedder is None else {"fingerprint": embedder.fingerprint("document")}),
    )
    run.step("store_image", "", unit=len(outcomes), since=since, representation=how)
    return image.id


def _vector(run: Run, raw: bytes, caption: str | None) -> tuple[Any, str]:
    embedder = run.memory.embedder
    sees = getattr(embedder, "embed_image", None)
    if sees is not None:
        return sees(raw), "direct_embedding"
    if embedder is None or not caption:
        run.note("the image has no vector: the embedder takes no images, and there is no caption")
        return None, "none"
    return embed_texts(embedder, [caption])[0], "caption_embedding"


def _shown(said: str, outcomes: Sequence[Outcome]) -> list[Any]:
    """The entities that the caption, or else the text, names."""
    words = f" {normalise(said)} "
    entities = {entity.id: entity for outcome in outcomes for entity in outcome.entities}
    named = [e for e in entities.values() if any(normalise(n) in words for n in (e.name, *e.aliases))]
    return list(named)
