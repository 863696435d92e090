"""Where our settings stand in a file: alone, under a host's plugin entry, or in a manifest's extension."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal

from unabridged.config.jsonc import Document, parse, spell
from unabridged.config.names import nearest
from unabridged.config.predecessor import is_theirs
from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from unabridged.config.jsonc import Path

__all__ = ["EXTENSION", "IDS", "PREDECESSOR", "Block", "read"]

PREDECESSOR = "memory-lancedb-pro"
IDS = ("unabridged", PREDECESSOR)
EXTENSION = "io.github.unabridged"
_MANIFEST_SCHEMA = "https://agent-plugins.org/"
# Agent Plugins 1.0.0: the manifest is closed.
_MANIFEST_KEYS = (
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "extensions",
)
_MANIFEST_FILE = "plugin.json"

Source = str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """Our settings as written, the file they stand in and where, and the plugin's id."""

    settings: Mapping[str, Any]
    document: Document
    prefix: Path
    plugin: str
    shape: Literal["settings", "host", "manifest"]

    def origin(self, path: Path) -> str | None:
        """Where a key of ours is set, or ``None`` if it is not."""
        value: Any = self.settings
        for step in path:
            if not isinstance(value, Mapping) or step not in value:
                return None
            value = value[step]
        return self.document.place((*self.prefix, *path)) or "given"

    def error(self, path: Path, problem: str) -> ConfigError:
        """An error at a key of ours, with its place in the file."""
        place = self.document.place((*self.prefix, *path))
        return ConfigError(spell(path), f"{problem} ({place})" if place else problem)

    def located(self, error: ConfigError) -> ConfigError:
        """An error at a key that is spelled already, with its place in the file: the nearest key that stands there."""
        start = len(self.prefix)
        named = {spell(path[start:]): path for path in self.document.lines if path[:start] == self.prefix}
        known = [key for key in named if key and re.match(rf"{re.escape(key)}($|[.\[])", error.path)]
        place = self.document.place(named[max(known, key=len)]) if known else self.document.name
        if not place or place in error.problem:
            return error
        return ConfigError(error.path, f"{error.problem} ({place})", advice=error.advice)


def read(source: Source) -> Block:
    """Find our settings in a file, a folder with a ``plugin.json``, JSON text, or a mapping.

    Raises :class:`~unabridged.errors.ConfigError` for a file that cannot be read, has none of our
    settings, or has them switched off.
    """
    document = _document(source)
    if not isinstance(document.value, Mapping):
        raise ConfigError(document.name, f"found {described(document.value)}, expected an object")
    block = _find(document, document.value)
    if block.settings.get("enabled", True) is False:
        raise _switched_off(document, (*block.prefix, "enabled"))
    return block


def described(value: Any) -> str:
    """A value as errors name it: its kind, and itself where it is short. Never a list's or object's content.

    >>> described("768"), described(True), described([]), described(None)
    ("'768' (a string)", 'true', 'a list', 'null')
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return f"{value!r} (a string)" if len(value) <= 40 else f"a string of {len(value)} characters"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else f"a Python {type(value).__name__}"


def _document(source: Source) -> Document:
    if isinstance(source, Mapping):
        return Document("", source, {})
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith(("{", "//", "/*")):
        return parse(source.removeprefix("\ufeff"), "the text")
    if source == "":
        raise ConfigError("configuration", "found an empty name, expected a plugin JSON or a folder with one")
    path = FilePath(source)
    try:
        if path.is_dir():
            path /= _MANIFEST_FILE
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        shown = str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}…"
        raise ConfigError(shown, f"{reason}; expected a plugin JSON, or a folder with a plugin.json") from None
    return parse(_decoded(data, path), path.name)


def _decoded(data: bytes, path: FilePath) -> str:
    try:
        return data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"not UTF-8 at byte {error.start}") from None


def _find(document: Document, value: Mapping[str, Any]) -> Block:
    if "plugins" in value:
        return _in_host(document, value)
    schema = value.get("$schema")
    if "extensions" in value or (isinstance(schema, str) and schema.startswith(_MANIFEST_SCHEMA)):
        return _in_manifest(document, value)
    return Block(value, document, (), PREDECESSOR if is_theirs(value) else IDS[0], "settings")


def _in_host(document: Document, value: Mapping[str, Any]) -> Block:
    plugins = _object(document, value, ("plugins",))
    entries = _object(document, plugins, ("plugins", "entries"))
    present = [name for name in IDS if name in entries]
    if not present:
        found = ", ".join(map(repr, entries)) or "none"
        raise ConfigError("plugins.entries", f"found {found}, expected {IDS[0]!r} or {IDS[1]!r}")
    for name in present:
        path: Path = ("plugins", "entries", name)
        entry = _object(document, entries, path)
        _refuse_strays(document, entry, path)
        if entry.get("enabled", True):
            settings = _object(document, entry, (*path, "config")) if "config" in entry else {}
            return Block(settings, document, (*path, "config"), name, "host")
    raise _switched_off(document, ("plugins", "entries", present[0], "enabled"))


def _refuse_strays(document: Document, entry: Mapping[str, Any], path: Path) -> None:
    """An entry belongs to the host; but what looks like ours and would be passed over is a mistake."""
    enabled = entry.get("enabled", True)
    if not isinstance(enabled, bool):
        raise _misplaced(document, (*path, "enabled"), f"found {described(enabled)}, expected true or false")
    for key in entry:
        if key in ("embedding", "dbPath", "retrieval"):
            raise _misplaced(document, (*path, key), f"belongs under {spell((*path, 'config'))}")
        near = nearest(key, ("enabled", "config"))
        if near is not None and near != key:
            raise _misplaced(document, (*path, key), f"unknown key, did you mean {near}?")


def _in_manifest(document: Document, value: Mapping[str, Any]) -> Block:
    for key in value:
        if key not in _MANIFEST_KEYS:
            near = nearest(key, _MANIFEST_KEYS)
            hint = f"did you mean {near}?" if near else f"ours live under {spell(('extensions', EXTENSION))}"
            raise _misplaced(document, (key,), f"not a key of an Agent Plugins manifest; {hint}")
    extensions = _object(document, value, ("extensions",))
    if EXTENSION not in extensions:
        near = nearest(EXTENSION, tuple(extensions))
        raise _misplaced(
            document,
            ("extensions",),
            f"no settings for {EXTENSION} here" + (f", did {near!r} mean it?" if near else ""),
        )
    path: Path = ("extensions", EXTENSION)
    return Block(_object(document, extensions, path), document, path, IDS[0], "manifest")


def _object(document: Document, holder: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The object at the last step of ``path``, which ``holder`` has."""
    key = path[-1]
    if key not in holder:
        raise _misplaced(document, path, "missing; expected an object")
    value = holder[key]  # type: ignore[index]
    if not isinstance(value, Mapping):
        raise _misplaced(document, path, f"found {described(value)}, expected an object")
    return value


def _misplaced(document: Document, path: Path, problem: str) -> ConfigError:
    place = document.place(path)
    return ConfigError(spell(path), f"{problem} ({place})" if place else problem)


def _switched_off(document: Document, path: Path) -> ConfigError:
    return _misplaced(document, path, "false: the plugin is switched off here; set it to true to use it")
