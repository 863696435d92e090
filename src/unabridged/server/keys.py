"""Keys: what a caller shows, and what is kept of it, which is a hash.

A key is ``unb_<id>_<secret>`` with 256 random bits in it, so SHA-256 is hash enough: there is nothing to
guess, and a check costs microseconds, at each request. The file is the user's alone (mode 0600), is
replaced whole, and is read again when it has changed, so that a revoked key stops working at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

__all__ = ["LEAST", "SCOPES", "Key", "KeyFile", "KeyRing", "hashed"]

SCOPES = ("embed", "read", "write", "admin")
LEAST = ("embed",)  # of a key made without saying what for: it reads nothing of the memory, and changes nothing
_PREFIX = "unb"
_DOMAIN = b"unabridged key 1\0"
_VERSION = 1
_LOOK_AGAIN = 1.0  # seconds between two looks at the file


@dataclass(frozen=True, slots=True)
class Key:
    """One key, as it is kept: no secret in it.

    ``datasets`` are names; ``*`` stands for any. Limits that are ``None`` are the server's own.
    """

    id: str
    name: str
    hash: str = field(repr=False)
    scopes: tuple[str, ...] = SCOPES
    datasets: tuple[str, ...] = ("*",)
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_month: int | None = None
    created_at: str = ""
    expires_at: str | None = None
    revoked_at: str | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or datetime.fromisoformat(self.expires_at) > now)


def hashed(key: str) -> str:
    """What is kept of a key.

    >>> len(hashed("unb_id_secret"))
    64
    """
    return hashlib.sha256(_DOMAIN + key.encode("utf-8", "surrogatepass")).hexdigest()


class KeyFile:
    """The file of keys: read, added to, changed; safe for several programs at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read(self) -> tuple[Key, ...]:
        """All keys, those revoked too; none where there is no file.

        Raises :class:`~unabridged.errors.ConfigError` for a file that is not one of keys.
        """
        try:
            data = json.loads(self.path.read_bytes())
            rows = data["keys"]
            return tuple(_key(row) for row in rows)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigError("server.keysFile", f"{self.path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise ConfigError("server.keysFile", f"{self.path} is not a file of keys") from None

    def add(self, name: str, *, replace: bool = False, **given: Any) -> tuple[Key, str]:
        """Make a key: what is kept of it, and the key itself, which is shown once and never again.

        ``given`` are fields of :class:`Key`; without ``scopes`` it may embed, and nothing else. Raises
        :class:`~unabridged.errors.ConfigError` where a key of that name opens already; ``replace`` revokes it.
        """
        given = {"scopes": LEAST} | {name: value for name, value in given.items() if value is not None}
        for scope in given["scopes"]:
            if scope not in SCOPES:
                raise ConfigError("scopes", f"found {scope!r}, expected some of {', '.join(SCOPES)}")
        made = secrets.token_hex(4)
        shown = f"{_PREFIX}_{made}_{secrets.token_urlsafe(32)}"
        key = Key(made, name, hashed(shown), created_at=_now().isoformat(timespec="seconds"), **given)
        with self._locked():
            keys = self.read()
            known = [each for each in keys if each.name == name and each.is_valid(_now())]
            if known and not replace:
                raise ConfigError("NAME", f"{name!r} names a key already ({known[0].id}); --replace revokes that one")
            self._write([*(_revoked(each) if each in known else each for each in keys), key])
        return key, shown

    def revoke(self, which: str) -> Key:
        """Revoke a key by its id, or by its name where only one has it."""
        with self._locked():
            keys = self.read()
            found = [key for key in keys if key.id == which] or [
                key for key in keys if key.name == which and key.revoked_at is None
            ]
            if len(found) != 1:
                told = "no key has" if not found else f"{len(found)} keys have"
                raise ConfigError("key", f"{told} the id or name {which!r}; `unabridged serve keys list` shows them")
            revoked = _revoked(found[0])
            self._write(revoked if key is found[0] else key for key in keys)
        return revoked

    def _write(self, keys: Iterable[Key]) -> None:
        text = json.dumps({"version": _VERSION, "keys": [asdict(key) for key in keys]}, indent=2) + "\n"
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".keys-")  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            Path(name).replace(self.path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise

    def _locked(self) -> AbstractContextManager[None]:
        from unabridged.memory.lock import FileLock, held

        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return held(FileLock(self.path.with_name(f".{self.path.name}.lock")))


class KeyRing:
    """The keys that open this server: those of the file, as it is now, and those of the configuration."""

    def __init__(self, file: KeyFile, given: Iterable[str] = ()) -> None:
        self._file = file
        self._fixed = {
            f"config-{at}": Key(f"config-{at}", f"configuration {at}", hashed(key)) for at, key in enumerate(given)
        }
        self._stamp: object = None
        self._looked = -_LOOK_AGAIN
        self._known: dict[str, Key] = {}
        self._read()

    def __bool__(self) -> bool:
        """Whether there is any key that opens."""
        self._read()
        now = _now()
        return bool(self._fixed) or any(key.is_valid(now) for key in self._known.values())

    def find(self, shown: str) -> Key | None:
        """The key that a caller showed, if it is one that opens; in a time that does not tell how near it came."""
        self._read()
        found = hashed(shown)
        marked = shown.split("_", 2)
        named = self._known.get(marked[1]) if len(marked) == 3 and marked[0] == _PREFIX else None
        match = None
        for key in (*self._fixed.values(), named or _NOBODY):
            if hmac.compare_digest(key.hash, found):
                match = key
        return match if match is not None and match.is_valid(_now()) else None

    def _read(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        try:
            about = self._file.path.stat()
            stamp: object = (about.st_mtime_ns, about.st_size, about.st_ino)
        except OSError:
            stamp = None
        if stamp != self._stamp:
            self._stamp = stamp
            self._known = {}  # a file that cannot be read opens to nobody
            self._known = {key.id: key for key in self._file.read()}


_NOBODY = Key("", "", "0" * 64)


def _key(row: dict[str, Any]) -> Key:
    return Key(**{**row, "scopes": tuple(row["scopes"]), "datasets": tuple(row["datasets"])})


def _revoked(key: Key) -> Key:
    return changed(key, revoked_at=key.revoked_at or _now().isoformat(timespec="seconds"))


def _now() -> datetime:
    return datetime.now(UTC)
