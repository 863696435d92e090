"""The server's settings: the section ``server`` of a configuration, or options of the same names in Python."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from unabridged.config.model import ServerSection

if TYPE_CHECKING:
    from typing import Self

    from unabridged.config import Config

__all__ = ["ServerSettings", "data_folder", "is_loopback"]

# The last is what Starlette's TestClient calls itself: no name that a page elsewhere could be under.
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]", "testserver")


class ServerSettings(ServerSection):
    """What a server works with: the keys of ``server`` in a configuration, in snake_case.

    >>> ServerSettings(port=9000, cors_origins=["https://app.example"]).port
    9000
    """

    model_config = ConfigDict(populate_by_name=True)

    @classmethod
    def of(cls, config: Config, **given: Any) -> Self:
        """Those of a configuration; what is ``given`` and not ``None`` wins."""
        section = config.settings.server
        written = {name: getattr(section, name) for name in section.model_fields_set}
        return cls(**written | {name: value for name, value in given.items() if value is not None})

    @property
    def keys_path(self) -> Path:
        """The file of hashed keys."""
        return Path(self.keys_file).expanduser() if self.keys_file else data_folder() / "keys.json"

    @property
    def is_exposed(self) -> bool:
        """Whether others than programs of this machine are meant to reach it."""
        return not is_loopback(self.host) or any(not is_loopback(name) for name in self.allowed_hosts or ())

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The host names that requests may be for; ``None``: any.

        On loopback only its own names, so that no page elsewhere can point a name of its own here.
        """
        if self.allowed_hosts is not None:
            return tuple(name.lower() for name in self.allowed_hosts)
        own = f"[{self.host.strip('[]')}]" if ":" in self.host else self.host.lower()
        return (*_LOOPBACK_NAMES, own) if is_loopback(self.host) else None


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.com")
    (True, True, False, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def data_folder() -> Path:
    """Where the user's own keys and memory lie."""
    from platformdirs import user_data_dir

    return Path(user_data_dir("unabridged"))
