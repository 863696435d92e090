"""An image that comes with a text: kept beside it, found by what it shows, linked to whom it shows (SPEC A22, K8)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError, UnreadableFile
from unabridged.memory.images import MAX_IMAGE_BYTES, media_type
from unabridged.memory.values import normalise
from unabridged.memory.vectors import embed_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.run import Run
    from unabridged.memory.remember.store import Outcome

__all__ = ["Picture", "remembered_image"]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as a request brings it, checked: its bytes, and what it shows in words."""

    raw: bytes = field(repr=False)
    caption: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, given: Any, text: str) -> Picture:
        """From bytes, a path, or ``{"data": …, "caption": …, "revision": …}``.

        A ``revision`` (the SHA-256 of the text that the image was made from) must be the text's (SPEC K8).
        """
        parts: Mapping[str, Any] = given if isinstance(given, Mapping) else {"data": given}
        for name in parts:
            if name not in {"data", "caption", "revision"}:
                raise InputError(f"image.{name}: is not known; there are data, caption, revision")
        data, caption = parts.get("data"), parts.get("caption")
        if not isinstance(data, bytes | str | Path):
            raise InputError("image: expected bytes, a path, or an object with data")
        if caption is not None and (not isinstance(caption, str) or not caption.strip()):
            raise InputError("image.caption: expected words, or nothing")
        if parts.get("revision") not in (None, revision_of(text)):
            raise InputError("image.revision: is not the document's; the image was made from another text")
        try:
            raw = data if isinstance(data, bytes) else Path(data).read_bytes()
        except OSError as error:
            raise UnreadableFile(data, error.strerror or type(error).__name__) from None
        if len(raw) > MAX_IMAGE_BYTES:
            raise InputError(f"image: {len(raw):,} bytes, over the limit of {MAX_IMAGE_BYTES:,} bytes")
        media_type(raw)
        return cls(raw, caption)

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes."""
        return hashlib.sha256(self.raw).hexdigest()


def revision_of(text: str) -> str:
    """What a supplemental vector says it was made from: the SHA-256 of its document's text (SPEC K8)."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def remembered_image(run: Run, picture: Picture, document: Artifact, outcomes: Sequence[Outcome]) -> str:
    """Keep the image of a request with its document; its id.

    Its vector comes from the embedder where that takes images (``embed_image``), else from the caption.
    """
    since = time.monotonic()
    known = run.memory.images.list(artifact=document).items
    if same := next((each for each in known if each.sha256 == picture.digest), None):
        return same.id
    caption, revision = picture.caption, revision_of(document.text)
    vector, how = _vector(run, picture.raw, caption)
    embedder = run.memory.embedder
    image = run.memory.images.add(
        picture.raw,
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
