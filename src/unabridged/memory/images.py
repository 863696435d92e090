"""Images: a row in the commit, and a file named by the SHA-256 of its bytes.

The file is written first, so a row never names a file that is not there; a file that no row names (its
commit failed, its row was deleted) is swept. Local places keep files beside the tables, ``memory://``
keeps them in this process, object stores beside the tables as well.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unabridged.errors import InputError, NotFound, StoreError
from unabridged.memory import snapshots
from unabridged.memory.catalog import files_of
from unabridged.memory.gather import Gathered, identity
from unabridged.memory.objects import Objects
from unabridged.memory.paging import Page, metadata_where, optional, page
from unabridged.memory.records import Image
from unabridged.memory.settle import settle
from unabridged.memory.trouble import told
from unabridged.memory.values import checked_metadata, checked_name, new_id
from unabridged.memory.vectors import GIVEN, admit
from unabridged.memory.where import among, batched, both, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from unabridged.memory.catalog import Catalog, DatasetInfo
    from unabridged.memory.commits import Draft, Source, Store

__all__ = ["Files", "FolderFiles", "HereFiles", "Images", "ObjectFiles", "files_in", "media_type"]

_GONE = "the image's file is gone from the dataset's files"
MAX_IMAGE_BYTES = 32 << 20  # 32 MiB: above the 20 MB that providers take for one image

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


def media_type(raw: bytes) -> str:
    """What an image is, by its first bytes.

    >>> media_type(b"GIF89a...")
    'image/gif'
    """
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    if raw[4:12] in {b"ftypavif", b"ftypheic"}:
        return f"image/{raw[8:12].decode()}"
    if b"<svg" in raw[:1024]:
        return "image/svg+xml"
    for signature, kind in _SIGNATURES:
        if raw.startswith(signature):
            return kind
    raise InputError("image: not a PNG, JPEG, GIF, WebP, AVIF, HEIC, BMP, TIFF or SVG file")


class Files(Protocol):
    """Where the bytes are kept, by their SHA-256."""

    def write(self, key: str, raw: bytes) -> None:
        """Keep them; whole or not at all."""
        ...

    def read(self, key: str) -> bytes:
        """Give them back; :class:`~unabridged.errors.NotFound` if they are gone."""
        ...

    def has(self, key: str) -> bool:
        """Whether they are kept."""
        ...

    def remove(self, key: str) -> None:
        """Forget them."""
        ...

    def names(self) -> list[str]:
        """What is kept."""
        ...


class FolderFiles:
    """Files in a folder, two hexadecimal digits a sub-folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, key: str) -> Path:
        return self._folder / _path(key)

    @told("writing a file")
    def write(self, key: str, raw: bytes) -> None:
        """Write beside, then rename: a reader sees all of it or nothing."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{key}.{new_id()}.new")
        try:
            beside.write_bytes(raw)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)  # of a disk that is full

    def read(self, key: str) -> bytes:
        """Its bytes."""
        try:
            return self._path(key).read_bytes()
        except FileNotFoundError:
            raise NotFound(_GONE) from None

    def has(self, key: str) -> bool:
        """Whether the file is there."""
        return self._path(key).exists()

    def remove(self, key: str) -> None:
        """Remove the file."""
        self._path(key).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """The names of all files, unfinished ones too."""
        return [name for _, _, names in os.walk(self._folder) for name in names]


class HereFiles:
    """Files inside this process, for ``memory://``."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def write(self, key: str, raw: bytes) -> None:
        """Keep them."""
        self._kept[key] = raw

    def read(self, key: str) -> bytes:
        """Give them back."""
        try:
            return self._kept[key]
        except KeyError:
            raise NotFound(_GONE) from None

    def has(self, key: str) -> bool:
        """Whether they are kept."""
        return key in self._kept

    def remove(self, key: str) -> None:
        """Forget them."""
        self._kept.pop(key, None)

    def names(self) -> list[str]:
        """What is kept."""
        return list(self._kept)


class ObjectFiles:
    """Files in an object store, where the tables are."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def write(self, key: str, raw: bytes) -> None:
        """One object: whole or not at all."""
        self._objects.write(_path(key), raw)

    def read(self, key: str) -> bytes:
        """Its bytes."""
        try:
            return self._objects.read(_path(key))
        except NotFound:
            raise NotFound(_GONE) from None

    def has(self, key: str) -> bool:
        """Whether the object is there."""
        return self._objects.has(_path(key))

    def remove(self, key: str) -> None:
        """Remove the object."""
        self._objects.remove(_path(key))

    def names(self) -> list[str]:
        """The names of all objects."""
        return [path.rpartition("/")[2] for path in self._objects.paths()]


def _path(key: str) -> str:
    return f"{key[:2]}/{key}"


def files_in(catalog: Catalog, info: DatasetInfo) -> Files:
    """Where a dataset's files are kept."""
    folder = catalog.files(info)
    if folder is not None:
        return FolderFiles(folder)
    if catalog.lake.uri.startswith("memory://"):
        return HereFiles()
    return ObjectFiles(Objects(catalog.lake, files_of(catalog.lake, info.id)))


class Images:
    """The images of a memory."""

    def __init__(self, store: Store, source: Source, files: Files) -> None:
        self._store = store
        self._source = source
        self.files = files

    def add(
        self,
        image: bytes | str | Path,
        *,
        caption: str | None = None,
        session_id: str | None = None,
        artifact: Any = None,
        shows: Iterable[Any] = (),
        metadata: Mapping[str, Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
        vector: Any = None,
        fingerprint: str = GIVEN,
    ) -> Image:
        """Keep an image; ``artifact`` is the text it belongs to and goes with, ``shows`` entities on it.

        ``vector`` is a supplemental vector in the space of the dataset's texts (SPEC K8).
        """
        raw = image if isinstance(image, bytes) else Path(image).read_bytes()
        if len(raw) > MAX_IMAGE_BYTES:
            raise InputError(f"image: {len(raw):,} bytes, over the limit of {MAX_IMAGE_BYTES:,} bytes")
        kind, key = media_type(raw), hashlib.sha256(raw).hexdigest()
        gathered = Gathered(0)
        record = Image(
            id=new_id(),
            sha256=key,
            media_type=kind,
            size=len(raw),
            created_at=gathered.created_at,
            caption=caption,
            session_id=session_id,
            artifact_id=None if artifact is None else identity(artifact),
            metadata=checked_metadata(metadata),
            provenance=checked_metadata(provenance, "provenance"),
        )
        gathered.images[record.id] = record
        gathered.keep_vector(record.id, vector)
        if session_id is not None:
            gathered.session(checked_name(session_id, "session_id"))
        gathered.shown.update({(identity(entity), record.id): None for entity in shows})
        self.files.write(key, raw)

        def work(draft: Draft) -> Image:
            if not self.files.has(key):  # a sweep took it before a row named it
                self.files.write(key, raw)
            admit(draft, gathered, fingerprint)
            settle(draft, gathered)
            return gathered.images[record.id]

        return self._store.commit(work)

    def get(self, image_id: str) -> Image:
        """One image by id; :class:`~unabridged.errors.NotFound` if it is not there."""
        found = self._source.ask(lambda view: view.records("images", equals("id", image_id)))
        if not found:
            raise NotFound("no image of that id is in the dataset")
        image: Image = found[0]
        return image

    def read(self, image: Image | str) -> bytes:
        """The bytes of an image, checked against their digest."""
        record = image if isinstance(image, Image) else self.get(image)
        raw = self.files.read(record.sha256)
        if hashlib.sha256(raw).hexdigest() != record.sha256:
            raise StoreError("the image's file is not what was stored: its SHA-256 differs")
        return raw

    def delete(self, ids: Iterable[Image | str]) -> int:
        """Remove images; their files are swept when no other image has the same bytes. How many went."""
        wanted = list(dict.fromkeys(map(identity, ids)))

        def work(draft: Draft) -> int:
            gone = 0
            for part in batched(wanted):
                gone += draft.view["images"].count(among("id", part))
                draft.delete("images", among("id", part))
                draft.delete("links", both(equals("type", "entity_image"), among("to_id", part)) or "false")
            return gone

        gone = self._store.commit(work)
        self.sweep()
        return gone

    def sweep(self) -> int:
        """Remove the files that no image names; how many. Held off while somebody writes."""

        def turn(writing: Any) -> int:
            states = [writing.view, *(snapshots.view_of(self._store, each) for each in snapshots.listed(self._store))]
            named = {key for view in states for key in view.rows("images", None, ["sha256"])["sha256"].to_pylist()}
            orphans = [key for key in self.files.names() if key not in named]
            for key in orphans:
                self.files.remove(key)
            return len(orphans)

        return self._store.turn(turn)

    def list(
        self,
        *,
        session_id: str | None = None,
        artifact: Any = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Image]:
        """A page of images, in the order in which they came."""
        of = optional(session_id=session_id, artifact_id=None if artifact is None else identity(artifact))
        where = both(*of, metadata_where(metadata))
        return self._source.ask(
            lambda view: page(view, "images", where, limit=limit, cursor=cursor, newest_first=newest_first)
        )
