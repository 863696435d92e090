"""A stand-in for a client: of its class, with all that it has, and some of its calls replaced."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from unabridged.adapters.bridge import Bridges

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StandIn", "plain", "stand_in"]

_T = TypeVar("_T")
_STATE, _CLIENT = "_unabridged", "_unabridged_client"


class StandIn:
    """What every stand-in has: its bridges, and a way to be pickled and copied as the client would be."""

    _unabridged: Bridges
    client_class: type
    forgets: tuple[str, ...] = ()  # names in its dictionary that the plain client must not have

    def theirs(self, name: str) -> Any:
        """The client's own method, bound to this stand-in."""
        return getattr(super(), name)

    def held_by(self, other: StandIn) -> None:
        """Keep the client that another stand-in keeps: this one is around a copy of it."""
        self.__dict__[_CLIENT] = other.__dict__[_CLIENT]

    def __del__(self) -> None:
        """Nothing: the connections are the client's, whatever its class does here."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _again, (plain(self), self._unabridged.options)


def stand_in(client: _T, calls: type[StandIn], options: Mapping[str, Any]) -> _T:
    """A shallow copy whose class puts ``calls`` before the client's own. The client is not touched."""
    kinds: tuple[Any, Any] = (calls, type(client))
    made: Any = object.__new__(_kind(*kinds))
    made.__dict__.update(client.__dict__)
    made.__dict__[_STATE] = Bridges(options)
    made.__dict__[_CLIENT] = client  # some clients hang up when nobody holds them any more
    return made


def plain(standing: Any) -> Any:
    """The client as it would be without us, with what has been set on the stand-in since."""
    made = object.__new__(type(standing).client_class)
    left = (_STATE, _CLIENT, *standing.forgets)
    made.__dict__.update({k: v for k, v in standing.__dict__.items() if k not in left})
    return made


@cache
def _kind(calls: Any, kind: Any) -> type:
    names: dict[str, Any] = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    names["client_class"] = kind
    return type(kind.__name__, (calls, kind), names)


def _again(client: Any, options: Mapping[str, Any]) -> Any:
    from unabridged.adapters import wrap

    return wrap(client, **options)
